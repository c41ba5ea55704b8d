//! Run-time choice of instruction set: one body, compiled for AVX-512, AVX2 and the plain target.

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
                use std::arch::is_x86_feature_detected as has;
                if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") && has!("fma") {
                    // SAFETY: the features were just detected.
                    return unsafe { avx512($($arg),*) };
                }
                if has!("avx2") && has!("fma") {
                    // SAFETY: the features were just detected.
                    return unsafe { avx2($($arg),*) };
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
