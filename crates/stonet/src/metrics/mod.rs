//! Numbers that judge predictions: of intervals, and of class probabilities.

mod bins;
mod check;
mod class_kernel;
mod classes;
mod debiased;
mod distribution;
mod error_interval;
mod intervals;
mod judge;
mod selective;
mod smooth;
mod trust;

pub use crate::base::binomial::{beta_cdf, beta_quantile, binomial_cdf, binomial_upper_tail, clopper_pearson};
pub use bins::{ReliabilityBin, bin_of, reliability};
pub(crate) use check::{check_labels, check_probabilities};
pub use classes::{
    BINS, ClassScores, accuracy, adaptive_ece, brier, class_scores, class_wise_ece, ece, nll, top_class,
};
pub use distribution::{crps, crps_scores, pinball, pinball_losses, pit_counts, pit_distance};
pub use intervals::{
    coverage, coverage_by_width, coverage_in_fifths, covered, mean_length, mean_sd, median_length, rmse, winkler,
    winkler_scores,
};
pub use judge::{Band, ClassReport, JudgeSettings, Measured, judge, noise_floor};
pub use selective::{RiskPoint, risk_coverage};
pub use trust::{
    SmoothPoint, TrustReport, TrustScores, aurc, debiased_ece, judge_trust, smooth_ece, smooth_ece_at, trust_scores,
};
