//! The paper's own settings (σ², ε, η, γ, λ), their conversion to rates and κ, and the named presets.

use serde::{Deserialize, Serialize};

use super::asghmc::{Asghmc, per_layer};
use crate::base::{Error, Result};
use crate::network::StoNet;

/// The parametrisation of `ASGHMC` as printed, with G_i = γ_i·n (D11: the printed γ_i/|S_k| of the simulation is
/// G_i/|S_k|).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperSettings {
    /// σ_1² … σ_L².
    pub sigma2: Vec<f64>,
    /// ε_1 … ε_h.
    pub epsilon: Vec<f64>,
    /// εη, one for all layers; the paper uses η = 1/ε, so 1.
    pub friction: f64,
    /// t_HMC.
    pub hmc_steps: usize,
    /// G_1 … G_L.
    pub gain: Vec<f64>,
    /// λ_1 … λ_L.
    pub lambda: Vec<f64>,
}

impl PaperSettings {
    /// The trainer that acts the same: rate_i = (G_i/σ_i²) Π_{k=i..h} ε_k/σ²_{k+1} (the sweep's own recursion where
    /// there are more sweeps or momentum) and κ_i = λ_i G_i / rate_i.
    ///
    /// The network needs the same σ²: `net.with_noise_variances(&settings.sigma2)`.
    pub fn trainer(&self) -> Result<Asghmc> {
        let layers = self.sigma2.len();
        for (what, len, want) in [
            ("epsilon", self.epsilon.len(), layers.wrapping_sub(1)),
            ("gain", self.gain.len(), layers),
            ("lambda", self.lambda.len(), layers),
        ] {
            if layers == 0 || len != want {
                return Err(Error::shape(what, want, len));
            }
        }
        let ratio: Vec<f64> = (0..layers - 1).map(|k| self.epsilon[k] / self.sigma2[k + 1]).collect();
        let step_ratio = if ratio.is_empty() { Asghmc::default().step_ratio } else { ratio };
        let (friction, hmc_steps) = (self.friction, self.hmc_steps);
        let trainer = Asghmc { step_ratio, friction, hmc_steps, ..Asghmc::default() };
        let reach = trainer.reach(layers);
        let rates: Vec<f64> = (0..layers).map(|i| self.gain[i] / self.sigma2[i] * reach[i]).collect();
        let kappa = (0..layers).map(|i| self.lambda[i] * self.gain[i] / rates[i]).collect();
        Ok(Asghmc { rates, kappa, ..trainer })
    }

    /// The way back, at the σ² of a given network; the trainer must fit the network.
    pub fn of(trainer: &Asghmc, net: &StoNet) -> Result<Self> {
        trainer.validate(net)?;
        let sigma2: Vec<f64> = net.layers().iter().map(|l| l.noise_variance).collect();
        let layers = sigma2.len();
        let (ratio, reach) = (per_layer(&trainer.step_ratio, layers - 1), trainer.reach(layers));
        let (rates, kappa) = (per_layer(&trainer.rates, layers), per_layer(&trainer.kappa, layers));
        let gain: Vec<f64> = (0..layers).map(|i| rates[i] * sigma2[i] / reach[i]).collect();
        Ok(PaperSettings {
            epsilon: (0..layers - 1).map(|k| ratio[k] * sigma2[k + 1]).collect(),
            lambda: (0..layers).map(|i| kappa[i] * rates[i] / gain[i]).collect(),
            friction: trainer.friction,
            hmc_steps: trainer.hmc_steps,
            sigma2,
            gain,
        })
    }
}

/// A named group of the paper's settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    name: &'static str,
    sigma2: &'static [f64],
    epsilon: &'static [f64],
    gain: &'static [f64],
}

impl Preset {
    /// Every preset. Simulation gains are the printed γ_i/|S_k| × 50 (D11); two-hidden-layer γ's in reverse order (D4).
    pub const ALL: &'static [Preset] = &[
        one_hidden("simulation-1-i", &[5e-6, 5e-5], &[5e-9]),
        one_hidden("simulation-1-ii", &[1e-5, 1e-4], &[1e-8]),
        one_hidden("simulation-1-iii", &[2e-5, 2e-4], &[2e-8]),
        two_hidden("simulation-2-i", &[5e-12, 5e-11, 5e-10], &[1e-14, 5e-14]),
        two_hidden("simulation-2-ii", &[1e-11, 1e-10, 1e-9], &[1e-14, 1e-13]),
        two_hidden("simulation-2-iii", &[2e-11, 2e-10, 2e-9], &[1e-14, 1e-13]),
        // D5: σ_1² and σ_2² as printed contradict σ_1 ≤ σ_2 of `ass:1`; `uci` has them swapped.
        Preset { name: "uci", sigma2: &[1e-5, 1e-4], epsilon: &[1e-7], gain: &[1e-3, 1e-5] },
        Preset { name: "uci-printed", sigma2: &[1e-4, 1e-5], epsilon: &[1e-7], gain: &[1e-3, 1e-5] },
        // γ_i × n for the 5000 validation rows.
        Preset { name: "cifar", sigma2: &[1e-2, 1e-3], epsilon: &[1e-7], gain: &[5e-4, 5e-6] },
    ];

    /// The preset of this name.
    pub fn by_name(name: &str) -> Result<&'static Preset> {
        Self::ALL.iter().find(|p| p.name == name).ok_or_else(|| Error::UnknownName {
            what: "preset",
            name: name.to_owned(),
            known: Self::ALL.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The name that users type.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The settings, with λ = `lambda` in every layer.
    pub fn settings(&self, lambda: f64) -> PaperSettings {
        PaperSettings {
            sigma2: self.sigma2.to_vec(),
            epsilon: self.epsilon.to_vec(),
            friction: 1.0,
            hmc_steps: 1,
            gain: self.gain.to_vec(),
            lambda: vec![lambda; self.sigma2.len()],
        }
    }
}

const fn one_hidden(name: &'static str, sigma2: &'static [f64], epsilon: &'static [f64]) -> Preset {
    Preset { name, sigma2, epsilon, gain: &[2.5e-2, 2.5e-6] }
}

const fn two_hidden(name: &'static str, sigma2: &'static [f64], epsilon: &'static [f64]) -> Preset {
    Preset { name, sigma2, epsilon, gain: &[2.5e-4, 2.5e-8, 2.5e-12] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::Activation;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs())
    }

    #[test]
    fn presets_have_the_rates_that_follow_from_the_printed_settings() {
        for (name, rates) in [
            ("simulation-1-i", &[0.5, 0.05][..]),
            ("simulation-1-ii", &[0.25, 0.025]),
            ("simulation-1-iii", &[0.125, 0.0125]),
            ("simulation-2-i", &[1.0, 0.05, 0.005]),
            ("simulation-2-ii", &[0.25, 0.025, 0.0025]),
            ("simulation-2-iii", &[0.03125, 0.00625, 0.00125]),
            ("uci", &[0.1, 0.1]),
            ("uci-printed", &[0.1, 1.0]),
            ("cifar", &[5e-6, 5e-3]),
        ] {
            let trainer = Preset::by_name(name).unwrap().settings(0.0).trainer().unwrap();
            assert!(close(&trainer.rates, rates), "{name}: {:?}", trainer.rates);
        }
        let kappa = |name: &str| Preset::by_name(name).unwrap().settings(1.0).trainer().unwrap().kappa;
        assert!(close(&kappa("simulation-1-ii"), &[0.1, 1e-4]));
        assert!(close(&kappa("simulation-2-ii"), &[1e-3, 1e-6, 1e-9]));
        assert!(close(&kappa("uci"), &[0.01, 1e-4]));
        assert!(close(&kappa("uci-printed"), &[0.01, 1e-5]));
        assert!(close(&kappa("cifar"), &[100.0, 1e-3]));
    }

    #[test]
    fn the_conversion_goes_both_ways() {
        for preset in Preset::ALL {
            let settings = preset.settings(0.03);
            let widths = vec![2; settings.sigma2.len() + 1];
            let net = StoNet::random(&widths, Activation::Tanh, Seed::new(1))
                .unwrap()
                .with_noise_variances(&settings.sigma2)
                .unwrap();
            let back = PaperSettings::of(&settings.trainer().unwrap(), &net).unwrap();
            assert!(close(&back.gain, &settings.gain), "{}", preset.name());
            assert!(close(&back.lambda, &settings.lambda), "{}", preset.name());
            assert!(close(&back.epsilon, &settings.epsilon), "{}", preset.name());
        }
    }

    /// D6: the printed λ is taken as κ_1, and the other layers keep the ratio that one λ for all gives them.
    #[test]
    fn a_printed_lambda_used_as_kappa_keeps_the_layers_ratio() {
        let trainer = Preset::by_name("uci").unwrap().settings(1.0).trainer().unwrap().with_kappa(0.05);
        assert!(close(&trainer.kappa, &[0.05, 5e-4]));
    }

    #[test]
    fn an_unknown_preset_and_uneven_lists_are_refused() {
        let e = Preset::by_name("uci2").unwrap_err().to_string();
        assert!(e.contains("no preset is called `uci2`; there are simulation-1-i"), "{e}");
        let mut settings = Preset::by_name("uci").unwrap().settings(0.1);
        settings.epsilon.push(1.0);
        assert!(settings.trainer().is_err());
    }
}
