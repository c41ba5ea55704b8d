//! Networks on sets in the files' format: small ones drawn here, and the real one where `STONET_DATA` names a directory
//! that has it.

use std::path::{Path, PathBuf};

use stonet::peers::mlp::Training;
use stonet::{Activation, Seed};
use stonet_repro::Error;
use stonet_repro::fashion::{Images, Judged, Spec, train};

const CLASSES: usize = 10;

fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
    let sizes: Vec<u8> = shape.iter().flat_map(|d| d.to_be_bytes()).collect();
    [&[0, 0, 8, shape.len() as u8], sizes.as_slice(), values].concat()
}

/// Images of 4 × 3 points: the point of the class is bright, the others are dim and differ from image to image.
fn write(dir: &Path, part: &str, rows: u32) {
    let mut labels = Vec::new();
    let mut pixels = Vec::new();
    for row in 0..rows {
        let class = row * 7 % CLASSES as u32;
        labels.push(class as u8);
        pixels.extend((0..12).map(|i| if i == class { 255 } else { (row * 31 + i * 17) as u8 % 100 }));
    }
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join(format!("{part}-images-idx3-ubyte")), idx(&[rows, 4, 3], &pixels)).unwrap();
    std::fs::write(dir.join(format!("{part}-labels-idx1-ubyte")), idx(&[rows], &labels)).unwrap();
}

fn small() -> Spec {
    let training = Training {
        hidden: vec![20],
        activation: Activation::Relu,
        epochs: 60,
        batch_size: 20,
        rate: 0.01,
        ..Training::default()
    };
    Spec { validation_rows: 50, training, ..Spec::shipped() }
}

fn accuracy(judged: &Judged) -> f64 {
    let top = |row: ndarray::ArrayView1<'_, f64>| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    let hits = judged.logits.outer_iter().zip(&judged.labels).filter(|(row, label)| top(*row) == **label).count();
    hits as f64 / judged.labels.len() as f64
}

#[test]
fn every_loss_learns_and_says_what_it_thinks_of_unseen_images() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("images/fashion_mnist");
    write(&inner, "train", 400);
    write(&inner, "t10k", 100);
    let images = Images::load(dir.path()).unwrap();
    assert_eq!(images, Images::load(&inner).unwrap());
    let spec = small();
    let mut validation = Vec::new();
    for loss in &spec.losses {
        let outputs = train(&images, &spec, &loss.loss, Seed::new(1)).unwrap();
        assert_eq!(outputs.validation.logits.dim(), (50, CLASSES));
        assert_eq!(outputs.test.logits.dim(), (100, CLASSES));
        assert_eq!(outputs.test.labels, images.test.labels);
        // The classes are 155 apart in their own point, so a linear rule divides them.
        assert_eq!((accuracy(&outputs.validation), accuracy(&outputs.test)), (1.0, 1.0), "{}", loss.name);
        validation.push(outputs.validation);
    }
    // One seed has one split, so that losses are compared on the same rows; they are not the same loss.
    assert!(validation.iter().all(|v| v.labels == validation[0].labels));
    assert!(validation.iter().skip(1).all(|v| v.logits != validation[0].logits));
    let again = train(&images, &spec, &spec.losses[0].loss, Seed::new(1)).unwrap();
    assert_eq!(again.validation, validation[0]);
    assert_ne!(train(&images, &spec, &spec.losses[0].loss, Seed::new(2)).unwrap().validation, validation[0]);
}

#[test]
fn files_that_are_missing_or_do_not_belong_together_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let e = Images::load(dir.path()).unwrap_err();
    assert!(matches!(e, Error::NoData { .. }) && e.to_string().contains("train-images-idx3-ubyte.gz"), "{e}");
    write(dir.path(), "train", 40);
    write(dir.path(), "t10k", 10);
    std::fs::write(dir.path().join("t10k-labels-idx1-ubyte"), idx(&[9], &[0; 9])).unwrap();
    let e = Images::load(dir.path()).unwrap_err().to_string();
    assert!(e.ends_with("t10k-labels-idx1-ubyte: labels: expected 10, found 9"), "{e}");
    write(dir.path(), "t10k", 10);
    let images = Images::load(dir.path()).unwrap();
    let e = train(&images, &Spec { validation_rows: 40, ..small() }, &small().losses[0].loss, Seed::new(1));
    assert!(matches!(e, Err(Error::Compare(stonet_compare::Error::Range { name: "validation_rows", .. }))));
    std::fs::write(dir.path().join("train-labels-idx1-ubyte"), idx(&[40], &[10; 40])).unwrap();
    let spec = Spec { validation_rows: 10, ..small() };
    let e = train(&Images::load(dir.path()).unwrap(), &spec, &spec.losses[0].loss, Seed::new(1)).unwrap_err();
    assert!(e.to_string().contains("label 10 is not below the number of classes, 10"), "{e}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_few_epochs_on_some_of_the_real_images_tell_most_of_them_apart() {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    let images = Images::load(&dir.expect("STONET_DATA names a directory with images/fashion_mnist")).unwrap();
    // 6000 images are enough for a first idea of the classes, which are equally frequent.
    let mut spec = Spec { validation_rows: 54000, ..Spec::shipped() };
    spec.training = Training { hidden: vec![64], epochs: 3, ..spec.training };
    let outputs = train(&images, &spec, &spec.losses[0].loss, Seed::new(1)).unwrap();
    assert_eq!((outputs.validation.logits.nrows(), outputs.test.logits.nrows()), (54000, 10000));
    let found = [accuracy(&outputs.validation), accuracy(&outputs.test)];
    assert!(found.iter().all(|&a| a > 0.75), "{found:?}");
}
