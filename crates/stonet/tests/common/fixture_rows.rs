//! The rows of probabilities that the fixtures of class scores were made of.

use ndarray::Array2;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The rows of `class_metrics.py`, bit for bit: quotients of whole numbers below 2⁵³.
pub fn rows(n: usize, k: usize) -> (Array2<f64>, Vec<usize>) {
    let (mut p, mut labels) = (Array2::zeros((n, k)), Vec::new());
    for i in 0..n {
        let v: Vec<u64> = (0..k).map(|j| 1 + mix((1 + i * k + j) as u64) % 999).collect();
        let favoured = (mix((1 << 40) + i as u64) % k as u64) as usize;
        let favour = mix((1 << 41) + i as u64) % (3 * k as u64) * 100_000_000_000;
        let extra = |j: usize, favour: u64| if j == favoured { favour } else { 0 };
        let w: Vec<u64> = (0..k).map(|j| v[j].pow(4) + extra(j, favour)).collect();
        let total: u64 = w.iter().sum();
        (0..k).for_each(|j| p[[i, j]] = w[j] as f64 / total as f64);
        let truth: Vec<u64> = (0..k).map(|j| 1000 * v[j].pow(3) + extra(j, favour / 2)).collect();
        let (mut left, mut label) = (mix((1 << 42) + i as u64) % truth.iter().sum::<u64>(), 0);
        while left >= truth[label] {
            left -= truth[label];
            label += 1;
        }
        labels.push(label);
    }
    (p, labels)
}
