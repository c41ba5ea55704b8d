//! One network on Fashion-MNIST, and its logits on the images it has not seen.

use std::time::Instant;

use ndarray::Array2;
use rand::seq::SliceRandom;
use stonet::base::streams::fashion_network as streams;
use stonet::peers::mlp::{Loss, Mlp, Trained, Training};
use stonet::{Dataset, Seed};

use super::images::Part;
use super::{Images, Spec};
use crate::{Error, Result};

/// Kinds of clothing.
const CLASSES: usize = 10;
/// Bytes become numbers from 0 to 1.
const SCALE: f64 = 1.0 / 255.0;

/// What a network says about images, and what they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Images × classes.
    pub logits: Array2<f64>,
    /// The true classes.
    pub labels: Vec<usize>,
}

/// A trained network's logits; none of these images was trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    /// To calibrate on.
    pub validation: Judged,
    /// To judge by.
    pub test: Judged,
    /// Mean loss over the last epoch of training.
    pub training_loss: f64,
    /// Seconds of training, whatever runs beside it.
    pub seconds: f64,
}

/// Trains one network; losses with the same seed share the split and the start.
pub fn train(images: &Images, spec: &Spec, loss: &Loss, seed: Seed) -> Result<Outputs> {
    let (training, validation) = split(images.train.labels.len(), spec.validation_rows, seed.child(streams::SPLIT))?;
    let began = Instant::now();
    let settings = Training { loss: loss.clone(), ..spec.training.clone() };
    let Trained { network, loss, .. } =
        settings.fit(&dataset(&images.train, &training)?, seed.child(streams::TRAINING), &mut ())?;
    let seconds = began.elapsed().as_secs_f64();
    let all: Vec<usize> = (0..images.test.labels.len()).collect();
    Ok(Outputs {
        validation: judge(&network, &images.train, &validation)?,
        test: judge(&network, &images.test, &all)?,
        training_loss: loss,
        seconds,
    })
}

/// Rows to train on and rows to calibrate on, at random.
fn split(rows: usize, validation: usize, seed: Seed) -> Result<(Vec<usize>, Vec<usize>)> {
    if validation == 0 || validation >= rows {
        return Err(Error::range("validation_rows", "at least 1, and fewer than there are images"));
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut seed.rng());
    let training = order.split_off(validation);
    Ok((training, order))
}

fn dataset(part: &Part, rows: &[usize]) -> Result<Dataset> {
    let labels: Vec<usize> = rows.iter().map(|&r| part.labels[r]).collect();
    Ok(Dataset::classes(part.images.matrix(rows, SCALE), &labels, CLASSES)?)
}

fn judge(network: &Mlp, part: &Part, rows: &[usize]) -> Result<Judged> {
    let logits = network.predict(part.images.matrix(rows, SCALE).view())?;
    Ok(Judged { logits, labels: rows.iter().map(|&r| part.labels[r]).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_split_share_no_row() {
        let (training, validation) = split(100, 30, Seed::new(1)).unwrap();
        assert_eq!((training.len(), validation.len()), (70, 30));
        let mut all = [training, validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_ne!(split(100, 30, Seed::new(2)).unwrap().1, split(100, 30, Seed::new(1)).unwrap().1);
        assert!(split(100, 0, Seed::new(1)).is_err() && split(100, 100, Seed::new(1)).is_err());
    }
}
