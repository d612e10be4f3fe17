//! Loops compiled a second time for the vector width of the machine.

/// Declares functions that run as the machine can do them best.
///
/// The body is compiled twice, as it is and for AVX2, and always inlined into both: a closure handed to a function with
/// the wide registers would be left out of it as soon as it is long. Nothing in it is fused, so that the bits are the same
/// on every machine.
#[macro_export]
macro_rules! fast {
    ($($(#[$about:meta])* $seen:vis fn $name:ident$(<$($e:ident: $bound:path),+>)?($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$about])*
        #[allow(unsafe_code)] // one call, justified below
        $seen fn $name$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? {
            #[inline(always)]
            fn as_it_is$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn with_avx2$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? {
                as_it_is($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2, which is all that the function asks for.
                return unsafe { with_avx2($($arg),*) };
            }
            as_it_is($($arg),*)
        }
    )*};
}
