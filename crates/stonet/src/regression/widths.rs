//! What widens the intervals of a row: terms of the learned scale, in the order of their columns.

use ndarray::Array2;

use super::stack::widths::BEHIND;
use super::{FittedRegressor, Model};
use crate::base::Result;
use crate::rows::RegressionInputs;
use crate::score::{Scorer, beside};

/// One term of the logarithm of a learned scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WidthTerm {
    /// A feature, by itself and in products with others.
    Feature(usize),
    /// The prediction and its square.
    Prediction,
    /// How far the prediction is from the network's own.
    Network,
    /// The network's own width.
    Own,
    /// What is cut off: the scale, and products of features, are kept within what the rows of the fit had.
    Limits,
}

/// The logarithm of the learned scale at every row, as a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct WidthParts {
    /// The terms.
    pub terms: Vec<WidthTerm>,
    /// Rows × terms: what each adds to the logarithm. Over the rows of the fit each is 0 on average, limits aside.
    pub contributions: Array2<f64>,
    /// The sum: log s less its mean over the rows of the fit, averaged over the folds.
    pub log_ratio: Vec<f64>,
}

impl WidthParts {
    /// The terms that widen the intervals of a row most, at most so many, the largest first.
    pub fn widest(&self, row: usize, most: usize) -> Vec<(WidthTerm, f64)> {
        let row = self.contributions.row(row);
        let mut all: Vec<(usize, f64)> = row.iter().copied().enumerate().filter(|(_, c)| *c > 0.0).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.into_iter().take(most).map(|(term, c)| (self.terms[term], c)).collect()
    }
}

impl FittedRegressor {
    /// The terms of each output's learned scale; none where the scale is a constant, and behind Eve's law.
    pub fn width_terms(&self) -> Vec<Option<Vec<WidthTerm>>> {
        let Model::Stacks(stacks) = &self.model else { return vec![None; self.outputs()] };
        let terms = |[learned, network, own]: [bool; 3]| {
            let others = [
                (true, WidthTerm::Prediction),
                (network, WidthTerm::Network),
                (own, WidthTerm::Own),
                (true, WidthTerm::Limits),
            ];
            let others = others.into_iter().filter(|(used, _)| *used).map(|(_, term)| term);
            learned.then(|| (0..self.features).map(WidthTerm::Feature).chain(others).collect())
        };
        stacks.iter().map(|s| terms(s.looks_at())).collect()
    }

    /// What widens the intervals of every row, for each output; none where [`width_terms`](Self::width_terms) has none.
    ///
    /// Ends of intervals are further multiplied by the two-sided shape of residuals and moved by what the folds
    /// disagree about; this is about the scale alone, which is what differs between rows as a rule.
    pub fn width_parts(&self, rows: &RegressionInputs<'_>) -> Result<Vec<Option<WidthParts>>> {
        self.check_columns(rows)?;
        let Model::Stacks(stacks) = &self.model else { return Ok(vec![None; self.outputs()]) };
        let one = |(target, terms): (usize, Option<Vec<WidthTerm>>)| {
            let Some(terms) = terms else { return Ok(None) };
            let plan = || stacks[target].widths_plan(self.features, self.outputs(), target);
            let scorer = self.widths.get(&target, || Ok(Scorer::new(plan())))?;
            let mut columns = self.run(&scorer, rows, None)?;
            let log_ratio = columns.pop().unwrap_or_default();
            let behind = columns.split_off(columns.len() + 1 - BEHIND);
            let all = [WidthTerm::Prediction, WidthTerm::Network, WidthTerm::Own, WidthTerm::Limits];
            columns.extend(behind.into_iter().zip(all).filter(|(_, term)| terms.contains(term)).map(|(c, _)| c));
            let contributions = beside(&columns, rows.features.nrows());
            Ok(Some(WidthParts { terms, contributions, log_ratio }))
        };
        self.width_terms().into_iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2, Axis, s};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::base::Seed;
    use crate::regression::{Kind, PostStoNetRegressor};
    use crate::rows::RegressionRows;
    use crate::score::Quantity;

    /// Features of which the first makes noise, the second and third do so together, and the others do not.
    fn rows(n: usize, seed: u64) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
        let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
        let mut next = || -> f64 { draws.next().unwrap() };
        let x = Array2::from_shape_simple_fn((n, 5), &mut next);
        let prediction = x.map_axis(Axis(1), |r| r[0] + r[3]).insert_axis(Axis(1));
        let noise = x.map_axis(Axis(1), |r| (0.8 * r[0] + 0.5 * r[1] * r[2]).exp());
        let y = &prediction + &(noise * &ndarray::Array1::from_shape_simple_fn(n, &mut next)).insert_axis(Axis(1));
        (x, prediction, y)
    }

    fn head(x: ArrayView2<'_, f64>, d: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> FittedRegressor {
        let rows = RegressionRows::new(x, y).unwrap().with_prediction(d).unwrap();
        let settings = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() };
        settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap()
    }

    /// The sum against the scale that intervals are made of, whose plan knows nothing of terms.
    #[test]
    fn terms_add_up_to_the_logarithm_of_the_scale_that_intervals_use() {
        let (x, d, y) = rows(600, 1);
        let fitted = head(x.view(), d.view(), y.view());
        let (new, d, _) = rows(300, 2);
        let inputs = RegressionInputs::new(new.view()).unwrap().with_prediction(d.view()).unwrap();
        let parts = fitted.width_parts(&inputs).unwrap().remove(0).unwrap();
        assert_eq!(parts.terms.len(), 5 + 3, "features, prediction, network, limits");
        let Model::Stacks(stacks) = &fitted.model else { unreachable!("fast is a stack") };
        let scorer = Scorer::new(crate::regression::stack::lower::folds_plan(stacks, 5));
        let columns = fitted.run(&scorer, &inputs, None).unwrap();
        let folds = stacks[0].folds();
        let mut within = 0;
        for (i, &whole) in parts.log_ratio.iter().enumerate() {
            let sum: f64 = parts.contributions.row(i).sum();
            assert!((sum - whole).abs() < 1e-9, "row {i}: {sum} for {}", whole);
            // The scale of a fold is what its two-sided shape leaves of the scales above and below.
            let mut log = 0.0;
            for (k, fold) in folds.iter().enumerate() {
                let at = |q: Quantity| scorer.outputs().iter().position(|o| o.quantity == q).unwrap();
                let above = columns[at(Quantity::Scale { model: k })][i];
                let mean = columns[at(Quantity::Mean { model: k })][i];
                let crate::regression::stack::ScaleModel::Learned { ridge, .. } = fold.scale_model() else { panic!() };
                // s⁺ = s f⁺(log s, μ) is solved for s where there is a shape.
                let scale = match fold.shape() {
                    None => above,
                    Some(shape) => solve(|s: f64| s * shape.at(s.ln(), mean, 0.0).0, above, whole + ridge.intercept()),
                };
                log += (scale.ln() - ridge.intercept()) / folds.len() as f64;
            }
            assert!((log - whole).abs() < 1e-4, "row {i}: {log} for {}", whole);
            // Nothing is cut off from most rows, so what is left must be rounding there.
            within += usize::from(parts.contributions.row(i)[7].abs() < 1e-9);
        }
        assert!(within > 150, "limits cut {} of 300 rows", 300 - within);
    }

    /// The argument near `guess` (a logarithm) at which a function has a value, by bisection around it.
    fn solve(f: impl Fn(f64) -> f64, value: f64, guess: f64) -> f64 {
        let (mut low, mut high) = ((guess - 1.0).exp(), (guess + 1.0).exp());
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if f(middle) < value { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn the_columns_that_make_noise_are_named_and_the_average_row_has_none() {
        let (x, d, y) = rows(2000, 3);
        let fitted = head(x.view(), d.view(), y.view());
        let inputs = RegressionInputs::new(x.view()).unwrap().with_prediction(d.view()).unwrap();
        let parts = fitted.width_parts(&inputs).unwrap().remove(0).unwrap();
        // Over the rows of the fit every term but the limits is 0 on average, within what folds differ by.
        for (k, column) in parts.contributions.columns().into_iter().enumerate().take(7) {
            let sd = column.std(0.0);
            assert!(column.mean().unwrap().abs() < 0.1 * sd + 1e-3, "term {k}: {}", column.mean().unwrap());
        }
        let mut row = x.slice(s![..1, ..]).to_owned();
        row.row_mut(0).assign(&ndarray::array![0.0, 2.0, 2.0, 0.0, 0.0]);
        let (d, none) = (Array2::zeros((1, 1)), Vec::new());
        let at = |row: &Array2<f64>| {
            let inputs = RegressionInputs::new(row.view()).unwrap().with_prediction(d.view()).unwrap();
            fitted.width_parts(&inputs).unwrap().remove(0).unwrap()
        };
        let together: Vec<WidthTerm> = at(&row).widest(0, 2).into_iter().map(|(t, _)| t).collect();
        assert!(together.contains(&WidthTerm::Feature(1)) && together.contains(&WidthTerm::Feature(2)), "{together:?}");
        row.row_mut(0).assign(&ndarray::array![2.5, 0.0, 0.0, -2.5, 0.0]);
        assert_eq!(at(&row).widest(0, 1)[0].0, WidthTerm::Feature(0));
        assert_eq!(at(&row).widest(0, 0), none);
    }

    #[test]
    fn a_constant_scale_has_no_terms() {
        let (x, _, y) = rows(100, 5);
        let rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let settings = PostStoNetRegressor { kind: Kind::Fast, learned_scale: false, ..PostStoNetRegressor::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        assert_eq!(fitted.width_terms(), [None]);
        assert_eq!(fitted.width_parts(&RegressionInputs::new(x.view()).unwrap()).unwrap(), [None]);
    }
}
