//! The ways to calibrated probabilities, by the names users type.

use serde::{Deserialize, Serialize};

use crate::base::names::named;

/// How probabilities are made from a classifier's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum ClassMethod {
    /// `none`: softmax(z).
    None,
    /// `temperature`: softmax(z / T) (Guo et al. 2017).
    Temperature,
    /// `vector`: a slope and an intercept per class.
    Vector,
    /// `matrix`: softmax(Wz + b) without a penalty.
    Matrix,
    /// `matrix-odir`: the same with ridge penalties on off-diagonal weights and intercepts (Kull et al. 2019), their
    /// strength by cross-validation.
    MatrixOdir,
    /// `isotonic`: a monotone function per class, one against the rest.
    Isotonic,
    /// `post-linear`: sparse multinomial regression on the features, or on the logits where there are none, λ by
    /// cross-validation.
    PostLinear,
    /// `paper`: a StoNet without skip connection at the paper's printed settings.
    Paper,
    /// `stonet`: the same form with rates that train the first layer, κ by cross-validation.
    StoNet,
    /// `skip-linear`: temperature scaling plus a sparse linear map of the logits, λ by cross-validation.
    SkipLinear,
    /// `skip`: temperature scaling plus a sparse StoNet that sees the logits.
    Skip,
    /// `skip-prob`: temperature scaling plus a sparse StoNet that sees the probabilities.
    SkipProb,
    /// `stack`: a weighted mean of several of these, weights by cross-validated likelihood.
    #[default]
    Stack,
    /// `temperature-smooth`: temperature scaling mixed with the uniform distribution by Laplace's rule, (n p + 1/K)/(n +
    /// 1): no class is impossible.
    TemperatureSmooth,
    /// `svs`: structured vector scaling, a penalised slope and intercept per class on smoothed log-probabilities (Berta
    /// et al. 2025).
    Svs,
    /// `sms`: structured matrix scaling, the same with a penalised full matrix.
    Sms,
    /// `ets`: ensemble temperature scaling, a weighted mean of softmax(z / T), softmax(z) and the uniform distribution
    /// (Zhang et al. 2020).
    Ets,
    /// `venn-abers`: two isotonic regressions per row, of two classes, with the row under either label (Vovk et al.
    /// 2015).
    VennAbers,
    /// `skip-features`: temperature scaling plus a sparse StoNet that sees the features beside the logits.
    SkipFeatures,
}

impl ClassMethod {
    /// All of them.
    pub const ALL: [ClassMethod; 19] = [
        ClassMethod::None,
        ClassMethod::Temperature,
        ClassMethod::TemperatureSmooth,
        ClassMethod::Ets,
        ClassMethod::Vector,
        ClassMethod::Svs,
        ClassMethod::Sms,
        ClassMethod::Matrix,
        ClassMethod::MatrixOdir,
        ClassMethod::Isotonic,
        ClassMethod::VennAbers,
        ClassMethod::PostLinear,
        ClassMethod::Paper,
        ClassMethod::StoNet,
        ClassMethod::SkipLinear,
        ClassMethod::Skip,
        ClassMethod::SkipProb,
        ClassMethod::SkipFeatures,
        ClassMethod::Stack,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            ClassMethod::None => "none",
            ClassMethod::Temperature => "temperature",
            ClassMethod::Vector => "vector",
            ClassMethod::Matrix => "matrix",
            ClassMethod::MatrixOdir => "matrix-odir",
            ClassMethod::Isotonic => "isotonic",
            ClassMethod::PostLinear => "post-linear",
            ClassMethod::Paper => "paper",
            ClassMethod::StoNet => "stonet",
            ClassMethod::SkipLinear => "skip-linear",
            ClassMethod::Skip => "skip",
            ClassMethod::SkipProb => "skip-prob",
            ClassMethod::Stack => "stack",
            ClassMethod::TemperatureSmooth => "temperature-smooth",
            ClassMethod::Svs => "svs",
            ClassMethod::Sms => "sms",
            ClassMethod::Ets => "ets",
            ClassMethod::VennAbers => "venn-abers",
            ClassMethod::SkipFeatures => "skip-features",
        }
    }

    /// Whether it can be a member of a stack: one map through one softmax.
    pub fn can_be_member(self) -> bool {
        !matches!(self, ClassMethod::Stack | ClassMethod::Isotonic | ClassMethod::Ets | ClassMethod::VennAbers)
    }

    /// All that can be fitted to the logits of so many classes, with or without features beside them.
    pub fn possible(classes: usize, features: bool) -> Vec<ClassMethod> {
        let possible = |m: &ClassMethod| match m {
            ClassMethod::VennAbers => classes == 2,
            ClassMethod::SkipFeatures => features,
            _ => true,
        };
        ClassMethod::ALL.into_iter().filter(possible).collect()
    }

    /// Those that a comparison shows unless others are asked for: all that are possible but `matrix-odir`, which `sms`
    /// is ahead of in likelihood and in time.
    pub fn compared(classes: usize, features: bool) -> Vec<ClassMethod> {
        Self::possible(classes, features).into_iter().filter(|m| *m != ClassMethod::MatrixOdir).collect()
    }

    /// Whether it starts from the network's logits and cannot do with features alone.
    pub fn needs_logits(self) -> bool {
        !matches!(self, ClassMethod::PostLinear | ClassMethod::Paper | ClassMethod::StoNet | ClassMethod::Stack)
    }
}

named!(ClassMethod, "method");
