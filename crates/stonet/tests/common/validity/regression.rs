//! What one fit of a regression covers: intervals at two levels and on each side, all targets at once, quantiles,
//! P(y ≤ t), groups and functions, and a split that rows have joined.

use stonet::conformal::Ratio;
use stonet::metrics::covered;
use stonet::regression::{Adapt, UpdateSettings};
use stonet::rows::Within;
use stonet::score::Asked;
use stonet::{FittedRegressor, Intervals, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows};
use stonet::{Result, Seed, Side};

use super::worlds::{FUNCTION_MEANS, GROUPS, Parts, Rows, TILT, World, all_of, share_of};
use super::{NEW_ROWS, Share};

const LEVELS: [f64; 2] = [0.8, 0.9];
const QUANTILES: [f64; 2] = [0.05, 0.95];
/// Where the distribution of P(y ≤ observed y) is looked at.
const PIT: [f64; 2] = [0.1, 0.9];

/// All shares of one replication.
pub fn shares(world: &World, kind: Kind, seed: Seed) -> Result<Vec<Share>> {
    let tilted = world.parts == Parts::Tilted;
    let elsewhere = World { moved: if tilted { TILT } else { 0.0 }, ..*world };
    let (rows, new) = (world.draw(world.rows, seed.child(0)), elsewhere.draw(NEW_ROWS, seed.child(1)));
    let (within, numbers) = match &rows.names {
        Some(names) => {
            let (within, numbers) = Within::learn(&[names])?;
            (Some(within), numbers)
        }
        None => (None, Vec::new()),
    };
    let data = calibration(&rows, within.as_ref().map(|w| (w, &numbers[..])))?;
    let y_low = world.bounded.then_some(0.0);
    let settings = PostStoNetRegressor { kind, y_low, symmetric: world.symmetric, ..PostStoNetRegressor::default() };
    let fitted = settings.fit(&data, seed.child(2), &|_, _| true)?;
    let codes = match (&within, &new.names) {
        (Some(within), Some(names)) => within.encode(&[names])?,
        _ => Vec::new(),
    };
    let inputs = inputs(&new, &codes)?;
    let fitted = match tilted {
        true => {
            let adapt = Adapt { ratio: Some(Ratio::tilt(&[TILT])?), ..Adapt::default() };
            adapt.regression(&fitted, Some(&data), &inputs, &|_, _| true)?
        }
        false => fitted,
    };
    let mut found = Judged { world, fitted: &fitted, new: &new, inputs }.all()?;
    if kind == Kind::Split && !tilted && within.is_none() && rows.units.is_none() && rows.functions.is_none() {
        let head = updated(&fitted, &world.draw(world.rows, seed.child(3)))?;
        let mut joined = Vec::new();
        Judged { world, fitted: &head, new: &new, inputs }.side(0.9, Side::Both, &mut joined)?;
        found.extend(joined.into_iter().map(|s| Share { what: format!("{}, updated", s.what), ..s }));
    }
    Ok(found)
}

/// The head with more rows, of which as many are ranked as before.
fn updated(head: &FittedRegressor, rows: &Rows) -> Result<FittedRegressor> {
    let scored = head.scored_rows();
    let enough = head.too_few_rows(head.settings().level, false)?.is_none();
    let window = enough.then_some(scored);
    let mut update = head.update(UpdateSettings { window, ..UpdateSettings::default() })?;
    update.add(&inputs(rows, &[])?, rows.y.view(), &[])?;
    update.finish()
}

fn calibration<'a>(rows: &'a Rows, within: Option<(&'a Within, &'a [usize])>) -> Result<RegressionRows<'a>> {
    let mut data = RegressionRows::new(rows.x.view(), rows.y.view())?;
    if let Some(prediction) = &rows.prediction {
        data = data.with_prediction(prediction.view())?;
    }
    data = match &rows.own[..] {
        [sd] => data.with_sd(sd.view())?,
        [lower, upper] => data.with_quantiles(lower.view(), upper.view())?,
        _ => data,
    };
    if let Some(units) = &rows.units {
        data = data.with_groups(units)?;
    }
    if let Some(functions) = &rows.functions {
        data = data.with_conditional(functions.view())?;
    }
    match within {
        Some((within, numbers)) => data.with_within(within, numbers),
        None => Ok(data),
    }
}

fn inputs<'a>(rows: &'a Rows, codes: &'a [f64]) -> Result<RegressionInputs<'a>> {
    let mut new = RegressionInputs::new(rows.x.view())?;
    if let Some(prediction) = &rows.prediction {
        new = new.with_prediction(prediction.view())?;
    }
    new = match &rows.own[..] {
        [sd] => new.with_sd(sd.view())?,
        [lower, upper] => new.with_quantiles(lower.view(), upper.view())?,
        _ => new,
    };
    if let Some(functions) = &rows.functions {
        new = new.with_conditional(functions.view())?;
    }
    if codes.is_empty() { Ok(new) } else { new.with_within(codes) }
}

/// A fit and the new rows that judge it.
struct Judged<'a> {
    world: &'a World,
    fitted: &'a FittedRegressor,
    new: &'a Rows,
    inputs: RegressionInputs<'a>,
}

fn level(l: f64) -> Result<Level> {
    Level::new(l)
}

fn unbounded(i: &Intervals, side: Side) -> f64 {
    let lower = i.lower.iter().filter(|v| v.is_infinite()).count();
    let upper = i.upper.iter().filter(|v| v.is_infinite()).count();
    let there = match side {
        Side::Both => lower.max(upper),
        Side::Lower => lower,
        Side::Upper => upper,
    };
    there as f64 / i.lower.len() as f64
}

impl Judged<'_> {
    fn all(&self) -> Result<Vec<Share>> {
        let mut found = Vec::new();
        for l in LEVELS {
            self.side(l, Side::Both, &mut found)?;
        }
        for side in [Side::Lower, Side::Upper] {
            self.side(0.9, side, &mut found)?;
        }
        self.joint(&mut found)?;
        self.quantiles(&mut found)?;
        self.below(&mut found)?;
        Ok(found)
    }

    fn units(&self) -> Option<&[usize]> {
        self.new.units.as_deref()
    }

    fn side(&self, l: f64, side: Side, found: &mut Vec<Share>) -> Result<()> {
        let at = level(l)?;
        let i = self.fitted.intervals(&self.inputs, at, side)?;
        let (hits, guarantee) = (covered(&i, self.new.y.view())?, self.fitted.guarantee(at));
        let name = match side {
            Side::Both => format!("{:.0} %", 100.0 * l),
            Side::Lower => format!("{:.0} % from below", 100.0 * l),
            Side::Upper => format!("{:.0} % from above", 100.0 * l),
        };
        let unbounded = unbounded(&i, side);
        let share = |what: String, promise, covered| Share { what, level: l, promise, covered, unbounded };
        for (j, hits) in hits.columns().into_iter().enumerate() {
            let hits = hits.to_vec();
            let of = if self.world.outputs > 1 { format!(", target {}", j + 1) } else { String::new() };
            // Within groups the promise is of each group, not of all rows.
            let whole = guarantee.coverage.filter(|_| self.new.names.is_none());
            found.push(share(format!("{name}{of}"), whole, share_of(&hits, self.units())));
            self.groups(at, &hits, found, &|what, promise, covered| {
                share(format!("{name}, {what}"), promise, covered)
            })?;
            self.functions(l, &hits, found, &|what, covered| {
                share(format!("{name}, {what}"), guarantee.coverage, covered)
            });
        }
        Ok(())
    }

    /// Coverage within each group that has enough rows.
    fn groups(
        &self,
        at: Level,
        hits: &[bool],
        found: &mut Vec<Share>,
        share: &dyn Fn(String, Option<f64>, f64) -> Share,
    ) -> Result<()> {
        let (Some(names), Some(within)) = (&self.new.names, self.fitted.within()) else { return Ok(()) };
        let sizes = self.fitted.group_sizes(at, false)?;
        for group in GROUPS {
            let own: Vec<bool> = names.iter().zip(hits).filter(|(n, _)| *n == group).map(|(_, h)| *h).collect();
            let number = (0..within.len()).find(|&g| within.name(g) == group);
            let enough = number.is_some_and(|n| sizes.iter().any(|s| s.group == n && s.enough));
            let promise = self.fitted.guarantee(at).coverage.filter(|_| enough);
            if !own.is_empty() {
                found.push(share(format!("group {group}"), promise, share_of(&own, None)));
            }
        }
        Ok(())
    }

    /// Coverage on average under each function: E f (hit − level) ≥ 0.
    fn functions(&self, l: f64, hits: &[bool], found: &mut Vec<Share>, share: &dyn Fn(String, f64) -> Share) {
        let Some(functions) = &self.new.functions else { return };
        for (k, column) in functions.columns().into_iter().enumerate() {
            let excess: f64 = column.iter().zip(hits).map(|(f, &h)| f * (f64::from(u8::from(h)) - l)).sum();
            found.push(share(format!("function {}", k + 1), l + excess / (hits.len() as f64 * FUNCTION_MEANS[k])));
        }
    }

    /// All targets at once: each has the promise at its own level, and what they miss adds up.
    fn joint(&self, found: &mut Vec<Share>) -> Result<()> {
        let outputs = self.world.outputs;
        if outputs == 1 {
            return Ok(());
        }
        let i = self.fitted.joint_intervals(&self.inputs, level(0.9)?, Side::Both)?;
        let each = Asked { joint: true, ..Asked::default() }.each(level(0.9)?, outputs)?;
        let promise = self.fitted.guarantee(each).coverage.map(|c| 1.0 - outputs as f64 * (1.0 - c));
        let covered = share_of(&all_of(&covered(&i, self.new.y.view())?), self.units());
        let unbounded = unbounded(&i, Side::Both);
        found.push(Share { what: "90 %, all targets at once".into(), level: 0.9, promise, covered, unbounded });
        Ok(())
    }

    /// Quantiles are one-sided bounds and have their promise.
    fn quantiles(&self, found: &mut Vec<Share>) -> Result<()> {
        let taus = [level(QUANTILES[0])?, level(QUANTILES[1])?];
        let q = self.fitted.quantiles(&self.inputs, &taus)?;
        for (q, tau) in q.iter().zip(QUANTILES) {
            let l = tau.max(1.0 - tau);
            let hit = |(y, q): (&f64, &f64)| if tau < 0.5 { y >= q } else { y <= q };
            let hits: Vec<bool> = self.new.y.column(0).iter().zip(q.column(0)).map(hit).collect();
            let infinite = q.column(0).iter().filter(|v| v.is_infinite()).count() as f64;
            let promise = self.fitted.guarantee(level(l)?).coverage.filter(|_| self.new.names.is_none());
            found.push(Share {
                what: format!("quantile {tau}"),
                level: l,
                promise,
                covered: share_of(&hits, self.units()),
                unbounded: infinite / hits.len() as f64,
            });
        }
        Ok(())
    }

    /// P(y ≤ observed y) is uniform up to half a row for `split`, where y has no ties; with ties it is larger.
    fn below(&self, found: &mut Vec<Share>) -> Result<()> {
        let pit = self.fitted.cdf_at(&self.inputs, self.new.y.view())?;
        let units = self.fitted.too_few_rows(level(1.0 - 1e-9)?, false)?.map(|(units, _)| units as f64);
        let half = units.map_or(0.0, |m| 0.5 / (m + 1.0));
        let kind = self.fitted.settings().kind;
        // Bounds cut the distribution, and parts of the rows have distributions of their own.
        let parted = self.new.names.is_some() || self.new.functions.is_some() || self.world.parts == Parts::Tilted;
        let whole = !parted && !self.world.bounded;
        let proven = kind == Kind::Split && whole;
        for p in PIT {
            for above in [false, true] {
                let hits: Vec<bool> = pit.column(0).iter().map(|&v| if above { v > p } else { v <= p }).collect();
                let l = if above { 1.0 - p } else { p } - half;
                let promise = (proven && (above || self.world.has_no_ties())).then_some(l);
                let what = format!("P(y <= observed y) {} {p}", if above { "above" } else { "up to" });
                found.push(Share { what, level: l, promise, covered: share_of(&hits, self.units()), unbounded: 0.0 });
            }
        }
        Ok(())
    }
}
