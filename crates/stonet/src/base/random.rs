//! Seeds and streams: randomness enters every call as an argument and never from a global.

use rand::SeedableRng;

/// The generator behind every stream; named, so that a seed outlives updates of `rand`.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// The root of a tree of independent random streams.
///
/// A child is named by a number, not drawn, so the streams of fold 3 or replicate 17 do not depend on who ran before
/// them or on how many threads there are.
///
/// ```
/// use stonet::Seed;
/// assert_eq!(Seed::new(1).child(3), Seed::new(1).child(3));
/// assert_ne!(Seed::new(1).child(3), Seed::new(1).child(4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Seed(u64);

impl Seed {
    /// The root with this number.
    pub const fn new(seed: u64) -> Self {
        Seed(seed)
    }

    /// The child with this number.
    pub fn child(self, index: u64) -> Self {
        Seed(mix(self.0 ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    /// The stream of this seed, from its beginning.
    pub fn rng(self) -> Rng {
        #[cfg(test)]
        recorded::note(self);
        Rng::seed_from_u64(self.0)
    }
}

/// The finaliser of SplitMix64: a bijection in which every input bit moves about half of the output bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The streams that this thread has opened.
#[cfg(test)]
pub(crate) mod recorded {
    use super::Seed;
    use std::cell::RefCell;

    thread_local!(static OPENED: RefCell<Option<Vec<Seed>>> = const { RefCell::new(None) });

    pub(super) fn note(seed: Seed) {
        OPENED.with_borrow_mut(|o| o.iter_mut().for_each(|o| o.push(seed)));
    }

    /// The streams that `work` opens, all of it on one thread.
    pub(crate) fn during(work: impl FnOnce() + Send) -> Vec<Seed> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            OPENED.set(Some(Vec::new()));
            work();
            OPENED.take().unwrap()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn children_of_nearby_seeds_do_not_collide() {
        let seen: HashSet<u64> = (0..300).flat_map(|s| (0..300).map(move |c| Seed::new(s).child(c).0)).collect();
        assert_eq!(seen.len(), 300 * 300);
    }
}
