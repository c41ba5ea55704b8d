//! Point predictions without their intervals, for those who need many of them.

use ndarray::{Array2, Axis};

use super::{FittedPostStoNet, Model};
use crate::data::check_results;
use crate::{NewRows, Result};

impl FittedPostStoNet {
    /// The `prediction` of [`FittedPostStoNet::intervals`] alone, at a fraction of its cost.
    pub fn predict(&self, rows: &NewRows<'_>) -> Result<Array2<f64>> {
        self.check_new(rows)?;
        let point = self.points(rows)?;
        check_results("the prediction", point.view())?;
        Ok(point)
    }

    fn points(&self, rows: &NewRows<'_>) -> Result<Array2<f64>> {
        match &self.model {
            Model::Eve { intervals, .. } => {
                let z = intervals.scaling().x.apply(rows.features)?;
                let mut centre = Array2::zeros((z.nrows(), self.outputs()));
                for estimate in intervals.estimates() {
                    centre += &estimate.network().predict(z.view())?;
                }
                Ok(intervals.scaling().y.undo((centre / intervals.estimates().len() as f64).view()))
            }
            Model::Stacks(stacks) => {
                let mut point = Array2::zeros((rows.features.nrows(), stacks.len()));
                for (j, stack) in stacks.iter().enumerate() {
                    let d = rows.prediction.map(|d| d.index_axis_move(Axis(1), j));
                    point.column_mut(j).assign(&stack.point(rows.features, d)?);
                }
                Ok(point)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Calibration, Kind, Level, NewRows, PostStoNet, Seed, Side, StoNetSettings};
    use ndarray::Array2;

    #[test]
    fn it_is_the_prediction_of_the_intervals() {
        let x = Array2::from_shape_fn((80, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
        let y = Array2::from_shape_fn((80, 2), |(i, j)| x[[i, j]] + 0.2 * ((i * 31 + j) as f64).cos());
        let stonet =
            StoNetSettings { hidden: vec![4], steps: 60, kappas: Some(vec![0.01]), ..StoNetSettings::default() };
        for kind in [Kind::Cv, Kind::Stack] {
            let settings = PostStoNet { kind, stonet: stonet.clone(), folds: 3, ..PostStoNet::default() };
            let rows = Calibration::new(x.view(), y.view()).unwrap();
            let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
            let new = NewRows::new(x.view()).unwrap();
            let whole = fitted.intervals(&new, Level::new(0.9).unwrap(), Side::Both).unwrap().prediction;
            assert!((&fitted.predict(&new).unwrap() - &whole).iter().all(|d| d.abs() < 1e-12), "{kind}");
            let narrow = x.slice(ndarray::s![.., ..2]);
            assert!(fitted.predict(&NewRows::new(narrow).unwrap()).is_err());
        }
    }
}
