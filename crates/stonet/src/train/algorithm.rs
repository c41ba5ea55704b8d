//! The trainers by the names users type.

use serde::{Deserialize, Serialize};

use super::{Asghmc, Iro, Polished, Trainer};
use crate::base::names::named;

/// Which algorithm trains a StoNet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Algorithm {
    /// `asghmc`: mini-batches, proximal steps.
    #[default]
    Asghmc,
    /// `iro`: all rows, a regression per neuron; from a random start it stalls.
    Iro,
    /// `asghmc+iro`: the second polishes what the first found (`rem:SGMCMC`).
    Polished,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 3] = [Algorithm::Asghmc, Algorithm::Iro, Algorithm::Polished];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Asghmc => "asghmc",
            Algorithm::Iro => "iro",
            Algorithm::Polished => "asghmc+iro",
        }
    }

    /// The trainer of this name, with these settings of its parts.
    pub fn trainer(self, asghmc: Asghmc, iro: Iro) -> Box<dyn Trainer> {
        match self {
            Algorithm::Asghmc => Box::new(asghmc),
            Algorithm::Iro => Box::new(iro),
            Algorithm::Polished => Box::new(Polished { first: asghmc, then: iro }),
        }
    }
}

named!(Algorithm, "trainer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for a in Algorithm::ALL {
            assert_eq!(a.name().parse::<Algorithm>().unwrap(), a);
            let text = serde_json::to_string(&a).unwrap();
            assert_eq!(serde_json::from_str::<Algorithm>(&text).unwrap(), a);
        }
        let e = "adam".parse::<Algorithm>().unwrap_err().to_string();
        assert!(e.contains("asghmc, iro, asghmc+iro"), "{e}");
    }
}
