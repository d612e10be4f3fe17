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

/// Declares functions as [`fast!`] does, compiled a third time for AVX-512: for loops over exponentials, where a processor
/// that can work on twice as many numbers at once is 1.6 times as fast. The bits are the same again.
#[macro_export]
macro_rules! fastest {
    ($($(#[$about:meta])* $seen:vis fn $name:ident$(<$($e:ident: $bound:path),+>)?($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$about])*
        #[allow(unsafe_code)] // one call, justified below
        $seen fn $name$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? {
            $crate::fast! {
                fn with_less$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn with_avx512$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? {
                #[inline(always)]
                fn as_it_is$(<$($e: $bound),+>)?($($arg: $kind),*) $(-> $result)? $body
                as_it_is($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vl")
            {
                // SAFETY: the processor has what the function asks for, and its body is safe code.
                return unsafe { with_avx512($($arg),*) };
            }
            with_less($($arg),*)
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

    fastest! {
        /// The same, wider.
        fn scaled_sum_wide<T: Real>(x: &[T], scale: f64, out: &mut [f64]) -> f64 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = scale * (*x).into() + 0.1);
            out.iter().sum()
        }
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
            let expected = (plain.clone(), plain.iter().sum::<f64>().to_bits());
            assert_eq!((fast, sum.to_bits()), expected, "length {len}");
            let mut wide = vec![0.0; x.len()];
            let sum = scaled_sum_wide(&x, 1.0 / 3.0, &mut wide);
            assert_eq!((wide, sum.to_bits()), expected, "length {len}");
        }
    }
}
