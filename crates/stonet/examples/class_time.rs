//! Seconds to fit on simulated logits, cross-validation included, and the memory at its peak:
//! `class_time [CLASSES [ROWS [METHODS]]]`, such as `class_time 100,1000 5000,25000 stack,svs`; the default on 10 and
//! 100 classes and 5000 rows unless others are named.

mod usage;

use std::time::Instant;

use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::network::Likelihood;
use stonet::{ClassInputs, ClassMethod, ClassRows, PostStoNetClassifier, Seed};

/// Logits of a network that is twice too sure and leans towards the even classes, and the classes.
fn draw(rows: usize, k: usize) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Seed::new(k as u64).rng();
    let mut scores = Array2::from_shape_simple_fn((rows, k), || {
        let draw: f64 = StandardNormal.sample(&mut rng);
        2.0 * draw
    });
    let labels = (Likelihood::Multinomial.mean(scores.clone()).outer_iter())
        .map(|p| {
            let mut u: f64 = rng.random();
            let drawn = p.iter().position(|&p| {
                u -= p;
                u < 0.0
            });
            drawn.unwrap_or(k - 1)
        })
        .collect();
    scores.indexed_iter_mut().for_each(|((_, j), s)| *s = 2.0 * *s + f64::from(u8::from(j % 2 == 0)));
    (scores, labels)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list = |at: usize, other: &str| -> Vec<String> {
        let given = std::env::args().nth(at).unwrap_or_else(|| other.to_owned());
        given.split(',').map(str::to_owned).collect()
    };
    let (classes, rows, methods) = (list(1, "10,100"), list(2, "5000"), list(3, "stack"));
    for k in &classes {
        for n in &rows {
            let (k, n): (usize, usize) = (k.parse()?, n.parse()?);
            let (logits, labels) = draw(n, k);
            let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, k)?;
            for method in &methods {
                let method: ClassMethod = method.parse()?;
                let classifier = PostStoNetClassifier { method, ..Default::default() };
                let begin = Instant::now();
                let fitted = classifier.fit(&rows, Seed::new(1), &|_, _| true)?;
                let seconds = begin.elapsed().as_secs_f64();
                let begin = Instant::now();
                let p = fitted.probabilities(&ClassInputs::logits(logits.view())?)?;
                let thousands = p.nrows() as f64 / begin.elapsed().as_secs_f64() / 1e3;
                let memory = usage::peak_memory()
                    .map_or(String::new(), |b| format!(", {:.2} GiB at most so far", b / 1024f64.powi(3)));
                let members: Vec<String> =
                    fitted.notes().iter().map(|m| format!("{} {:.2}", m.method, m.weight)).collect();
                println!(
                    "{n} rows, {k} classes, {method}: fit {seconds:.2} s on {} threads{memory}; {thousands:.0} thousand rows per second \
                     predicted; {}",
                    rayon::current_num_threads(),
                    members.join(", ")
                );
            }
        }
    }
    Ok(())
}
