//! The training step allocates nothing, at every depth and with every feature switched on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array2;
use stonet::{Activation, Asghmc, Dataset, Penalty, Seed, StepBench, StoNet};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
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
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let mut loss = 0.0;
            for _ in 0..20 {
                loss += bench.step();
            }
            assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before, "{widths:?} {psi:?}");
            assert!(loss.is_finite());
        }
    }
}
