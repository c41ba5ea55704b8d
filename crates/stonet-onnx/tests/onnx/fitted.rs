//! Fitted models of every form with what they say of new rows: what a written graph has to repeat.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::regression::StoNetSettings;
use stonet::score::Asked;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, FittedRegressor, InputKind, Kind, Level, PostStoNetClassifier,
    PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side,
};
use stonet_onnx::{ClassOutput, HeadGraph, classifier, intervals};

/// A graph, rows for it, and the model's own answers.
pub struct Case {
    pub name: String,
    pub head: HeadGraph,
    pub inputs: Vec<(&'static str, Array2<f64>)>,
    pub outputs: Vec<(String, Array2<f64>)>,
    /// Whether ends may be further out than the model's.
    pub compressed: bool,
}

/// f64 that are f32, so that both sides see the same rows.
fn normals(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut rng = Seed::new(seed).rng();
    Array2::from_shape_simple_fn((rows, columns), || {
        let draw: f32 = StandardNormal.sample(&mut rng);
        f64::from(draw)
    })
}

/// Logits of four classes and five features, with labels that follow them.
pub fn class_data(rows: usize, seed: u64) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let (features, noise) = (normals(rows, 5, seed) * 2.0, normals(rows, 4, seed + 1));
    let mut logits = noise.clone();
    for (mut z, x) in logits.outer_iter_mut().zip(features.outer_iter()) {
        (0..4).for_each(|k| z[k] = f64::from((2.0 * z[k] + 3.0 * x[k] - x[4]) as f32));
    }
    let (gumbel, scale) = (normals(rows, 4, seed + 2), 0.4);
    let label = |(z, g): (ndarray::ArrayView1<'_, f64>, ndarray::ArrayView1<'_, f64>)| {
        (0..4).max_by(|&a, &b| (scale * z[a] + 1.3 * g[a]).total_cmp(&(scale * z[b] + 1.3 * g[b]))).unwrap()
    };
    let labels = logits.outer_iter().zip(gumbel.outer_iter()).map(label).collect();
    (logits, features, labels)
}

/// Every method, on logits, on features, or on both.
pub fn classifiers() -> Vec<Case> {
    let (logits, features, labels) = class_data(240, 1);
    let (new_logits, new_features, _) = class_data(300, 50);
    let mut cases = Vec::new();
    let mut settings = PostStoNetClassifier { paper_epochs: vec![5], ..Default::default() };
    settings.skip.hidden = 12;
    settings.skip.kappas = Some(vec![1e-3]);
    settings.skip.asghmc.epochs = 12;
    for method in ClassMethod::ALL.into_iter() {
        for inputs in ["logits", "both", "features"] {
            let settings = PostStoNetClassifier { method, ..settings.clone() };
            let given = |z: &'static str, logits, features| match z {
                "logits" => ClassInputs::logits(logits).unwrap(),
                "features" => ClassInputs::features(features).unwrap(),
                _ => ClassInputs::logits(logits).unwrap().with_features(features).unwrap(),
            };
            let rows = ClassRows::new(given(inputs, logits.view(), features.view()), &labels, 4).unwrap();
            let fitted = match settings.fit(&rows, Seed::new(3), &|_, _| true) {
                Ok(fitted) => fitted,
                Err(stonet::Error::NoLogits { .. }) if inputs == "features" => continue,
                Err(stonet::Error::NeedsFeatures { .. }) if inputs == "logits" => continue,
                Err(stonet::Error::Setting { .. }) if method == ClassMethod::VennAbers => continue,
                Err(e) => panic!("{method} on {inputs}: {e}"),
            };
            let new = given(inputs, new_logits.view(), new_features.view());
            let p = fitted.probabilities(&new).unwrap();
            let class = fitted.classify(&new).unwrap().mapv(|c| c as f64).insert_axis(Axis(1));
            cases.push(Case {
                name: format!("{method}-{inputs}"),
                head: classifier(&fitted, ClassOutput { kind: InputKind::Logits, columns: 4 }).unwrap(),
                inputs: vec![("logits", new_logits.clone()), ("features", new_features.clone())],
                outputs: vec![("probabilities".into(), p), ("class".into(), class)],
                compressed: false,
            });
        }
    }
    cases
}

/// Six features, one or two responses whose spread depends on the first feature, and a network's predictions.
pub fn number_data(rows: usize, outputs: usize, seed: u64) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
    let (x, noise) = (normals(rows, 6, seed), normals(rows, outputs, seed + 1));
    let mut d = Array2::zeros((rows, outputs));
    let mut y = Array2::zeros((rows, outputs));
    for i in 0..rows {
        for j in 0..outputs {
            let signal = 5.0 + 2.0 * x[[i, j]] + (2.0 * x[[i, 2]]).sin();
            d[[i, j]] = f64::from((signal + 0.3 * x[[i, 3]]) as f32);
            y[[i, j]] = signal + 0.5 * x[[i, 3]] + noise[[i, j]] * (0.3 + 0.2 * x[[i, 0]].abs());
        }
    }
    (x, y, d)
}

/// A fitted regression, and new rows for it.
pub struct Fit {
    pub name: String,
    pub fitted: FittedRegressor,
    pub x: Array2<f64>,
    pub d: Option<Array2<f64>>,
}

/// Two-sided intervals at these levels, for every target by itself.
pub fn at(levels: &[f64]) -> Asked {
    Asked::at(&levels.iter().map(|&l| Level::new(l).unwrap()).collect::<Vec<_>>())
}

type Rows<'a> = ArrayView2<'a, f64>;

/// Features and responses, with the network's predictions or without.
fn calibration<'a>(x: Rows<'a>, y: Rows<'a>, d: Option<Rows<'a>>) -> RegressionRows<'a> {
    let data = RegressionRows::new(x, y).unwrap();
    match d {
        Some(d) => data.with_prediction(d).unwrap(),
        None => data,
    }
}

/// One kind of interval, with the network's predictions or without, on single rows or on sixty groups.
pub fn fit(settings: &PostStoNetRegressor, rows: usize, outputs: usize, network: bool, groups: bool) -> Fit {
    let (x, y, d) = number_data(rows, outputs, 7);
    let numbers: Vec<usize> = (0..rows).map(|i| i / 3 % 60).collect();
    let mut data = calibration(x.view(), y.view(), network.then(|| d.view()));
    if groups {
        data = data.with_groups(&numbers).unwrap();
    }
    let name = format!("{}-{rows}-{outputs}-{network}-{groups}", settings.kind).replace('+', "plus");
    let fitted = settings.fit(&data, Seed::new(5), &|_, _| true).unwrap_or_else(|e| panic!("{name}: {e}"));
    Fit::new(name, fitted, network)
}

/// A split that is fitted on 240 rows; 2000 others calibrate it, and their scores are counted in buckets.
pub fn sampled(outputs: usize, network: bool) -> Fit {
    let (x, y, d) = number_data(2240, outputs, 7);
    let part = |rows: std::ops::Range<usize>| {
        let of = |table: &Array2<f64>| table.slice(s![rows.clone(), ..]).to_owned();
        (of(&x), of(&y), of(&d))
    };
    let ((x, y, d), (more_x, more_y, more_d)) = (part(0..240), part(240..2240));
    let rows = calibration(x.view(), y.view(), network.then(|| d.view()));
    let mut head = quick(Kind::Split).fit_sample(&rows, Seed::new(5), &|_, _| true).unwrap();
    head.calibrate(&calibration(more_x.view(), more_y.view(), network.then(|| more_d.view()))).unwrap();
    Fit::new(format!("sampled-{outputs}-{network}"), head.finish().unwrap(), network)
}

impl Fit {
    fn new(name: String, fitted: FittedRegressor, network: bool) -> Self {
        let (x, _, d) = number_data(400, fitted.outputs(), 90);
        Fit { name, fitted, x, d: network.then_some(d) }
    }

    fn called(self, more: &str) -> Self {
        Fit { name: format!("{}-{more}", self.name), ..self }
    }

    /// What is asked for, as a graph and as the model says it.
    pub fn case(&self, asked: &Asked) -> Case {
        let mut new = RegressionInputs::new(self.x.view()).unwrap();
        if let Some(d) = &self.d {
            new = new.with_prediction(d.view()).unwrap();
        }
        let all = self.fitted.all_intervals(&new, asked).unwrap();
        let mut outputs = vec![("prediction".to_owned(), self.fitted.predict(&new).unwrap())];
        for i in all {
            let suffix = if asked.levels.len() == 1 { String::new() } else { format!("_{}", i.level.percent()) };
            for (end, table, without) in [("lower", i.lower, Side::Upper), ("upper", i.upper, Side::Lower)] {
                if asked.side != without {
                    outputs.push((format!("{end}{suffix}"), table));
                }
            }
        }
        let quantiles = self.fitted.quantiles(&new, &asked.quantiles).unwrap();
        outputs.extend(asked.quantiles.iter().map(|q| stonet_io::quantile_name(*q)).zip(quantiles));
        let below = self.fitted.cdf(&new, &asked.below).unwrap();
        outputs.extend(asked.below.iter().map(|t| stonet_io::below_name(*t)).zip(below));
        let names: Vec<String> = asked.levels.iter().map(|l| l.percent()).collect();
        let joint = if asked.joint { "-joint" } else { "" };
        Case {
            name: format!("{}-{:?}-{}{joint}", self.name, asked.side, names.join("-")),
            head: intervals(&self.fitted, asked).unwrap(),
            inputs: [("features", self.x.clone())]
                .into_iter()
                .chain(self.d.clone().map(|d| ("network_prediction", d)))
                .collect(),
            outputs,
            compressed: !matches!(self.fitted.settings().kind, Kind::Paper | Kind::Cv | Kind::Split),
        }
    }
}

/// One kind of interval at level 0.9.
#[allow(dead_code)]
pub fn interval(settings: &PostStoNetRegressor, rows: usize, outputs: usize, with_network: bool, groups: bool) -> Case {
    fit(settings, rows, outputs, with_network, groups).case(&at(&[0.9]))
}

/// A short training.
pub fn quick(kind: Kind) -> PostStoNetRegressor {
    let stonet = StoNetSettings { hidden: vec![8], kappas: Some(vec![0.001, 0.035]), steps: 150, ..Default::default() };
    PostStoNetRegressor { kind, stonet, folds: 3, ..PostStoNetRegressor::default() }
}

/// Fits of every kind, with and without the network's predictions, one output and two, rows alone and in groups, few
/// and many.
fn fits() -> Vec<Fit> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        for (outputs, network, groups) in [(1, true, false), (2, true, false), (2, false, false), (1, false, true)] {
            all.push(fit(&quick(kind), 240, outputs, network, groups));
        }
    }
    all.push(fit(&quick(Kind::Split), 240, 1, true, true));
    all.push(fit(&quick(Kind::Fast), 9000, 1, true, false));
    all.extend([(1, true), (2, true), (2, false)].map(|(outputs, network)| sampled(outputs, network)));
    for hidden in [vec![], vec![6, 5], vec![5, 4, 3]] {
        let mut deep = quick(Kind::Cv);
        deep.stonet.hidden = hidden.clone();
        all.push(fit(&deep, 240, 2, false, false).called(&format!("deep-{}", hidden.len())));
    }
    let constant = PostStoNetRegressor { learned_scale: false, ..quick(Kind::Fast) };
    all.push(fit(&constant, 240, 1, true, false).called("constant"));
    // The responses of the fit span their known bounds, so that many ends of new rows are cut.
    let y = number_data(240, 2, 7).1;
    let (low, high) = (y.fold(f64::INFINITY, |a, &b| a.min(b)), y.fold(f64::NEG_INFINITY, |a, &b| a.max(b)));
    for (kind, outputs, y_low, y_high) in [
        (Kind::Stack, 2, Some(low), Some(high)),
        (Kind::Fast, 2, Some(low), None),
        (Kind::Split, 2, None, Some(high)),
        (Kind::Paper, 2, Some(low), Some(high)),
    ] {
        let bounded = PostStoNetRegressor { y_low, y_high, ..quick(kind) };
        all.push(fit(&bounded, 240, outputs, true, false).called("bounded"));
    }
    all.extend(dead());
    all
}

/// Heads from which κ takes every weight, so that they read no column.
pub fn dead() -> Vec<Fit> {
    let one = |kind: Kind| {
        let mut settings = PostStoNetRegressor { learned_scale: false, ..quick(kind) };
        settings.stonet.kappas = Some(vec![50.0]);
        let fit = fit(&settings, 240, 1, false, false).called("dead");
        assert!(fit.fitted.used_features().is_empty(), "{}", fit.name);
        fit
    };
    [Kind::Paper, Kind::Cv, Kind::CvPlus].map(one).into()
}

/// What is asked of every fit: every side, one level and several, low ones too, every target by itself and all at once.
fn questions() -> Vec<Asked> {
    let joint = |asked| Asked { joint: true, ..asked };
    vec![
        at(&[0.9]),
        at(&[0.05, 0.2, 0.8, 0.925]),
        at(&[0.6, 0.9]).with_side(Side::Lower),
        at(&[0.9]).with_side(Side::Upper),
        at(&[0.05, 0.2]).with_side(Side::Lower),
        at(&[0.05, 0.2]).with_side(Side::Upper),
        Asked {
            quantiles: [0.1, 0.4, 0.9].map(|q| Level::new(q).unwrap()).to_vec(),
            below: vec![4.0, -2.5],
            ..at(&[])
        },
        joint(at(&[0.8, 0.9])),
        joint(at(&[0.05, 0.2])),
        joint(at(&[0.2, 0.9])).with_side(Side::Lower),
        joint(at(&[0.05, 0.8])).with_side(Side::Upper),
    ]
}

/// Whether a fit answers this. Boxes of one target are its intervals; the one-sided bounds of Eve's law are for levels
/// above ½.
fn answers(fit: &Fit, asked: &Asked) -> bool {
    let targets = fit.fitted.outputs();
    let low = asked.levels.iter().any(|l| asked.each(*l, targets).unwrap().get() <= 0.5);
    let refused = fit.fitted.eve().is_some() && asked.side != Side::Both && low;
    assert_eq!(fit.fitted.plan(asked).is_err(), refused, "{}", fit.name);
    !refused && (!asked.joint || targets > 1)
}

/// Every fit with every question that it answers.
pub fn regressions() -> Vec<Case> {
    let (fits, questions) = (fits(), questions());
    let pairs = fits.iter().flat_map(|f| questions.iter().map(move |q| (f, q)));
    pairs.filter(|(f, q)| answers(f, q)).map(|(f, q)| f.case(q)).collect()
}

/// The largest difference of two tables, in units of the wanted entry or of 1, whichever is larger.
#[allow(dead_code)]
pub fn difference(found: &Array2<f64>, wanted: &Array2<f64>) -> f64 {
    assert_eq!(found.dim(), wanted.dim());
    let apart: Array1<f64> = found.iter().zip(wanted).map(|(f, w)| (f - w).abs() / w.abs().max(1.0)).collect();
    assert!(apart.iter().all(|a| a.is_finite()));
    apart.fold(0.0, |a: f64, &b| a.max(b))
}
