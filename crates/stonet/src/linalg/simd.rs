//! Run-time choice of instruction set: one body, compiled for AVX-512, AVX2 and the plain target.

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
/// The body receives `FMA`, true where a fused multiply-add is one instruction. `mul_add` elsewhere would be a call into
/// the C library, thirty times slower than the two operations it replaces.
macro_rules! dispatch {
    ($(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) = $body:ident) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        pub(crate) fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($arg: $ty),*) {
                    $body::<true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $ty),*) {
                    $body::<true>($($arg),*)
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
            $body::<{ cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}

pub(crate) use dispatch;

/// a·b + c, fused where the machine can.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
