//! The members of a pool as one list of parameters: information, scores, and the gradient of a probability's log odds.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView2, Axis, ShapeBuilder, s};
use rayon::prelude::*;

use super::{Bread, Covariance, softmax};
use crate::base::Result;
use crate::calibration::tangent::{Estimated, Tangent};
use crate::classification::ClassMethod;
use crate::linalg::dense::{add_gram, matmul, mirror};
use crate::network::likelihood::log_sum_exp;
use crate::rows::{ClassInputs, ClassRows};

/// Numbers in a block of Jacobians: about 30 MB.
const BLOCK: usize = 4_000_000;
/// Up to this order eight partial sums are kept at once, above it two.
const SMALL: usize = 1000;

/// One method of the pool.
pub(super) struct Member {
    pub weight: f64,
    pub model: Estimated,
}

/// What the pool gives to the classes of a row, in logarithms: exact however sure it is.
pub(super) struct Odds {
    /// log p of each member, rows × classes.
    members: Vec<Array2<f64>>,
    /// log p of the pool.
    pub log_p: Array2<f64>,
    /// log (1 − p) of the pool.
    pub log_rest: Array2<f64>,
}

/// Blocks of rows whose Jacobians fit into memory, by their sizes alone.
pub(super) fn blocks(rows: Range<usize>, classes: usize, parameters: usize) -> impl Iterator<Item = Range<usize>> {
    let block = (BLOCK / (classes * parameters).max(1)).clamp(16, 1024);
    rows.clone().step_by(block).map(move |first| first..(first + block).min(rows.end))
}

/// Σ over blocks of rows of AᵀA; the partial sums depend on the sizes alone, so the result does not depend on the
/// number of threads.
fn gram_of_blocks(
    rows: usize,
    classes: usize,
    parameters: usize,
    block: impl Fn(Range<usize>) -> Result<Array2<f64>> + Sync,
) -> Result<Array2<f64>> {
    let runs = if parameters <= SMALL { 8 } else { 2 };
    let run = rows.div_ceil(runs).max(1);
    let starts: Vec<usize> = (0..rows).step_by(run).collect();
    let partial = |&first: &usize| {
        let mut sum = Array2::zeros((parameters, parameters));
        for rows in blocks(first..(first + run).min(rows), classes, parameters) {
            add_gram(&mut sum, block(rows)?.view());
        }
        Ok(sum)
    };
    let sums: Vec<Array2<f64>> = starts.par_iter().map(partial).collect::<Result<_>>()?;
    let mut total = sums.into_iter().fold(Array2::zeros((parameters, parameters)), |a, b| a + b);
    mirror(&mut total);
    Ok(total)
}

/// Rows √p_k (J_k − Σ_j p_j J_j), whose Gram matrix is Σ Jᵀ (diag p − ppᵀ) J. One difference of rows instead of one of
/// two large sums.
fn weighted(jacobians: &[Array2<f64>], p: ArrayView2<'_, f64>) -> Array2<f64> {
    let (n, q) = jacobians[0].dim();
    let mut mean = Array2::zeros((n, q).f());
    for (j, p) in jacobians.iter().zip(p.columns()) {
        mean += &(j * &p.insert_axis(Axis(1)));
    }
    let mut all = Array2::zeros((n * jacobians.len(), q).f());
    for ((mut part, j), p) in all.axis_chunks_iter_mut(Axis(0), n.max(1)).zip(jacobians).zip(p.columns()) {
        part.assign(j);
        part -= &mean;
        part *= &p.mapv(f64::sqrt).insert_axis(Axis(1));
    }
    all
}

/// The score Jᵀ(onehot − p) of every row.
fn scores(tangent: &Tangent, labels: &[usize]) -> Array2<f64> {
    let mut residual = -softmax(&tangent.logits);
    residual.outer_iter_mut().zip(labels).for_each(|(mut r, &l)| r[l] += 1.0);
    let mut all = Array2::zeros(tangent.jacobians[0].raw_dim().f());
    for (j, r) in tangent.jacobians.iter().zip(residual.columns()) {
        all += &(j * &r.insert_axis(Axis(1)));
    }
    all
}

/// The tangents of all members at some rows.
pub(super) fn tangents(members: &[Member], inputs: &ClassInputs<'_>, rows: Range<usize>) -> Result<Vec<Tangent>> {
    let inputs = inputs.slice(rows);
    members.iter().map(|m| m.model.tangent(&inputs)).collect()
}

/// Columns of several members side by side.
fn side_by_side(parts: &[Array2<f64>]) -> Array2<f64> {
    let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
    ndarray::concatenate(Axis(1), &views).expect("as many rows each")
}

impl Odds {
    pub(super) fn new(members: &[Member], tangents: &[Tangent]) -> Self {
        let log_softmax = |t: &Tangent| {
            let mut f = t.logits.clone();
            for mut row in f.outer_iter_mut() {
                let total = log_sum_exp(row.iter().copied());
                row -= total;
            }
            f
        };
        let logs: Vec<Array2<f64>> = tangents.iter().map(log_softmax).collect();
        let dim = tangents[0].logits.dim();
        let pooled = |at: (usize, usize)| members.iter().zip(&logs).map(move |(m, l)| m.weight.ln() + l[at]);
        let log_p = Array2::from_shape_fn(dim, |at| log_sum_exp(pooled(at)));
        let others = |i: usize, k: usize| (0..dim.1).filter(move |&j| j != k).map(move |j| (i, j));
        let log_rest = Array2::from_shape_fn(dim, |(i, k)| log_sum_exp(others(i, k).map(|at| log_p[at])));
        Odds { members: logs, log_p, log_rest }
    }

    /// ∂ logit p_k / ∂θ at every row, for the class k that the row has in `classes`.
    ///
    /// With r_m = w_m p_mk / p_k it is Σ_m r_m Σ_{j≠k} p_mj (J_mk − J_mj) / (1 − p_k): nothing cancels, however sure
    /// the pool is.
    pub(super) fn gradient(&self, classes: &[usize], members: &[Member], tangents: &[Tangent]) -> Array2<f64> {
        let parts: Vec<Array2<f64>> = (members.iter().zip(tangents).zip(&self.members))
            .map(|((member, tangent), log)| {
                // What each class's Jacobian counts by in each row.
                let mut factor = Array2::zeros(log.raw_dim());
                for (i, &k) in classes.iter().enumerate() {
                    let scale = log[[i, k]] - self.log_p[[i, k]] - self.log_rest[[i, k]] + member.weight.ln();
                    let mut own = 0.0;
                    for j in (0..log.ncols()).filter(|j| *j != k) {
                        let share = (scale + log[[i, j]]).exp();
                        factor[[i, j]] = -share;
                        own += share;
                    }
                    factor[[i, k]] = own;
                }
                let mut gradient = Array2::zeros(tangent.jacobians[0].raw_dim().f());
                for (jacobian, factor) in tangent.jacobians.iter().zip(factor.columns()) {
                    gradient += &(jacobian * &factor.insert_axis(Axis(1)));
                }
                gradient
            })
            .collect();
        side_by_side(&parts)
    }
}

/// gᵀ C g of every row g.
pub(super) fn quadratic_forms(g: &Array2<f64>, covariance: &Array2<f64>) -> Array1<f64> {
    (matmul(g.view(), covariance.view()) * g).sum_axis(Axis(1))
}

/// H of one member.
pub(super) fn information(member: &Member, rows: &ClassRows<'_>) -> Result<Array2<f64>> {
    let inputs = rows.inputs();
    gram_of_blocks(rows.rows(), rows.classes(), member.model.parameters(), |part| {
        let tangent = member.model.tangent(&inputs.slice(part))?;
        Ok(weighted(&tangent.jacobians, softmax(&tangent.logits).view()))
    })
}

/// (H + P)⁻¹ of one member, once its rows are seen to be enough.
pub(super) fn bread(member: &Member, penalty: Array1<f64>, method: ClassMethod, rows: &ClassRows<'_>) -> Result<Bread> {
    let h = information(member, rows)?;
    let bread = Bread::new(&h, penalty, method)?;
    super::enough(method, bread.df, rows)?;
    Ok(bread)
}

/// The covariance of all members' parameters, B_m M B_m′.
pub(super) fn joint(
    members: &[Member],
    breads: &[Bread],
    kind: Covariance,
    rows: &ClassRows<'_>,
) -> Result<Array2<f64>> {
    let (inputs, n, classes) = (rows.inputs(), rows.rows() as f64, rows.classes());
    // Residuals of a fit are smaller than errors, by the parameters it uses per row and free class.
    let inflate = |b: &Bread| (n / (n - b.df / (classes - 1) as f64)).sqrt();
    let order = members.iter().map(|m| m.model.parameters()).sum();
    let mut middle = gram_of_blocks(rows.rows(), classes, order, |part| {
        let tangents = tangents(members, &inputs, part.clone())?;
        let parts: Vec<Array2<f64>> = match kind {
            Covariance::Observed => {
                let p = Odds::new(members, &tangents).log_p.mapv_into(f64::exp);
                tangents.iter().map(|t| weighted(&t.jacobians, p.view())).collect()
            }
            Covariance::Sandwich => {
                let labels = &rows.labels()[part];
                tangents.iter().zip(breads).map(|(t, b)| scores(t, labels) * inflate(b)).collect()
            }
        };
        Ok(side_by_side(&parts))
    })?;
    // What holds an estimate back stands for rows of its own, which no other member has seen.
    let penalties = breads.iter().flat_map(|b| &b.penalty);
    middle.diag_mut().iter_mut().zip(penalties).for_each(|(m, p)| *m += p);
    Ok(between(breads, &middle))
}

/// B · M · B for the block diagonal matrix B of the members.
fn between(breads: &[Bread], middle: &Array2<f64>) -> Array2<f64> {
    let mut end = 0;
    let range = |b: &Bread| {
        let first = end;
        end += b.penalty.len();
        first..end
    };
    let ranges: Vec<Range<usize>> = breads.iter().map(range).collect();
    let mut all = Array2::zeros(middle.raw_dim());
    for (a, i) in breads.iter().zip(&ranges) {
        for (b, j) in breads.iter().zip(&ranges) {
            let part = matmul(a.inverse.view(), middle.slice(s![i.clone(), j.clone()]));
            all.slice_mut(s![i.clone(), j.clone()]).assign(&matmul(part.view(), b.inverse.view()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::calibration::skip::{Base, SkipModel, View};
    use crate::network::{Activation, Likelihood, StoNet};
    use ndarray::array;

    fn pool() -> Vec<Member> {
        let net = |widths: &[usize], seed| {
            StoNet::random(widths, Activation::Tanh, Seed::new(seed)).unwrap().with_head(Likelihood::Multinomial)
        };
        let member = |weight, t: Option<f64>, correction| {
            let model = Estimated::new(&SkipModel::new(3, t.map(Base::plain), correction).unwrap(), true).unwrap();
            Member { weight, model }
        };
        vec![
            member(0.5, Some(1.7), None),
            member(0.2, None, Some((View::Raw, net(&[3, 3], 5)))),
            member(0.3, Some(0.9), Some((View::Probabilities, net(&[3, 4, 3], 6)))),
        ]
    }

    fn odds(members: &[Member], inputs: &ClassInputs<'_>) -> (Odds, Vec<Tangent>) {
        let tangents = tangents(members, inputs, 0..inputs.rows()).unwrap();
        (Odds::new(members, &tangents), tangents)
    }

    #[test]
    fn the_gradient_of_the_log_odds_agrees_with_central_differences() {
        // The last row is next to certain.
        let z = array![[0.3, -1.0, 2.0], [1.0, 1.5, -0.2], [60.0, 1.0, -2.0]];
        let inputs = ClassInputs::logits(z.view()).unwrap();
        let (members, h) = (pool(), 1e-5);
        let (here, tangents) = odds(&members, &inputs);
        for k in 0..3 {
            let gradient = here.gradient(&[k; 3], &members, &tangents);
            let mut column = 0;
            for m in 0..members.len() {
                for at in 0..members[m].model.parameters() {
                    let logit = |by: f64| {
                        let mut moved = pool();
                        moved[m].model = moved[m].model.moved(at, by);
                        let (odds, _) = odds(&moved, &inputs);
                        &odds.log_p.column(k) - &odds.log_rest.column(k)
                    };
                    let numeric = (logit(h) - logit(-h)) / (2.0 * h);
                    for (d, exact) in numeric.iter().zip(gradient.column(column)) {
                        assert!((d - exact).abs() < 1e-6 * (1.0 + exact.abs()), "class {k}: {exact}, not {d}");
                    }
                    column += 1;
                }
            }
            assert_eq!(column, gradient.ncols());
        }
    }

    #[test]
    fn the_weighted_rows_make_the_information() {
        let z = array![[0.3, -1.0, 2.0], [1.0, 1.5, -0.2]];
        let members = pool();
        let (_, tangents) = odds(&members, &ClassInputs::logits(z.view()).unwrap());
        let t = &tangents[2];
        let p = softmax(&t.logits);
        let mut want = Array2::<f64>::zeros((t.jacobians[0].ncols(), t.jacobians[0].ncols()));
        for i in 0..2 {
            for (k, l) in (0..3).flat_map(|k| (0..3).map(move |l| (k, l))) {
                let v = f64::from(u8::from(k == l)) * p[[i, k]] - p[[i, k]] * p[[i, l]];
                let (a, b) = (t.jacobians[k].row(i), t.jacobians[l].row(i));
                want += &(v * &a.insert_axis(Axis(1)) * b.insert_axis(Axis(0)));
            }
        }
        let found = crate::linalg::dense::gram(weighted(&t.jacobians, p.view()).view());
        assert!((found - want).iter().all(|d| d.abs() < 1e-14));
    }
}
