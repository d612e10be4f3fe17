//! Loops compiled a second time for the vector width of the machine. One of the three files of this crate with `unsafe` code.
#![allow(unsafe_code)]

/// Runs a loop as the machine can do it best.
///
/// The loop must be inlined here to gain anything: pass a closure used once, over `#[inline(always)]` functions. Nothing
/// in it is fused, so that the bits are the same on every machine.
#[inline(always)]
pub fn fast<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that the function asks for.
        return unsafe { wide(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide<R>(work: impl FnOnce() -> R) -> R {
    work()
}
