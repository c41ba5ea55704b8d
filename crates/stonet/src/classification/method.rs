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
}

impl ClassMethod {
    /// All of them.
    pub const ALL: [ClassMethod; 13] = [
        ClassMethod::None,
        ClassMethod::Temperature,
        ClassMethod::Vector,
        ClassMethod::Matrix,
        ClassMethod::MatrixOdir,
        ClassMethod::Isotonic,
        ClassMethod::PostLinear,
        ClassMethod::Paper,
        ClassMethod::StoNet,
        ClassMethod::SkipLinear,
        ClassMethod::Skip,
        ClassMethod::SkipProb,
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
        }
    }

    /// Whether it starts from the network's logits and cannot do with features alone.
    pub fn needs_logits(self) -> bool {
        !matches!(self, ClassMethod::PostLinear | ClassMethod::Paper | ClassMethod::StoNet | ClassMethod::Stack)
    }
}

named!(ClassMethod, "method");
