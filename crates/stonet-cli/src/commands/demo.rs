//! `stonet demo`: the method from data to intervals, on data generated from the paper's first model.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stonet::metrics::{coverage, covered, mean_length, mean_sd, rmse};
use stonet::{
    Activation, Asghmc, Dataset, Eve, EveIntervals, Fit, Intervals, Level, PathError, PredictInterval, Preset, Scaling,
    Seed, StoNet, Walk, cross_validate, kappa_path,
};
use stonet_repro::model::{INPUTS, Model, TRUE_INPUTS};
use stonet_repro::svg::Chart;
use stonet_repro::{Result, files, selection};

use super::{pretty, write_all};
use crate::progress;

/// Train sparse StoNets on generated data and judge their 95 % prediction intervals
///
/// y = 2 tanh(2x1 - x2) + 2 tanh(x3 - 2x4) - tanh(2x5) + N(0,1), with fifteen more inputs that do nothing.
#[derive(Args)]
#[command(after_help = "Example: stonet demo --seed 7 --out demo")]
pub struct Demo {
    /// Root of all randomness; the result depends on it alone
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the pictures go
    #[arg(long, default_value = "stonet-out/demo")]
    out: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

const ROWS: usize = 500;
const TEST_ROWS: usize = 1000;
/// Training sets: the coverage of one is too noisy to judge by.
const SETS: u64 = 5;
const FOLDS: usize = 5;
const EPOCHS: usize = 2000;
const KAPPAS: [f64; 15] =
    [0.001, 0.0014, 0.002, 0.0028, 0.004, 0.0057, 0.008, 0.0113, 0.016, 0.0226, 0.032, 0.0453, 0.064, 0.0905, 0.128];

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    seed: u64,
    rows: usize,
    test_rows: usize,
    level: f64,
    /// Mean over the training sets, and its standard error.
    coverage: f64,
    coverage_se: f64,
    mean_length: f64,
    ideal_length: f64,
    test_rmse: f64,
    sets: Vec<SetSummary>,
    files: Vec<String>,
}

/// One training set, judged on new rows.
#[derive(Serialize)]
struct SetSummary {
    coverage: f64,
    mean_length: f64,
    test_rmse: f64,
    kappa: f64,
    nonzero_weights: usize,
    weights: usize,
    /// Inputs by size of their average output gradient, the largest first, from 1.
    ranking: Vec<usize>,
    /// Whether x1 … x5 are the first five.
    separated: bool,
}

impl Demo {
    pub fn run(self) -> Result<()> {
        files::create_dir(&self.out)?;
        let level = Level::new(0.95)?;
        let bar = progress::bar("training");
        let mut sets = Vec::new();
        let mut pictures = Vec::new();
        for i in 0..SETS {
            progress::ticker(&bar)(i as usize, SETS as usize);
            let seed = Seed::new(self.seed).child(i);
            let train = Model::One.sample(ROWS, seed.child(0))?;
            let test = Model::One.sample(TEST_ROWS, seed.child(1))?;
            let path = Path::walk(&train, seed.child(2))?;
            path.chosen().warnings.iter().for_each(|w| eprintln!("warning: {w}"));
            let intervals = path.intervals(seed.child(3))?.intervals(test.x(), level)?;
            sets.push(SetSummary::new(&path, &intervals, &test)?);
            if pictures.is_empty() {
                pictures.push(("intervals.svg".to_owned(), draw_intervals(&intervals, &test)?));
                pictures.push(("path.svg".to_owned(), path.draw()?));
            }
        }
        bar.finish_and_clear();
        write_all(&self.out, &pictures)?;
        let summary = self.summary(sets, level);
        print!("{}", if self.json { pretty(&summary) } else { summary.text() });
        Ok(())
    }

    fn summary(&self, sets: Vec<SetSummary>, level: Level) -> Summary {
        let mean = |f: fn(&SetSummary) -> f64| mean_sd(&sets.iter().map(f).collect::<Vec<_>>());
        let (coverage, sd) = mean(|s| s.coverage);
        Summary {
            schema: "stonet.demo/1",
            seed: self.seed,
            rows: ROWS,
            test_rows: TEST_ROWS,
            level: level.get(),
            coverage,
            coverage_se: sd / (sets.len() as f64).sqrt(),
            mean_length: mean(|s| s.mean_length).0,
            ideal_length: 2.0 * level.z(),
            test_rmse: mean(|s| s.test_rmse).0,
            files: ["intervals.svg", "path.svg"].map(|f| self.out.join(f).display().to_string()).to_vec(),
            sets,
        }
    }
}

impl SetSummary {
    fn new(path: &Path, intervals: &Intervals, test: &Dataset) -> Result<Self> {
        let net = path.chosen().network();
        let gradient = path.gradient(path.chosen())?;
        let mut ranking: Vec<usize> = (1..=INPUTS).collect();
        ranking.sort_by(|&a, &b| gradient[b - 1].abs().total_cmp(&gradient[a - 1].abs()));
        Ok(SetSummary {
            coverage: coverage(intervals, test.y())?,
            mean_length: mean_length(intervals),
            test_rmse: rmse(intervals.prediction.view(), test.y())?,
            kappa: path.kappa(),
            nonzero_weights: net.nonzero_weights(),
            weights: path.start.nonzero_weights(),
            separated: ranking[..TRUE_INPUTS].iter().all(|&k| k <= TRUE_INPUTS),
            ranking,
        })
    }
}

/// The κ path on the training rows, its cross-validated error, and what is needed to go on from there.
struct Path {
    scaling: Scaling,
    data: Dataset,
    trainer: Asghmc,
    start: StoNet,
    fits: Vec<Fit>,
    error: PathError,
}

impl Path {
    fn walk(train: &Dataset, seed: Seed) -> Result<Self> {
        let scaling = Scaling::fit(train)?;
        let data = scaling.apply(train)?;
        let settings = Preset::by_name("simulation-1-ii")?.settings(0.0);
        let trainer = Asghmc { epochs: EPOCHS, kappa: vec![1.0], ..settings.trainer()? };
        let start = StoNet::random(&[INPUTS, 500, 1], Activation::Tanh, seed.child(0))?
            .with_noise_variances(&settings.sigma2)?;
        let (fits, error) = rayon::join(
            || kappa_path(&trainer, &start, &data, &KAPPAS, Walk::Warm, seed.child(1)),
            || cross_validate(&trainer, &start, &data, &KAPPAS, Walk::Warm, FOLDS, seed.child(2)),
        );
        let (fits, error) = (fits?, error?);
        Ok(Path { scaling, data, trainer, start, fits, error })
    }

    fn chosen(&self) -> &Fit {
        &self.fits[self.error.best()]
    }

    fn kappa(&self) -> f64 {
        KAPPAS[self.error.best()]
    }

    fn intervals(&self, seed: Seed) -> Result<EveIntervals> {
        let trainer = self.trainer.with_kappa(self.kappa());
        let scaling = self.scaling.clone();
        let eve = Eve::default();
        Ok(EveIntervals::from_fit(self.chosen(), scaling, &self.data, &trainer, &self.start, eve, seed)?)
    }

    /// Average output gradient of every input, on standard scale.
    fn gradient(&self, fit: &Fit) -> Result<Vec<f64>> {
        Ok(fit.network().average_gradients(self.data.x())?.row(0).to_vec())
    }

    fn draw(&self) -> Result<String> {
        let paths: Vec<Vec<f64>> = self.fits.iter().map(|f| self.gradient(f)).collect::<Result<_>>()?;
        let points: Vec<(f64, &[f64])> = KAPPAS.iter().zip(&paths).map(|(kappa, g)| (-kappa.ln(), &g[..])).collect();
        let title = "What each input does, as the penalty falls";
        Ok(selection::draw(title, "−log κ", &points, Some(-self.kappa().ln())))
    }
}

fn draw_intervals(intervals: &Intervals, test: &Dataset) -> Result<String> {
    let hits = covered(intervals, test.y())?;
    let mut chart = Chart::new("95 % prediction intervals at 40 new points", "test point", "y");
    for r in 0..40 {
        chart.interval(r as f64 + 1.0, intervals.lower[[r, 0]], intervals.upper[[r, 0]]);
        chart.point(r as f64 + 1.0, test.y()[[r, 0]], hits[[r, 0]]);
    }
    Ok(chart.render())
}

impl Summary {
    fn text(&self) -> String {
        let first = &self.sets[0];
        let names = first.ranking[..8].iter().map(|k| format!("x{k}")).collect::<Vec<_>>().join(" ");
        let found = self.sets.iter().filter(|s| s.separated).count();
        format!(
            "Sparse StoNets (20-500-1) trained on {} sets of {} rows of\n  \
             y = 2 tanh(2x1 - x2) + 2 tanh(x3 - 2x4) - tanh(2x5) + N(0,1), x6 ... x20 idle, all inputs correlated 0.5\n\n\
             coverage of {} % intervals   {:.1} % (standard error {:.1}), on {} new rows per set\n\
             mean length                  {:.2} (ideal {:.2}, if the model were known)\n\
             test RMSE                    {:.3} (noise: 1)\n\
             x1 ... x5 found              in {found} of {} sets; inputs by effect in the first: {names} ...\n\
             weights that are left        {} of {} in the first, kappa = {} by {FOLDS}-fold cross-validation\n\
             pictures of the first        {}\n",
            self.sets.len(),
            self.rows,
            100.0 * self.level,
            100.0 * self.coverage,
            100.0 * self.coverage_se,
            self.test_rows,
            self.mean_length,
            self.ideal_length,
            self.test_rmse,
            self.sets.len(),
            first.nonzero_weights,
            first.weights,
            first.kappa,
            self.files.join(", "),
        )
    }
}
