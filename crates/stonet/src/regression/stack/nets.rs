//! How the StoNet members of a stack are trained: one path of κ each, on the same rows, as far as it is wanted.
//!
//! Fits that choose κ and weights have one start. A fit that is kept has two, and the one with the smaller error on its
//! own training rows stays: training now and then ends in a worse solution, and a fold with such a network makes all
//! intervals longer.

use std::sync::Arc;

use ndarray::{Array1, Axis};

use super::members::{Member, Members, Scaled, StoNetSettings, predictions};
use super::watch::Watch;
use crate::base::{Cost, Error, Piece, Result, Seed, Work, streams};
use crate::network::{Activation, Layer, StoNet};
use crate::rows::Standardizer;
use crate::rows::dataset::target_mean;
use crate::rows::regression::Single;
use crate::sparse::ridge::Clip;
use crate::train::imputation::{Packed, PackedRows};

/// Where a fit of the StoNet members takes place.
pub(super) struct Place<'a, 'd> {
    pub settings: &'a StoNetSettings,
    pub members: Members,
    pub data: &'a Single<'d>,
    pub rows: &'a [usize],
    pub seed: Seed,
    pub work: &'a Work<'a>,
}

/// Looks at candidates one by one, and says whether the next is wanted.
type Seen<'a> = &'a mut (dyn FnMut(Member) -> Result<bool> + Send);

/// The work of one path of the StoNet and of one of the skip member, where they are there.
type Pieces<'a> = [Option<Piece<'a, 'a>>; 2];

impl Place<'_, '_> {
    /// Candidates of the StoNet and of the skip member as far as they are wanted; `first` and `second` see them.
    fn each(&self, first: Option<Seen<'_>>, second: Option<Seen<'_>>) -> Result<()> {
        let pieces = self.pieces();
        if first.is_none() && second.is_none() {
            return Ok(());
        }
        Inputs::new(self)?.each(self.seed, pieces, first, second)
    }

    /// The work of one path of each member. What is not trained of it is taken off the work.
    fn pieces(&self) -> Pieces<'_> {
        [self.members.stonet, self.members.skip].map(|there| there.then(|| self.work.piece(self.cost())))
    }

    /// What the path of one member costs.
    fn cost(&self) -> Cost {
        self.settings.cost(self.data.features.ncols(), 1, self.rows.len())
    }

    /// All candidates of the members that are there.
    pub(super) fn all(&self) -> Result<Vec<Vec<Member>>> {
        let [mut stonet, mut skip] = [Vec::new(), Vec::new()];
        let (mut first, mut second) = (
            |m: Member| {
                stonet.push(m);
                Ok(true)
            },
            |m: Member| {
                skip.push(m);
                Ok(true)
            },
        );
        self.each(self.members.stonet.then_some(&mut first as Seen<'_>), self.members.skip.then_some(&mut second))?;
        let all = [(self.members.stonet, stonet), (self.members.skip, skip)];
        Ok(all.into_iter().filter(|(there, _)| *there).map(|(_, candidates)| candidates).collect())
    }

    /// One candidate of each by its number: that of the StoNet, and that of the skip member. Paths end there, and a
    /// member without a number is not fitted. Of two starts, the better one is returned.
    pub(super) fn chosen(&self, numbers: [Option<usize>; 2]) -> Result<[Option<Member>; 2]> {
        let [one, other] = [self.pieces(), self.pieces()];
        if numbers == [None, None] {
            return Ok([None, None]);
        }
        let inputs = Inputs::new(self)?;
        let (first, second) = rayon::join(
            || inputs.chosen(self.seed, one, numbers),
            || inputs.chosen(self.seed.child(streams::members::SECOND), other, numbers),
        );
        let ([stonet, skip], [other_stonet, other_skip]) = (first?, second?);
        Ok([self.better(stonet, other_stonet)?, self.better(skip, other_skip)?])
    }

    /// The member with the smaller squared error on the rows that both were trained on.
    fn better(&self, one: Option<Member>, other: Option<Member>) -> Result<Option<Member>> {
        let (Some(one), Some(other)) = (one, other) else { return Ok(None) };
        // A skip member without a correction has no start.
        if one == other {
            return Ok(Some(one));
        }
        let y = self.data.y.select(Axis(0), self.rows);
        let mut both = [vec![one, other]];
        let fitted = predictions(&both, self.data, self.rows)?.swap_remove(0);
        let error = |c: usize| fitted.column(c).iter().zip(&y).map(|(f, y)| (f - y) * (f - y)).sum::<f64>();
        Ok(Some(both[0].swap_remove(usize::from(error(1) < error(0)))))
    }

    /// What candidates say of held-out rows, fold by fold: rows × candidates for every member that is there. A path ends
    /// where the rows of all folds say that it has become worse.
    pub(super) fn held_out(&self, folds: &[&[usize]]) -> Result<Vec<super::fit::Predictions>> {
        let [mut stonet, mut skip] = [(); 2].map(|()| Watch::new(self.data, folds));
        let (mut first, mut second) = (|m: Member| stonet.see(&m), |m: Member| skip.see(&m));
        self.each(self.members.stonet.then_some(&mut first as Seen<'_>), self.members.skip.then_some(&mut second))?;
        let watches = [(self.members.stonet, stonet), (self.members.skip, skip)];
        let mut by_fold = vec![super::fit::Predictions::new(); folds.len()];
        for (_, watch) in watches.into_iter().filter(|(there, _)| *there) {
            by_fold.iter_mut().zip(watch.into_predictions()).for_each(|(all, member)| all.push(member));
        }
        Ok(by_fold)
    }
}

/// What both StoNet members learn from: the features are scaled and packed once.
struct Inputs<'a, 'd> {
    place: &'a Place<'a, 'd>,
    clip: Clip,
    packed: Arc<PackedRows>,
}

impl<'a, 'd> Inputs<'a, 'd> {
    fn new(place: &'a Place<'a, 'd>) -> Result<Self> {
        let clip = Clip::fit(place.data.features, place.rows)?;
        let packed = Arc::new(PackedRows::scaled(place.data.features, place.rows, &clip.scale));
        Ok(Inputs { place, clip, packed })
    }

    /// Candidates of both members as far as they are wanted.
    fn each(
        &self,
        seed: Seed,
        [stonet, skip]: Pieces<'_>,
        first: Option<Seen<'_>>,
        second: Option<Seen<'_>>,
    ) -> Result<()> {
        let (a, b) = rayon::join(
            || match first.zip(stonet) {
                Some((seen, piece)) => self.stonet(seed.child(streams::members::STONET), &piece, seen),
                None => Ok(()),
            },
            || match second.zip(skip) {
                Some((seen, piece)) => self.skip(seed.child(streams::members::SKIP), &piece, seen),
                None => Ok(()),
            },
        );
        a.and(b)
    }

    /// One candidate of each member by its number, where it has one.
    fn chosen(
        &self,
        seed: Seed,
        pieces: Pieces<'_>,
        [stonet, skip]: [Option<usize>; 2],
    ) -> Result<[Option<Member>; 2]> {
        fn until<'a>(last: usize, found: &'a mut Option<Member>) -> impl FnMut(Member) -> Result<bool> + 'a {
            let mut next = 0;
            move |m| {
                *found = Some(m);
                next += 1;
                Ok(next <= last)
            }
        }
        let mut found = [None, None];
        let [first, second] = &mut found;
        let mut first = stonet.map(|last| until(last, first));
        let mut second = skip.map(|last| until(last, second));
        self.each(seed, pieces, first.as_mut().map(|f| f as Seen<'_>), second.as_mut().map(|f| f as Seen<'_>))?;
        drop((first, second));
        Ok(found)
    }

    fn start(&self, seed: Seed) -> Result<StoNet> {
        self.place.settings.start(self.place.data.features.ncols(), 1, seed.child(streams::stonet::START))
    }

    fn stonet(&self, seed: Seed, piece: &Piece<'_, '_>, seen: Seen<'_>) -> Result<()> {
        let Place { data, rows, .. } = self.place;
        let y = data.y.select(Axis(0), rows);
        let start = self.start(seed)?;
        match self.path(y, &start, seed.child(streams::stonet::PATH), piece, &mut |s| seen(Member::StoNet(s)))? {
            true => Ok(()),
            // A response without spread leaves nothing to learn but its mean.
            false => Err(Error::ConstantTarget { column: 0, value: data.y[rows[0]] }),
        }
    }

    /// Least squares on the network's prediction, without and with corrections of what it leaves.
    fn skip(&self, seed: Seed, piece: &Piece<'_, '_>, seen: Seen<'_>) -> Result<()> {
        let Place { data, rows, settings, .. } = self.place;
        let (Some(d), y) = (data.prediction, data.y.select(Axis(0), rows)) else {
            return Err(Error::NoPrediction { what: super::NAME });
        };
        let d = d.select(Axis(0), rows);
        let (md, my) = (target_mean(d.view()), target_mean(y.view()));
        let (dc, yc) = (&d - md, &y - my);
        let square = dc.dot(&dc);
        let slope = if square > 0.0 { dc.dot(&yc) / square } else { 0.0 };
        let intercept = my - slope * md;
        let mut see = |correction: Option<Scaled>| seen(Member::Skip { intercept, slope, correction });
        if !see(None)? {
            return Ok(());
        }
        // The correction begins at nothing: its output weights are zero.
        let mut layers = self.start(seed)?.layers().to_vec();
        if let Some(Layer { weight, bias, .. }) = layers.last_mut() {
            weight.fill(0.0);
            bias.fill(0.0);
        }
        let start = StoNet::new(layers, Activation::Tanh, crate::network::Likelihood::Gaussian)?;
        let left = yc - dc * slope;
        if !self.path(left, &start, seed.child(streams::stonet::PATH), piece, &mut |s| see(Some(s)))? {
            // As many candidates where nothing is left to correct, so that all folds have the same.
            for _ in settings.kappas() {
                if !see(None)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The path of κ of a StoNet on standardised features and response, as far as it is wanted; false, without a look at
    /// any, if the response is constant.
    fn path(
        &self,
        y: Array1<f64>,
        start: &StoNet,
        seed: Seed,
        piece: &Piece<'_, '_>,
        seen: &mut dyn FnMut(Scaled) -> Result<bool>,
    ) -> Result<bool> {
        let y = y.insert_axis(Axis(1));
        if matches!(
            crate::rows::dataset::check_targets(y.view()),
            Err(Error::ConstantTarget { .. } | Error::SmallRange { .. })
        ) {
            return Ok(false);
        }
        let all: Vec<usize> = (0..y.nrows()).collect();
        let scale = Standardizer::fit_targets(y.view());
        let targets = PackedRows::scaled(y.view(), &all, &scale);
        let packed = Packed { x: self.packed.clone(), y: targets, offset: None, rows: y.nrows() };
        let (mean, sd) = (scale.mean()[0], scale.sd()[0]);
        let scaled = |net: &StoNet| Scaled::new(self.clip.clone(), (mean, sd), net.clone());
        self.place.settings.path(start, &packed, seed, piece, &mut |net| seen(scaled(net)))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::rows::RegressionRows;

    /// Squared error of a member on the rows it was trained on.
    fn error(place: &Place<'_, '_>, member: &Member) -> f64 {
        let fitted = predictions(&[vec![member.clone()]], place.data, place.rows).unwrap().swap_remove(0);
        place.rows.iter().zip(fitted.column(0)).map(|(&r, f)| (f - place.data.y[r]).powi(2)).sum()
    }

    #[test]
    fn the_start_with_the_smaller_training_error_is_kept() {
        let x = Array2::from_shape_fn((60, 3), |(i, k)| ((i * (k + 2)) as f64 * 0.7).sin());
        let y = Array2::from_shape_fn((60, 1), |(i, _)| (3.0 * x[[i, 0]]).tanh() + x[[i, 1]] * x[[i, 2]]);
        let d = y.mapv(|y| 0.7 * y * y);
        let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
        let (data, all): (_, Vec<usize>) = (rows.output(0), (0..60).collect());
        let settings = StoNetSettings { steps: 60, kappas: Some(vec![0.001, 0.01]), ..StoNetSettings::default() };
        let work = Work::new(1, "fits", &|_, _| true);
        let members = Members::ALL.available(true, false);
        let mut second_won = 0;
        for seed in 0..8 {
            let seed = Seed::new(seed);
            let place = Place { settings: &settings, members, data: &data, rows: &all, seed, work: &work };
            let numbers = [Some(1), Some(2)];
            let inputs = Inputs::new(&place).unwrap();
            let starts = [seed, seed.child(streams::members::SECOND)]
                .map(|s| inputs.chosen(s, place.pieces(), numbers).unwrap());
            for (m, kept) in place.chosen(numbers).unwrap().iter().enumerate() {
                let [first, second] = [0, 1].map(|s: usize| error(&place, starts[s][m].as_ref().unwrap()));
                assert_eq!(error(&place, kept.as_ref().unwrap()), first.min(second));
                second_won += usize::from(second < first);
            }
        }
        assert!((1..16).contains(&second_won), "the second start won {second_won} of 16 times");
    }

    #[test]
    fn a_member_that_is_not_wanted_is_not_fitted() {
        let x = Array2::from_shape_fn((30, 2), |(i, k)| ((i * (k + 2)) as f64).sin());
        let y = x.slice(ndarray::s![.., ..1]).mapv(|v| v * v);
        let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(y.view()).unwrap();
        let (data, all): (_, Vec<usize>) = (rows.output(0), (0..30).collect());
        let (settings, work) = (StoNetSettings::default(), Work::new(1, "fits", &|_, _| true));
        let members = Members::ALL.available(true, false);
        let place = Place { settings: &settings, members, data: &data, rows: &all, seed: Seed::new(1), work: &work };
        assert_eq!(place.chosen([None, None]).unwrap(), [None, None]);
        // The first candidate of the skip member has no StoNet, so there is nothing to start twice.
        let [stonet, skip] = place.chosen([None, Some(0)]).unwrap();
        assert!(stonet.is_none() && matches!(skip, Some(Member::Skip { correction: None, .. })));
    }
}
