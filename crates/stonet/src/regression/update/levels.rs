//! A level that follows the misses of intervals as they were issued: adaptive conformal inference and conformal PID.
//!
//! ```text
//! err_t = 1 where y_t lies outside of the interval that was issued for it, 0 otherwise; α = 1 − level
//! aci   α_{t+1} = α_t + γ (α − err_t)                       intervals by the ranks of level 1 − α_t
//! pid   o_{t+1} = p_{t+1} + K tan(E_t ln(t + 1) / (C (t + 1))),   p_{t+1} = p_t + η_t (err_t − α),   E_t = Σ (err_i − α)
//!       intervals by the ranks of level 1 − α among scores R_i + o_t
//! ```
//! η_t is the rate times the largest score among the last hundred rows, as in the paper's experiments, K the size of a
//! score at this level when the head began to adapt, C = ½. The ranks of the scores stand in the place of the scorecaster.

use serde::{Deserialize, Serialize};

use crate::base::names::named;
use crate::base::{Error, Result};
use crate::conformal::ranks::Scores;
use crate::rows::Level;

/// Rows whose largest score is the unit of PID's rate.
const RECENT: usize = 100;
/// C of the integrator: it saturates where the misses are off by ½ π/2 (t + 1)/ln(t + 1).
const SATURATION: f64 = 0.5;
/// Levels that are taken for the same.
const SAME_LEVEL: f64 = 1e-12;

/// How a level is adapted over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Adaptive {
    /// Adaptive conformal inference (Gibbs & Candès 2021): the level moves after every row.
    Aci,
    /// Conformal PID control (Angelopoulos, Candès & Tibshirani 2023) without a scorecaster: the scores move, by a
    /// quantile tracker and an integrator.
    Pid,
}

named!(Adaptive, "way to adapt a level");

impl Adaptive {
    /// All of them.
    pub const ALL: [Self; 2] = [Adaptive::Aci, Adaptive::Pid];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Adaptive::Aci => "aci",
            Adaptive::Pid => "pid",
        }
    }

    /// The step size of the paper.
    pub fn default_rate(self) -> f64 {
        match self {
            Adaptive::Aci => 0.005,
            Adaptive::Pid => 0.1,
        }
    }
}

/// Levels that a head adapts, and what they have come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct LevelTracks {
    method: Adaptive,
    rate: f64,
    /// Sizes of the scores of the last rows, the newest last.
    recent: Vec<f64>,
    tracks: Vec<Track>,
}

/// One level, followed over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// The level that is to be kept in the long run.
    pub level: Level,
    /// Rows whose intervals were judged.
    pub rows: u64,
    /// Those of them that lay outside.
    pub misses: u64,
    /// α_t − α of ACI, p_t of PID.
    state: f64,
    /// K of PID.
    unit: f64,
}

/// How intervals at a level that is adapted are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// By the ranks of this level.
    Level(Level),
    /// By the ranks of the level itself, among scores that are so much larger.
    Shifted(f64),
}

#[derive(Serialize, Deserialize)]
struct Parts {
    method: Adaptive,
    rate: f64,
    recent: Vec<f64>,
    tracks: Vec<Track>,
}

impl TryFrom<Parts> for LevelTracks {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let Parts { method, rate, recent, tracks } = p;
        let numbers = recent.iter().all(|v| v.is_finite() && *v >= 0.0) && recent.len() <= RECENT;
        let sound = |t: &Track| t.state.is_finite() && t.unit.is_finite() && t.unit >= 0.0 && t.misses <= t.rows;
        let apart = tracks.iter().enumerate().all(|(i, a)| tracks[..i].iter().all(|b| !same(a.level, b.level)));
        match numbers && apart && !tracks.is_empty() && tracks.iter().all(sound) && check_rate(rate).is_ok() {
            true => Ok(LevelTracks { method, rate, recent, tracks }),
            false => Err(Error::Inconsistent { what: "the state of an adapted level is not sound" }),
        }
    }
}

impl From<LevelTracks> for Parts {
    fn from(a: LevelTracks) -> Self {
        Parts { method: a.method, rate: a.rate, recent: a.recent, tracks: a.tracks }
    }
}

pub(super) fn check_rate(rate: f64) -> Result<()> {
    Error::check(rate.is_finite() && rate > 0.0 && rate <= 10.0, "rate", rate, "above 0 and at most 10")
}

fn same(a: Level, b: Level) -> bool {
    (a.get() - b.get()).abs() < SAME_LEVEL
}

impl LevelTracks {
    pub(super) fn new(method: Adaptive, rate: f64) -> Self {
        LevelTracks { method, rate, recent: Vec::new(), tracks: Vec::new() }
    }

    /// How the levels are adapted.
    pub fn method(&self) -> Adaptive {
        self.method
    }

    /// The step size.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Every level with its state.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The state of a level, where it is adapted.
    pub fn track(&self, level: Level) -> Option<&Track> {
        self.tracks.iter().find(|t| same(t.level, level))
    }

    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// The place of a level among those that are adapted; a new one begins at the level itself.
    pub(super) fn follow(&mut self, level: Level, scores: &Scores) -> usize {
        let known = self.tracks.iter().position(|t| same(t.level, level));
        known.unwrap_or_else(|| {
            self.tracks.push(Track { level, rows: 0, misses: 0, state: 0.0, unit: scores.size_at(level) });
            self.tracks.len() - 1
        })
    }

    /// A row with this score, and of every level whether its interval missed it, in the order of the levels' places.
    pub(super) fn see(&mut self, score: f64, missed: &[(usize, bool)]) {
        self.recent.push(score.abs());
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
        let largest = self.recent.iter().copied().fold(0.0, f64::max);
        for &(place, missed) in missed {
            let track = &mut self.tracks[place];
            let excess = f64::from(u8::from(missed)) - (1.0 - track.level.get());
            track.rows += 1;
            track.misses += u64::from(missed);
            track.state += match self.method {
                Adaptive::Aci => -self.rate * excess,
                Adaptive::Pid => self.rate * largest * excess,
            };
        }
    }

    /// What an adapted level has come to, in words.
    pub fn told(&self, level: Level) -> String {
        match self.way(level) {
            Some(Way::Level(l)) if l.get() > 1.0 - 1e-9 => "intervals are the whole line now".into(),
            Some(Way::Level(l)) if l.get() < 1e-9 => "intervals are as short as the scores allow now".into(),
            Some(Way::Level(l)) => format!("intervals are those of level {:.2} % now", 100.0 * l.get()),
            Some(Way::Shifted(o)) => format!("scores count {o:+.3} now"),
            None => "it is not adapted".into(),
        }
    }

    /// How intervals at this level are made; none where it is not adapted.
    pub fn way(&self, level: Level) -> Option<Way> {
        let track = self.track(level)?;
        Some(match self.method {
            Adaptive::Aci => Way::Level(within(track.level.get() - track.state)),
            Adaptive::Pid => match track.state + track.integral() {
                o if o == f64::INFINITY => Way::Level(within(1.0)),
                o => Way::Shifted(o.max(f64::MIN)),
            },
        })
    }
}

/// The level next to this number: ranks give the whole line just below 1, and the smallest score just above 0.
fn within(level: f64) -> Level {
    let level = level.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
    Level::new(level).expect("strictly between 0 and 1")
}

impl Track {
    /// The share of rows that were covered so far; none before the first.
    pub fn coverage(&self) -> Option<f64> {
        (self.rows > 0).then(|| 1.0 - self.misses as f64 / self.rows as f64)
    }

    /// PID's integrator: nothing near 0, and infinite where misses are off by too much.
    fn integral(&self) -> f64 {
        let rows = self.rows as f64;
        let excess = self.misses as f64 - rows * (1.0 - self.level.get());
        let angle = excess * (rows + 1.0).ln() / (SATURATION * (rows + 1.0));
        match angle {
            a if a >= std::f64::consts::FRAC_PI_2 => f64::INFINITY,
            a if a <= -std::f64::consts::FRAC_PI_2 => f64::NEG_INFINITY,
            a => self.unit * a.tan(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(l: f64) -> Level {
        Level::new(l).unwrap()
    }

    fn scores() -> Scores {
        Scores::new(vec![(1..=99).map(|i| f64::from(i) * 0.1).collect()], None, 99)
    }

    #[test]
    fn aci_by_hand() {
        let mut adapted = LevelTracks::new(Adaptive::Aci, 0.05);
        let place = adapted.follow(level(0.9), &scores());
        assert_eq!(adapted.way(level(0.9)), Some(Way::Level(level(0.9))));
        // α: .1 − .05·.9 = .055, then .055 + .05·.1 = .06.
        adapted.see(3.0, &[(place, true)]);
        adapted.see(0.1, &[(place, false)]);
        let Some(Way::Level(now)) = adapted.way(level(0.9)) else { panic!("a level") };
        assert!((now.get() - 0.94).abs() < 1e-12);
        assert_eq!(adapted.way(level(0.8)), None);
        // Misses again and again: the whole line, which ranks give for any number of rows.
        (0..3).for_each(|_| adapted.see(3.0, &[(place, true)]));
        let Some(Way::Level(now)) = adapted.way(level(0.9)) else { panic!("a level") };
        assert!(!scores().bounds(now));
        // Hits again and again: the smallest score.
        (0..400).for_each(|_| adapted.see(0.0, &[(place, false)]));
        let Some(Way::Level(now)) = adapted.way(level(0.9)) else { panic!("a level") };
        assert_eq!(scores().size_at(now), 0.1);
    }

    /// However scores behave, the share of misses comes to α: |misses/T − α| ≤ (max(α, 1 − α) + γ)/(γT).
    #[test]
    fn aci_keeps_its_bound_on_any_sequence() {
        let scores = scores();
        for (rate, drift) in [(0.005, 0.0), (0.05, 0.02), (0.01, -0.004)] {
            let mut adapted = LevelTracks::new(Adaptive::Aci, rate);
            let place = adapted.follow(level(0.9), &scores);
            for t in 0..5000 {
                let Some(Way::Level(now)) = adapted.way(level(0.9)) else { panic!("a level") };
                let end = if scores.bounds(now) { scores.size_at(now) } else { f64::INFINITY };
                // Rising, falling and waving scores, never within an interval of length 0.
                let score = (5.0 + drift * f64::from(t) + 5.0 * (f64::from(t) * 0.01).sin()).max(0.2);
                let empty = now.get() <= f64::MIN_POSITIVE;
                adapted.see(score, &[(place, score > end || empty)]);
                let track = adapted.track(level(0.9)).unwrap();
                let off = (track.misses as f64 / track.rows as f64 - 0.1).abs();
                assert!(off <= (0.9 + rate) / (rate * track.rows as f64) + 1e-12, "{rate} {drift} {t}");
            }
        }
    }

    #[test]
    fn pid_moves_scores_and_its_integrator_saturates() {
        let mut adapted = LevelTracks::new(Adaptive::Pid, 0.1);
        let place = adapted.follow(level(0.9), &scores());
        assert_eq!(adapted.tracks()[0].unit, 9.0);
        adapted.see(-4.0, &[(place, true)]);
        // p = .1 · 4 · .9; E = .9, t = 1: 9 tan(.9 ln 2/(½ · 2)).
        let Some(Way::Shifted(now)) = adapted.way(level(0.9)) else { panic!("shifted") };
        assert!((now - (0.36 + 9.0 * (0.9 * 2f64.ln()).tan())).abs() < 1e-12);
        (0..40).for_each(|_| adapted.see(1.0, &[(place, true)]));
        let Some(Way::Level(now)) = adapted.way(level(0.9)) else { panic!("the whole line") };
        assert!(!scores().bounds(now));
        let text = serde_json::to_string(&adapted).unwrap();
        assert_eq!(serde_json::from_str::<LevelTracks>(&text).unwrap(), adapted);
        for (from, to) in
            [("\"rate\":0.1", "\"rate\":0.0"), ("\"misses\":41", "\"misses\":42"), ("\"unit\":9.0", "\"unit\":-1.0")]
        {
            assert!(
                text.contains(from) && serde_json::from_str::<LevelTracks>(&text.replace(from, to)).is_err(),
                "{from}"
            );
        }
    }
}
