//! Run-time choice of instruction set: one body, compiled for AVX-512, AVX2 and the plain target.

use std::sync::LazyLock;

/// The instruction sets that bodies are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstructionSet {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// All of them, the best last.
    #[cfg(test)]
    pub(crate) const ALL: &[InstructionSet] = &[
        InstructionSet::Plain,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512,
    ];

    /// Whether this processor has it.
    pub(crate) fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        use std::arch::is_x86_feature_detected as has;
        match self {
            InstructionSet::Plain => true,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => has!("avx2") && has!("fma"),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => {
                has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") && has!("fma")
            }
        }
    }

    /// The best one that this processor has, unless a test asks for another.
    #[inline]
    pub(crate) fn chosen() -> Self {
        #[cfg(test)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        static BEST: LazyLock<InstructionSet> = LazyLock::new(InstructionSet::best);
        *BEST
    }

    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        for set in [InstructionSet::Avx512, InstructionSet::Avx2] {
            if set.is_here() {
                return set;
            }
        }
        InstructionSet::Plain
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<InstructionSet>> = const { std::cell::Cell::new(None) };
    static RAN: std::cell::RefCell<Vec<(&'static str, InstructionSet)>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Remembers that this function ran on this thread, where an instruction set is forced.
#[cfg(test)]
pub(crate) fn record(name: &'static str) {
    if let Some(set) = FORCED.get() {
        RAN.with_borrow_mut(|ran| {
            if !ran.contains(&(name, set)) {
                ran.push((name, set))
            }
        });
    }
}

/// Fails unless this thread has run every [`dispatch!`] function of these sources with every instruction set that the
/// processor has.
#[cfg(test)]
pub(crate) fn assert_all_ran(sources: &[&str]) {
    let names = sources.iter().flat_map(|text| text.split("\ndispatch! {").skip(1));
    let names = names.filter_map(|part| Some(part.split_once("fn ")?.1.split_once('(')?.0));
    let mut missing = Vec::new();
    for name in names {
        let here = InstructionSet::ALL.iter().filter(|set| set.is_here());
        RAN.with_borrow(|ran| missing.extend(here.filter(|&&set| !ran.contains(&(name, set))).map(|set| (name, *set))));
    }
    assert!(missing.is_empty(), "not run: {missing:?}");
}

/// Runs `work` with the bodies of this instruction set on this thread; nothing where the processor lacks it.
#[cfg(test)]
pub(crate) fn forced<T>(set: InstructionSet, work: impl FnOnce() -> T) -> Option<T> {
    if !set.is_here() {
        eprintln!("skipped: this processor has no {set:?}");
        return None;
    }
    FORCED.set(Some(set));
    let result = work();
    FORCED.set(None);
    Some(result)
}

/// Defines a function whose `#[inline(always)]` body is compiled three times and picked at run time.
///
/// The body receives `FMA`, true where a fused multiply-add is one instruction. `mul_add` elsewhere would be a call
/// into the C library, thirty times slower than the two operations it replaces. A body written `body<FMA, SUMS>` also
/// receives how many running sums of a tile fit into the vector registers: two with AVX-512, one elsewhere.
macro_rules! dispatch {
    ($(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) = $body:ident) => {
        dispatch! {
            @ $(#[$meta])* fn $name($($arg: $ty),*)
            = [$body::<true>], [$body::<true>], [$body::<{ cfg!(target_arch = "aarch64") }>]
        }
    };
    ($(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) = $body:ident <FMA, SUMS>) => {
        dispatch! {
            @ $(#[$meta])* fn $name($($arg: $ty),*)
            = [$body::<true, 2>], [$body::<true, 1>], [$body::<{ cfg!(target_arch = "aarch64") }, 1>]
        }
    };
    (
        @ $(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* )
        = [$($avx512:tt)*], [$($avx2:tt)*], [$($plain:tt)*]
    ) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        pub(crate) fn $name($($arg: $ty),*) {
            #[cfg(test)]
            $crate::linalg::simd::record(stringify!($name));
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($arg: $ty),*) {
                    $($avx512)*($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $ty),*) {
                    $($avx2)*($($arg),*)
                }
                match $crate::linalg::simd::InstructionSet::chosen() {
                    // SAFETY: a set is chosen only where its features were detected.
                    $crate::linalg::simd::InstructionSet::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::linalg::simd::InstructionSet::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::linalg::simd::InstructionSet::Plain => {}
                }
            }
            // On aarch64 the baseline has FMA and 128-bit vectors.
            $($plain)*($($arg),*)
        }
    };
}

pub(crate) use dispatch;

/// Asks the processor to fetch this into its cache, which is a hint without any other effect.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and it does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// a·b + c, fused where the machine can.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
