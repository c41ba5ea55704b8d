//! The training steps allocate nothing, at every depth and with every feature switched on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;

use ndarray::Array2;
use stonet::peers::mlp::{Loss, Training};
use stonet::train::{Asghmc, Progress, StepBench};
use stonet::{Activation, Dataset, Penalty, Seed, StoNet};

struct Counting;

thread_local! {
    /// Of this thread, since tests run side by side.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn allocations() -> usize {
    ALLOCATIONS.get()
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_step_allocates_nothing() {
    for widths in [vec![100, 20, 1], vec![20, 500, 1], vec![20, 500, 100, 1], vec![7, 9, 9, 3]] {
        for psi in Activation::ALL {
            let trainer = Asghmc {
                rates: vec![0.01; widths.len() - 1],
                hmc_steps: 2,
                friction: 0.5,
                noise: 0.1,
                penalty: Penalty::SCAD,
                ..Asghmc::default()
            };
            let x = Array2::from_shape_fn((60, widths[0]), |(i, j)| ((i * 7 + j * 3) as f64).sin());
            let y = Array2::from_shape_fn((60, widths[widths.len() - 1]), |(i, j)| ((i + j) as f64).cos());
            let start = StoNet::random(&widths, psi, Seed::new(1)).unwrap();
            let mut bench = StepBench::new(&trainer, &start, &Dataset::new(x, y).unwrap()).unwrap();
            bench.step();
            let before = allocations();
            let mut loss = 0.0;
            for _ in 0..20 {
                loss += bench.step();
            }
            assert_eq!(allocations(), before, "{widths:?} {psi:?}");
            assert!(loss.is_finite());
        }
    }
}

#[test]
fn an_epoch_of_a_perceptron_allocates_nothing() {
    let x = Array2::from_shape_fn((120, 90), |(i, j)| ((i * 7 + j * 3) as f64).sin());
    let data = Dataset::classes(x, &(0..120).map(|i| i % 3).collect::<Vec<_>>(), 3).unwrap();
    for loss in [Loss::Squared, Loss::CrossEntropy, Loss::FOCAL, Loss::Mmce { weight: 1.0 }] {
        for activation in Activation::ALL {
            let training = Training { loss: loss.clone(), activation, epochs: 3, ..Training::default() };
            let mut seen = [0; 3];
            let mut count = |p: &Progress<'_>| {
                seen[p.epoch - 1] = allocations();
                ControlFlow::Continue(())
            };
            training.fit(&data, Seed::new(1), &mut count).unwrap();
            assert_eq!(seen[2], seen[0], "{loss:?} {activation:?}");
        }
    }
}
