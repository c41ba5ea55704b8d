//! A calibrator's logits to first order in its free parameters: non-zero weights, biases, and the logarithm of the
//! temperature.

use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};

use super::skip::{Base, SkipModel, View};
use crate::base::{Error, Result};
use crate::network::jacobian::{Pass, free_parameters};
use crate::rows::ClassInputs;

/// F_L of some rows, and its derivatives.
pub(crate) struct Tangent {
    /// F_L, rows × classes.
    pub logits: Array2<f64>,
    /// ∂F_L,k / ∂θ for every class k: rows × parameters, the network's first and log T last.
    pub jacobians: Vec<Array2<f64>>,
}

/// A calibrator without units that do nothing, and whether its temperature was estimated or given.
pub(crate) struct Estimated {
    model: SkipModel,
    free_temperature: bool,
}

impl Estimated {
    pub(crate) fn new(model: &SkipModel, temperature_was_estimated: bool) -> Result<Self> {
        let correction = model.correction().map(|(view, net)| (view.clone(), net.compact()));
        let free_temperature = temperature_was_estimated && model.base().is_some();
        let model = SkipModel::new(model.classes(), model.base(), correction)?;
        Ok(Estimated { model, free_temperature })
    }

    pub(crate) fn model(&self) -> &SkipModel {
        &self.model
    }

    pub(crate) fn parameters(&self) -> usize {
        self.model.network().map_or(0, free_parameters) + usize::from(self.free_temperature)
    }

    pub(crate) fn tangent(&self, inputs: &ClassInputs<'_>) -> Result<Tangent> {
        let (n, classes, q) = (inputs.rows(), self.model.classes(), self.parameters());
        let logits = self.model.logits(inputs)?;
        let base = self.model.base().unwrap_or(Base::plain(1.0));
        let seen = match self.model.correction() {
            Some((view, net)) => Some((view, net, view.of(inputs, base)?)),
            None => None,
        };
        let pass = seen.as_ref().map(|(_, net, x)| Pass::new(net, x.view())).transpose()?;
        let mut jacobians: Vec<Array2<f64>> = match &pass {
            Some(pass) => (0..classes).map(|k| pass.jacobian(k)).collect(),
            None => vec![Array2::zeros((n, 0)); classes],
        };
        if self.free_temperature {
            let z = inputs.logits.ok_or(Error::NoLogits { what: "this model" })?;
            let mut slope = base.slope(z);
            if let (Some((view, _, x)), Some(pass)) = (&seen, &pass)
                && let Some(d) = view.temperature_slope(x.view(), z, base)
            {
                slope += &pass.push_forward(d.view());
            }
            for (j, slope) in jacobians.iter_mut().zip(slope.columns()) {
                let mut wider = Array2::zeros((n, q).f());
                wider.slice_mut(s![.., ..q - 1]).assign(j);
                wider.column_mut(q - 1).assign(&slope);
                *j = wider;
            }
        }
        Ok(Tangent { logits, jacobians })
    }
}

impl View {
    /// ∂x / ∂ log T of what the network sees; none where it does not depend on T.
    fn temperature_slope(&self, x: ArrayView2<'_, f64>, z: ArrayView2<'_, f64>, base: Base) -> Option<Array2<f64>> {
        match self {
            View::Raw | View::Logits(_) | View::Features(_) => None,
            View::Base => Some(base.slope(z)),
            View::Centred => Some(-&x),
            View::Probabilities => {
                let p = x.mapv(|x| 0.25 * x + 1.0 / z.ncols() as f64);
                let u = &z / base.temperature;
                let mean = (&p * &u).sum_axis(Axis(1)).insert_axis(Axis(1));
                Some(-4.0 * &p * &(u - &mean))
            }
        }
    }
}

#[cfg(test)]
impl Estimated {
    /// The model with its number `at` of free parameters moved.
    pub(crate) fn moved(&self, at: usize, by: f64) -> Estimated {
        let last = self.free_temperature && at + 1 == self.parameters();
        let warmed = |b: Base| if last { Base { temperature: b.temperature * by.exp(), ..b } } else { b };
        let base = self.model.base().map(warmed);
        let shift = |net: &crate::network::StoNet| {
            if last { net.clone() } else { crate::network::jacobian::moved(net, at, by) }
        };
        let correction = self.model.correction().map(|(view, net)| (view.clone(), shift(net)));
        let model = SkipModel::new(self.model.classes(), base, correction).unwrap();
        Estimated { model, free_temperature: self.free_temperature }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::{Activation, Likelihood, StoNet};
    use crate::sparse::ridge::Clip;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn the_derivatives_of_every_form_agree_with_central_differences_in_log_t_too() {
        let mut draws = StandardNormal.sample_iter(Seed::new(3).rng());
        let z: Array2<f64> = Array2::from_shape_simple_fn((7, 3), || draws.next().unwrap());
        let inputs = ClassInputs::logits(z.view()).unwrap();
        let clip = Clip::fit(z.view(), &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        let net = |widths: &[usize]| {
            StoNet::random(widths, Activation::Tanh, Seed::new(4)).unwrap().with_head(Likelihood::Multinomial)
        };
        let mut forms = vec![(None, Some((View::Raw, net(&[3, 3]))), 12)];
        for base in [Base::plain(1.7), Base::smoothed(1.7, 7)] {
            forms.push((Some(base), None, 1));
            for view in [View::Base, View::Centred, View::Probabilities, View::Logits(clip.clone())] {
                forms.push((Some(base), Some((view.clone(), net(&[3, 3]))), 13));
                forms.push((Some(base), Some((view, net(&[3, 4, 3]))), 32));
            }
        }
        for (base, correction, parameters) in forms {
            let model = Estimated::new(&SkipModel::new(3, base, correction).unwrap(), true).unwrap();
            assert_eq!(model.parameters(), parameters);
            let (tangent, h) = (model.tangent(&inputs).unwrap(), 1e-6);
            for at in 0..parameters {
                let f = |by: f64| model.moved(at, by).model.logits(&inputs).unwrap();
                let numeric = (f(h) - f(-h)) / (2.0 * h);
                for ((i, k), d) in numeric.indexed_iter() {
                    let exact = tangent.jacobians[k][[i, at]];
                    assert!((d - exact).abs() < 1e-7, "parameter {at} of {parameters}, class {k}: {exact}, not {d}");
                }
            }
        }
        let given = Estimated::new(&SkipModel::new(3, Some(Base::plain(1.0)), None).unwrap(), false).unwrap();
        assert_eq!(given.parameters(), 0);
        assert_eq!(given.tangent(&inputs).unwrap().jacobians[2].dim(), (7, 0));
    }
}
