//! The width of the network's own uncertainty as a column of the scale, and the lean of its quantiles as one of the shape.

use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::rows::OwnKind;
use crate::rows::dataset::ends;
use crate::rows::own::Own;
use crate::score::{Builder, Clamp, Node, Op};

/// What is added to the distance of two quantiles, as a part of its median: it keeps the logarithm finite where they
/// meet.
const OFFSET_SHARE: f64 = 0.01;

/// log w of the network's own uncertainty, within what the rows of the fit had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnWidth {
    kind: OwnKind,
    /// Added to the distance of quantiles.
    offset: f64,
    low: f64,
    high: f64,
}

impl OwnWidth {
    /// The width at these rows, which sets its ends; nothing where two quantiles are one.
    pub(super) fn fit(own: &Own<ArrayView1<'_, f64>>) -> Option<Self> {
        let offset = match own {
            Own::Quantiles([lower, upper]) => {
                let mut apart: Vec<f64> = (upper - lower).iter().map(|w| w.abs()).collect();
                apart.sort_by(f64::total_cmp);
                let typical = [apart[apart.len() / 2], apart[apart.len() - 1]].into_iter().find(|w| *w > 0.0)?;
                OFFSET_SHARE * typical
            }
            Own::Sd(_) => 0.0,
        };
        let open = OwnWidth { kind: own.kind(), offset, low: f64::NEG_INFINITY, high: f64::INFINITY };
        let (low, high) = ends(open.log(own).view());
        (low.is_finite() && high.is_finite()).then_some(OwnWidth { low, high, ..open })
    }

    pub(crate) fn kind(&self) -> OwnKind {
        self.kind
    }

    /// log w of every row.
    pub(crate) fn log(&self, own: &Own<ArrayView1<'_, f64>>) -> Array1<f64> {
        let width = match own {
            Own::Quantiles([lower, upper]) => (upper - lower).mapv(|w| w.abs() + self.offset),
            Own::Sd([sd]) => sd.mapv(|sd| sd.max(f64::MIN_POSITIVE)),
        };
        width.mapv(|w| w.ln().clamp(self.low, self.high))
    }

    /// How far the middle of the quantiles lies above the prediction, in halves of their distance.
    pub(crate) fn lean(&self, own: &Own<ArrayView1<'_, f64>>, prediction: ArrayView1<'_, f64>) -> Option<Array1<f64>> {
        let middle = own.middle()?;
        Some(2.0 * (middle - prediction) * self.log(own).mapv(|l| (-l).exp()))
    }

    /// How fast the lean changes with the prediction, at most.
    pub(super) fn steepest_lean(&self) -> f64 {
        2.0 * (-self.low).exp()
    }

    /// log w as a column of a plan; `own` are the network's columns.
    pub(super) fn lower(&self, b: &mut Builder, own: &[Node]) -> Node {
        let log = match *own {
            [lower, upper] => b.op(Op::LogDistance { a: upper, b: lower, offset: self.offset }),
            _ => b.op(Op::Log { of: own[0], least: f64::MIN_POSITIVE }),
        };
        b.clamp(log, vec![Clamp::within(0, self.low, self.high)], false)
    }

    /// The lean as a column of a plan, from log w and the middle of the quantiles.
    pub(super) fn lower_lean(&self, b: &mut Builder, log: Node, middle: Node, mean: Node) -> Node {
        let turned = b.sum(vec![(-1.0, log)], 2f64.ln());
        let (low, high) = (2f64.ln() - self.high, 2f64.ln() - self.low);
        let per_half = b.op(Op::Exp { of: turned, low, high });
        let apart = b.sum(vec![(1.0, middle), (-1.0, mean)], 0.0);
        b.op(Op::Product(apart, per_half))
    }

    pub(super) fn check(&self) -> Result<()> {
        let sound = self.offset.is_finite() && self.low.is_finite() && self.high.is_finite() && self.low <= self.high;
        match sound && (self.kind == OwnKind::Sd || self.offset > 0.0) {
            true => Ok(()),
            false => Err(Error::Inconsistent { what: "the network's own width has ends that are out of order" }),
        }
    }
}
