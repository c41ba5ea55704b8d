//! What post-hoc methods learn from and predict for: features of rows that the network was not trained on.

use ndarray::{ArrayView1, ArrayView2};

use super::dataset::{LARGEST_FEATURE, LARGEST_TARGET, check_finite, check_magnitude};
use super::own::Own;
use super::{Order, OwnKind, Within};
use crate::base::{Error, Result};

/// Calibration rows: last-hidden-layer features, responses, and optionally the network's own predictions,
/// its own uncertainty, and groups.
///
/// **The network must not have been trained on these rows.** On rows it has seen its errors are too small, and every
/// guarantee is void.
#[derive(Debug, Clone, Copy)]
pub struct RegressionRows<'a> {
    features: ArrayView2<'a, f64>,
    y: ArrayView2<'a, f64>,
    prediction: Option<ArrayView2<'a, f64>>,
    own: Option<Own<ArrayView2<'a, f64>>>,
    groups: Option<&'a [usize]>,
    within: Option<(&'a Within, &'a [usize])>,
    conditional: Option<ArrayView2<'a, f64>>,
    order: Option<&'a Order>,
}

impl<'a> RegressionRows<'a> {
    /// Checks sizes and finiteness once, so that nothing behind it has to.
    pub fn new(features: ArrayView2<'a, f64>, y: ArrayView2<'a, f64>) -> Result<Self> {
        check_rows("rows of the targets", features.nrows(), y.nrows())?;
        if y.ncols() == 0 {
            return Err(Error::shape("columns of the targets (at least)", 1, 0));
        }
        check_finite("features", features)?;
        check_finite("targets", y)?;
        let (prediction, own, groups, within, conditional, order) = (None, None, None, None, None, None);
        Ok(RegressionRows { features, y, prediction, own, groups, within, conditional, order })
    }

    /// With the network's own predictions, one column per target.
    pub fn with_prediction(self, prediction: ArrayView2<'a, f64>) -> Result<Self> {
        check_rows("rows of the predictions", self.y.nrows(), prediction.nrows())?;
        if prediction.ncols() != self.y.ncols() {
            return Err(Error::shape("columns of the predictions", self.y.ncols(), prediction.ncols()));
        }
        check_finite("predictions", prediction)?;
        Ok(RegressionRows { prediction: Some(prediction), ..self })
    }

    /// With two quantiles of the network, one column per target each; quantiles that cross count in the other order.
    pub fn with_quantiles(self, lower: ArrayView2<'a, f64>, upper: ArrayView2<'a, f64>) -> Result<Self> {
        self.with_own(Own::Quantiles([lower, upper]))
    }

    /// With a standard deviation of the network, one column per target.
    pub fn with_sd(self, sd: ArrayView2<'a, f64>) -> Result<Self> {
        self.with_own(Own::Sd([sd]))
    }

    fn with_own(self, own: Own<ArrayView2<'a, f64>>) -> Result<Self> {
        check_once(self.own.is_none())?;
        Ok(RegressionRows { own: Some(own.checked(self.y.nrows(), Some(self.y.ncols()))?), ..self })
    }

    /// The same rows without the network's own uncertainty.
    pub fn without_own(self) -> Self {
        RegressionRows { own: None, ..self }
    }

    /// With a group per row, such as a subject: rows of a group are never split between fitting and judging.
    pub fn with_groups(self, groups: &'a [usize]) -> Result<Self> {
        check_rows("groups", self.y.nrows(), groups.len())?;
        Ok(RegressionRows { groups: Some(groups), ..self })
    }

    /// With other features of the same rows.
    pub fn with_features(self, features: ArrayView2<'a, f64>) -> Result<Self> {
        check_rows("rows of the features", self.y.nrows(), features.nrows())?;
        check_finite("features", features)?;
        Ok(RegressionRows { features, ..self })
    }

    /// With the group of every row, by its number among `within`: intervals are to cover within each group by itself.
    pub fn with_within(self, within: &'a Within, numbers: &'a [usize]) -> Result<Self> {
        check_rows("rows of the groups (within)", self.y.nrows(), numbers.len())?;
        match numbers.iter().find(|&&g| g >= within.len()) {
            Some(&g) => Err(Error::setting("within", g, "the number of one of the groups")),
            None => Ok(RegressionRows { within: Some((within, numbers)), ..self }),
        }
    }

    /// With functions of every row, such as 1 in a group and 0 outside: intervals are to cover for each of them.
    pub fn with_conditional(self, functions: ArrayView2<'a, f64>) -> Result<Self> {
        check_functions(self.y.nrows(), functions)?;
        Ok(RegressionRows { conditional: Some(functions), ..self })
    }

    /// In order of time: rows may depend on their neighbours, and folds are blocks of them with a gap beside each.
    pub fn with_order(self, order: &'a Order) -> Result<Self> {
        check_rows("rows of the order of time", self.y.nrows(), order.rows().len())?;
        Ok(RegressionRows { order: Some(order), ..self })
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.y.nrows()
    }

    /// The rows without their targets, as those that are predicted for; groups are left out.
    pub(crate) fn inputs(&self) -> RegressionInputs<'a> {
        let RegressionRows { features, prediction, own, .. } = *self;
        RegressionInputs { features, prediction, own, within: None, conditional: None }
    }

    /// n × p.
    pub fn features(&self) -> ArrayView2<'a, f64> {
        self.features
    }

    /// n × outputs.
    pub fn y(&self) -> ArrayView2<'a, f64> {
        self.y
    }

    /// n × outputs.
    pub fn prediction(&self) -> Option<ArrayView2<'a, f64>> {
        self.prediction
    }

    /// What the network says about its own uncertainty, if anything.
    pub fn own(&self) -> Option<OwnKind> {
        self.own.map(|own| own.kind())
    }

    /// The tables of the network's own uncertainty in the order of [`OwnKind::names`]; empty where there are none.
    pub(crate) fn own_tables(&self) -> Vec<ArrayView2<'a, f64>> {
        self.own.map_or_else(Vec::new, |own| own.parts().to_vec())
    }

    /// One per row.
    pub fn groups(&self) -> Option<&'a [usize]> {
        self.groups
    }

    /// The groups within which intervals are to cover, and the number of each row's.
    pub fn within(&self) -> Option<(&'a Within, &'a [usize])> {
        self.within
    }

    /// The functions for each of which intervals are to cover, n × functions.
    pub fn conditional(&self) -> Option<ArrayView2<'a, f64>> {
        self.conditional
    }

    /// The order of rows that may depend on their neighbours, where one was given.
    pub fn order(&self) -> Option<&'a Order> {
        self.order
    }

    /// Fails where a number is too large to compute with.
    pub(crate) fn check_magnitudes(&self) -> Result<()> {
        check_magnitude("features", self.features, LARGEST_FEATURE)?;
        if let Some(d) = self.prediction {
            check_magnitude("predictions", d, LARGEST_TARGET)?;
        }
        check_magnitude("targets", self.y, LARGEST_TARGET)
    }

    /// The same rows with one of the targets alone.
    pub(crate) fn output(&self, j: usize) -> Single<'a> {
        Single {
            features: self.features,
            y: column(self.y, j),
            prediction: self.prediction.map(|d| column(d, j)),
            own: self.own.map(|own| own.output(j)),
            groups: self.groups,
            within: self.within.map(|(within, numbers)| (within.len(), numbers)),
            conditional: self.conditional,
            order: self.order,
        }
    }
}

/// Calibration rows of one target, already checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Single<'a> {
    pub features: ArrayView2<'a, f64>,
    pub y: ArrayView1<'a, f64>,
    pub prediction: Option<ArrayView1<'a, f64>>,
    pub own: Option<Own<ArrayView1<'a, f64>>>,
    pub groups: Option<&'a [usize]>,
    /// How many groups there are within which intervals are to cover, and the number of every row's.
    pub within: Option<(usize, &'a [usize])>,
    /// The functions for each of which intervals are to cover.
    pub conditional: Option<ArrayView2<'a, f64>>,
    /// The order of time, where rows may depend on their neighbours.
    pub order: Option<&'a Order>,
}

/// What a network said about one target.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Said<'a> {
    pub prediction: Option<ArrayView1<'a, f64>>,
    pub own: Option<Own<ArrayView1<'a, f64>>>,
}

/// Rows to predict for.
#[derive(Debug, Clone, Copy)]
pub struct RegressionInputs<'a> {
    pub(crate) features: ArrayView2<'a, f64>,
    pub(crate) prediction: Option<ArrayView2<'a, f64>>,
    pub(crate) own: Option<Own<ArrayView2<'a, f64>>>,
    pub(crate) within: Option<ArrayView1<'a, f64>>,
    pub(crate) conditional: Option<ArrayView2<'a, f64>>,
}

impl<'a> RegressionInputs<'a> {
    /// Rows of features.
    pub fn new(features: ArrayView2<'a, f64>) -> Result<Self> {
        check_finite("features", features)?;
        Ok(RegressionInputs { features, prediction: None, own: None, within: None, conditional: None })
    }

    /// With the network's own predictions.
    pub fn with_prediction(self, prediction: ArrayView2<'a, f64>) -> Result<Self> {
        check_rows("rows of the predictions", self.features.nrows(), prediction.nrows())?;
        check_finite("predictions", prediction)?;
        Ok(RegressionInputs { prediction: Some(prediction), ..self })
    }

    /// With the group of every row, by the number that [`Within::encode`] gives it.
    pub fn with_within(self, numbers: &'a [f64]) -> Result<Self> {
        check_rows("rows of the groups (within)", self.features.nrows(), numbers.len())?;
        Ok(RegressionInputs { within: Some(ArrayView1::from(numbers)), ..self })
    }

    /// With the functions of every row that the fit had.
    pub fn with_conditional(self, functions: ArrayView2<'a, f64>) -> Result<Self> {
        check_functions(self.features.nrows(), functions)?;
        Ok(RegressionInputs { conditional: Some(functions), ..self })
    }

    /// With other features of the same rows.
    pub fn with_features(self, features: ArrayView2<'a, f64>) -> Result<Self> {
        check_rows("rows of the features", self.features.nrows(), features.nrows())?;
        check_finite("features", features)?;
        Ok(RegressionInputs { features, ..self })
    }

    /// With two quantiles of the network, as those of the fit.
    pub fn with_quantiles(self, lower: ArrayView2<'a, f64>, upper: ArrayView2<'a, f64>) -> Result<Self> {
        self.with_own(Own::Quantiles([lower, upper]))
    }

    /// With a standard deviation of the network.
    pub fn with_sd(self, sd: ArrayView2<'a, f64>) -> Result<Self> {
        self.with_own(Own::Sd([sd]))
    }

    fn with_own(self, own: Own<ArrayView2<'a, f64>>) -> Result<Self> {
        check_once(self.own.is_none())?;
        Ok(RegressionInputs { own: Some(own.checked(self.features.nrows(), None)?), ..self })
    }

    /// The same for a shorter time: views of ndarray do not shorten their lifetime by themselves.
    pub(crate) fn reborrow<'b>(&'b self) -> RegressionInputs<'b> {
        RegressionInputs {
            features: self.features.reborrow(),
            prediction: self.prediction.map(|d| d.reborrow()),
            own: self.own.as_ref().map(|own| own.map(|a| (*a).reborrow())),
            within: self.within.map(|w| w.reborrow()),
            conditional: self.conditional.map(|c| c.reborrow()),
        }
    }

    /// The same rows without the network's own uncertainty.
    pub fn without_own(self) -> Self {
        RegressionInputs { own: None, ..self }
    }

    /// Fails where these values of the rows cannot be judged: other rows, or numbers that are not finite or whose
    /// squares overflow, among the values or the network's predictions.
    pub fn check_values(&self, y: ArrayView2<'_, f64>) -> Result<()> {
        check_rows("rows of the targets", self.features.nrows(), y.nrows())?;
        check_finite("targets", y)?;
        check_magnitude("targets", y, LARGEST_TARGET)?;
        self.prediction.map_or(Ok(()), |d| check_magnitude("predictions", d, LARGEST_TARGET))
    }

    /// What the network said about one target.
    pub(crate) fn said(&self, j: usize) -> Said<'a> {
        Said { prediction: self.prediction.map(|d| column(d, j)), own: self.own.map(|own| own.output(j)) }
    }

    /// The rows of this range that there are.
    pub fn part(&self, rows: std::ops::Range<usize>) -> Self {
        let end = rows.end.min(self.features.nrows());
        let rows = rows.start.min(end)..end;
        let part = |a: ArrayView2<'a, f64>| a.slice_axis_move(ndarray::Axis(0), rows.clone().into());
        let within = self.within.map(|w| w.slice_axis_move(ndarray::Axis(0), rows.clone().into()));
        let (prediction, conditional) = (self.prediction.map(part), self.conditional.map(part));
        let own = self.own.map(|own| own.rows(rows.clone()));
        RegressionInputs { features: part(self.features), prediction, own, within, conditional }
    }

    /// n × p.
    pub fn features(&self) -> ArrayView2<'a, f64> {
        self.features
    }

    /// n × outputs.
    pub fn prediction(&self) -> Option<ArrayView2<'a, f64>> {
        self.prediction
    }

    /// The tables of the network's own uncertainty in the order of [`OwnKind::names`]; empty where there are none.
    pub fn own(&self) -> Vec<ArrayView2<'a, f64>> {
        self.own.map_or_else(Vec::new, |own| own.parts().to_vec())
    }

    /// What the network says about its own uncertainty, if anything.
    pub fn own_kind(&self) -> Option<OwnKind> {
        self.own.map(|own| own.kind())
    }
}

fn check_once(first: bool) -> Result<()> {
    Error::check(first, "own uncertainty", "given twice", "two quantiles or a standard deviation, not both")
}

fn check_functions(rows: usize, functions: ArrayView2<'_, f64>) -> Result<()> {
    check_rows("rows of the functions (conditional)", rows, functions.nrows())?;
    if functions.ncols() == 0 {
        return Err(Error::shape("columns of the functions (conditional) (at least)", 1, 0));
    }
    check_finite("functions", functions)
}

fn column<'a>(a: ArrayView2<'a, f64>, j: usize) -> ArrayView1<'a, f64> {
    a.index_axis_move(ndarray::Axis(1), j)
}

fn check_rows(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::shape(what, expected, found)) }
}
