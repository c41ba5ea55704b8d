//! `stonet demo`: the method from data to intervals, on data generated from the paper's first model.

use std::path::PathBuf;

use clap::Args;
use ndarray::Axis;
use serde::Serialize;
use stonet::metrics::{coverage, covered, mean_length, rmse};
use stonet::{
    Activation, Asghmc, Dataset, Eve, EveIntervals, Fit, Intervals, Level, PathError, PredictInterval, Preset, Scaling,
    Seed, StoNet, Walk, cross_validate, kappa_path,
};
use stonet_repro::Result;
use stonet_repro::model::{INPUTS, Model, TRUE_INPUTS};
use stonet_repro::svg::{Chart, Style};

use super::{pretty, write_all};

/// Train a sparse StoNet on generated data and show its 95 % prediction intervals
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
const FOLDS: usize = 5;
const EPOCHS: usize = 1000;
const KAPPAS: [f64; 9] = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256];

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    seed: u64,
    rows: usize,
    test_rows: usize,
    kappa: f64,
    nonzero_weights: usize,
    weights: usize,
    level: f64,
    coverage: f64,
    coverage_se: f64,
    mean_length: f64,
    ideal_length: f64,
    test_rmse: f64,
    /// Inputs by size of their average output gradient, the largest first, from 1.
    ranking: Vec<usize>,
    /// Whether x1 … x5 are the first five.
    separated: bool,
    files: Vec<String>,
}

impl Demo {
    pub fn run(self) -> Result<()> {
        let seed = Seed::new(self.seed);
        let train = Model::One.sample(ROWS, seed.child(0))?;
        let test = Model::One.sample(TEST_ROWS, seed.child(1))?;
        let level = Level::new(0.95)?;
        let walk = Path::walk(&train, seed.child(2))?;
        let model = walk.intervals(seed.child(3))?;
        let intervals = model.intervals(test.x(), level)?;

        let pictures =
            [("intervals.svg".to_owned(), draw_intervals(&intervals, &test)), ("path.svg".to_owned(), walk.draw()?)];
        write_all(&self.out, &pictures)?;
        let summary = self.summary(&walk, &intervals, &test)?;
        if self.json {
            print!("{}", pretty(&summary));
        } else {
            print!("{}", summary.text());
        }
        Ok(())
    }

    fn summary(&self, walk: &Path, intervals: &Intervals, test: &Dataset) -> Result<Summary> {
        let net = walk.chosen().network();
        let hit = coverage(intervals, test.y());
        let gradient = walk.gradient(walk.chosen())?;
        let mut ranking: Vec<usize> = (1..=INPUTS).collect();
        ranking.sort_by(|&a, &b| gradient[b - 1].abs().total_cmp(&gradient[a - 1].abs()));
        Ok(Summary {
            schema: "stonet.demo/1",
            seed: self.seed,
            rows: ROWS,
            test_rows: TEST_ROWS,
            kappa: KAPPAS[walk.error.best()],
            nonzero_weights: net.nonzero_weights(),
            weights: walk.start.nonzero_weights(),
            level: intervals.level.get(),
            coverage: hit,
            coverage_se: (hit * (1.0 - hit) / TEST_ROWS as f64).sqrt(),
            mean_length: mean_length(intervals),
            ideal_length: 2.0 * intervals.level.z(),
            test_rmse: rmse(intervals.prediction.view(), test.y()),
            separated: ranking[..TRUE_INPUTS].iter().all(|&k| k <= TRUE_INPUTS),
            ranking,
            files: ["intervals.svg", "path.svg"].map(|f| self.out.join(f).display().to_string()).to_vec(),
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

    fn intervals(&self, seed: Seed) -> Result<EveIntervals> {
        let trainer = self.trainer.with_kappa(KAPPAS[self.error.best()]);
        let scaling = self.scaling.clone();
        let eve = Eve::default();
        Ok(EveIntervals::from_fit(self.chosen(), scaling, &self.data, &trainer, &self.start, eve, seed)?)
    }

    /// Average ∂μ/∂x_k on standard scale.
    fn gradient(&self, fit: &Fit) -> Result<Vec<f64>> {
        let gradients = fit.network().input_gradients(self.data.x())?;
        Ok((gradients.index_axis(Axis(1), 0).sum_axis(Axis(0)) / self.data.rows() as f64).to_vec())
    }

    fn draw(&self) -> Result<String> {
        let mut chart = Chart::new("What each input does, as the penalty falls", "−log κ", "average output gradient");
        let paths: Vec<Vec<f64>> = self.fits.iter().map(|f| self.gradient(f)).collect::<Result<_>>()?;
        for k in (TRUE_INPUTS..INPUTS).chain(0..TRUE_INPUTS) {
            let line = KAPPAS.iter().zip(&paths).rev().map(|(kappa, g)| (-kappa.ln(), g[k])).collect();
            let name = format!("x{}", k + 1);
            let truly = k < TRUE_INPUTS;
            chart.line(line, if truly { Style::Strong } else { Style::Weak }, truly.then_some(name.as_str()));
        }
        chart.vertical(-KAPPAS[self.error.best()].ln(), "chosen");
        Ok(chart.render())
    }
}

fn draw_intervals(intervals: &Intervals, test: &Dataset) -> String {
    let hits = covered(intervals, test.y());
    let mut chart = Chart::new("95 % prediction intervals at 40 new points", "test point", "y");
    for r in 0..40 {
        chart.interval(r as f64 + 1.0, intervals.lower[[r, 0]], intervals.upper[[r, 0]]);
        chart.point(r as f64 + 1.0, test.y()[[r, 0]], hits[[r, 0]]);
    }
    chart.render()
}

impl Summary {
    fn text(&self) -> String {
        let names = |list: &[usize]| list.iter().map(|k| format!("x{k}")).collect::<Vec<_>>().join(" ");
        format!(
            "A sparse StoNet (20-500-1) was trained on {} rows of\n  \
             y = 2 tanh(2x1 - x2) + 2 tanh(x3 - 2x4) - tanh(2x5) + N(0,1), x6 ... x20 idle, all inputs correlated 0.5\n\n\
             kappa, by {}-fold cross-validation   {}\n\
             weights that are left              {} of {}\n\
             coverage of {} % intervals         {:.1} % (standard error {:.1}) on {} new rows\n\
             mean length                        {:.2} (ideal {:.2}, if the model were known)\n\
             test RMSE                          {:.3} (noise: 1)\n\
             inputs by effect                   {}{}\n\
             pictures                           {}\n",
            self.rows,
            FOLDS,
            self.kappa,
            self.nonzero_weights,
            self.weights,
            100.0 * self.level,
            100.0 * self.coverage,
            100.0 * self.coverage_se,
            self.test_rows,
            self.mean_length,
            self.ideal_length,
            self.test_rmse,
            names(&self.ranking[..8]),
            if self.separated { " ... (the five true ones first)" } else { " ..." },
            self.files.join(", "),
        )
    }
}
