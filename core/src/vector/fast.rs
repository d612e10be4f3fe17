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
                // SAFETY: the processor has AVX2, which is all that the function asks for: its body is safe code.
                return unsafe { with_avx2($($arg),*) };
            }
            as_it_is($($arg),*)
        }
    )*};
}

#[cfg(test)]
mod tests {
    trait Real: Copy + Into<f64> {}
    impl Real for f32 {}

    fast! {
        /// A sum in order and a loop that the compiler makes wide.
        fn scaled_sum<T: Real>(x: &[T], scale: f64, out: &mut [f64]) -> f64 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = scale * (*x).into() + 0.1);
            out.iter().sum()
        }

        fn nothing() {}
    }

    #[test]
    fn a_fast_loop_has_the_bits_of_the_plain_one_at_every_length() {
        nothing();
        for len in 0..70u16 {
            let x: Vec<f32> = (0..len).map(|k| f32::from(k).sin()).collect();
            let (mut fast, mut plain) = (vec![0.0; x.len()], Vec::new());
            let sum = scaled_sum(&x, 1.0 / 3.0, &mut fast);
            for x in &x {
                plain.push(std::hint::black_box(1.0 / 3.0) * f64::from(*x) + 0.1);
            }
            assert_eq!((fast, sum.to_bits()), (plain.clone(), plain.iter().sum::<f64>().to_bits()), "length {len}");
        }
    }
}
