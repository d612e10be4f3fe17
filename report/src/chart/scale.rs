//! Values → places on an axis, and where its ticks go.

use crate::number;

/// Where log scales end: below are rounding errors of numbers of size one.
pub(crate) const LEAST: f64 = 1e-16;

/// An axis: places run from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    /// Linear, with ticks at whole numbers only.
    Counted,
    Log,
    /// Logarithmic from here on; 0 stands by itself at the left end.
    LogAndZero(f64),
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// 0 to 1.
    pub(crate) place: f64,
    /// Minor ticks have none.
    pub(crate) label: Option<String>,
}

impl Scale {
    /// From the least to the largest value, exactly.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        let (low, high) = apart(low, high);
        Self { kind: Kind::Linear, low, high }
    }

    /// For things that are counted: no tick stands between two of them.
    pub(crate) fn counted(low: f64, high: f64) -> Self {
        Self { kind: Kind::Counted, ..Self::linear(low, high) }
    }

    /// Widened to the next ticks.
    pub(crate) fn linear_to_ticks(low: f64, high: f64) -> Self {
        let (low, high) = apart(low, high);
        let step = step(high - low);
        Self { kind: Kind::Linear, low: (low / step).floor() * step, high: (high / step).ceil() * step }
    }

    /// From the least to the largest positive value, widened to powers of ten where there are several.
    pub(crate) fn log(low: f64, high: f64) -> Self {
        let low = if low > LEAST { low } else { LEAST };
        let high = if high > low { high } else { low };
        let (a, b) = (low.log10(), high.log10());
        // A thousandth of slack: 1.0001e-3 should not open another decade.
        let (a, b) = if b - a > 1.5 { ((a + 1e-3).floor(), (b - 1e-3).ceil()) } else { (a - 0.08, b + 0.08) };
        // Wide enough for two labels.
        let lack = (0.7 - (b - a)).max(0.0) / 2.0;
        Self { kind: Kind::Log, low: a - lack, high: b + lack }
    }

    /// Logarithmic for positive values, with a place of its own for zero.
    pub(crate) fn log_and_zero(low: f64, high: f64) -> Self {
        let (a, b) = (low.log10(), high.log10());
        Self { kind: Kind::LogAndZero(a), low: a - (0.25 * (b - a)).clamp(0.5, 1.0), high: b.max(a + 0.1) }
    }

    /// 0 at the low end, 1 at the high end; beyond them outside. None for what has no place, like 0 on a log axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let value = match self.kind {
            Kind::Linear | Kind::Counted => value,
            Kind::LogAndZero(_) if value == 0.0 => self.low,
            Kind::Log | Kind::LogAndZero(_) => (value > LEAST).then(|| value.log10())?,
        };
        let place = (value - self.low) / (self.high - self.low);
        place.is_finite().then_some(place)
    }

    /// For the page's script: kind and ends.
    pub(crate) fn describe(&self) -> String {
        let kind = match self.kind {
            Kind::Linear | Kind::Counted => "linear",
            Kind::Log => "log",
            Kind::LogAndZero(_) => "zero",
        };
        format!("{kind} {} {}", self.low, self.high)
    }

    /// From low to high.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        match self.kind {
            Kind::Linear | Kind::Counted => self.linear_ticks(),
            Kind::Log => self.log_ticks(self.low),
            Kind::LogAndZero(from) => {
                let mut ticks = vec![Tick { place: 0.0, label: Some("0".into()) }];
                ticks.extend(self.log_ticks(from));
                ticks
            }
        }
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let step = step(self.high - self.low);
        let step = if self.kind == Kind::Counted { step.max(1.0).ceil() } else { step };
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        let largest = self.low.abs().max(self.high.abs());
        let label = |value: f64| match largest {
            l if l >= 1e4 => number::magnitude(value),
            l if l < 1e-3 => number::digits(value, 3),
            _ => format!("{value:.*}", (-(step * 1.0001).log10().floor()).max(0.0) as usize + usize::from(step < 10.0 && is_quarter(step)))
                .replace('-', "−"),
        };
        (first..=last)
            .map(|k| (k as f64 * step, self))
            .map(|(v, s)| Tick { place: (v - s.low) / (s.high - s.low), label: Some(label(v)) })
            .collect()
    }

    fn log_ticks(&self, from: f64) -> Vec<Tick> {
        let decades = self.high - from;
        let every = ((decades / 9.0).ceil() as i32).max(1);
        let place = |exponent: f64| (exponent - self.low) / (self.high - self.low);
        let inside = |exponent: f64| (from - 1e-9..=self.high + 1e-9).contains(&exponent);
        let mut ticks = vec![];
        for exponent in from.floor() as i32..=self.high.ceil() as i32 {
            if inside(f64::from(exponent)) {
                let label = (exponent % every == 0).then(|| power(exponent));
                ticks.push(Tick { place: place(f64::from(exponent)), label });
            }
            if decades > 8.0 {
                continue; // nine minor ticks a decade would be a grey band
            }
            for leading in 2..10u32 {
                let at = f64::from(exponent) + f64::from(leading).log10();
                // Few decades: one label would not tell the scale.
                let named = decades < 0.7 || (decades < 2.0 && matches!(leading, 2 | 5));
                let label = named.then(|| number::digits(f64::from(leading) * 10f64.powi(exponent), 3));
                if inside(at) {
                    ticks.push(Tick { place: place(at), label });
                }
            }
        }
        ticks
    }
}

/// 0.1, 1 and 10 are clearer than their powers.
fn power(exponent: i32) -> String {
    match exponent {
        -1 => "0.1".into(),
        0 => "1".into(),
        1 => "10".into(),
        e => number::power_of_ten(e),
    }
}

/// About six steps of 1, 2, 2.5 or 5 times a power of ten.
fn step(range: f64) -> f64 {
    let rough = range / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|f| f * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

/// Is the step 2.5 · 10ᵏ, which needs one more decimal than its power of ten?
fn is_quarter(step: f64) -> bool {
    let mantissa = step / 10f64.powf(step.log10().floor());
    (mantissa - 2.5).abs() < 0.01
}

/// Two ends with something in between, whatever was given.
fn apart(low: f64, high: f64) -> (f64, f64) {
    // Rounding to ticks must not overflow.
    let (low, high) = (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300));
    match (low.is_finite(), high.is_finite()) {
        (true, true) if high - low > 1e-12 * low.abs().max(high.abs()) => (low, high),
        (true, true) if low != 0.0 => (low - 0.1 * low.abs(), low + 0.1 * low.abs()),
        _ => (0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(labels(Scale::linear(0.0, 200.0)), ["0", "50", "100", "150", "200"]);
        assert_eq!(labels(Scale::linear(0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::linear(0.0, 1.3e7)), ["0", "2.5 M", "5 M", "7.5 M", "10 M", "12.5 M"]);
        assert_eq!(labels(Scale::linear(0.0, 1500.0)), ["0", "250", "500", "750", "1000", "1250", "1500"]);
        assert_eq!(labels(Scale::counted(1.0, 4.0)), ["1", "2", "3", "4"]);
        assert_eq!(labels(Scale::linear_to_ticks(0.31, 0.42)), ["0.30", "0.32", "0.34", "0.36", "0.38", "0.40", "0.42"]);
        assert_eq!(labels(Scale::linear(-1.0, 0.5)), ["−1.00", "−0.75", "−0.50", "−0.25", "0.00", "0.25", "0.50"]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten_thinned_out_when_there_are_many() {
        assert_eq!(labels(Scale::log(2e-3, 30.0)), ["10⁻³", "10⁻²", "0.1", "1", "10", "10²"]);
        assert_eq!(labels(Scale::log(1e-14, 1.0)), ["10⁻¹⁴", "10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]);
        assert_eq!(labels(Scale::log(0.2, 0.9)), ["0.2", "0.5", "1"]);
        assert_eq!(labels(Scale::log_and_zero(1e-3, 1.0)), ["0", "10⁻³", "10⁻²", "0.1", "1"]);
    }

    #[test]
    fn what_cannot_be_placed_has_no_place() {
        let log = Scale::log(1e-10, 1.0);
        assert_eq!([log.place(0.0), log.place(-1.0), log.place(f64::NAN), log.place(f64::INFINITY), log.place(1e-17)], [None; 5]);
        assert_eq!([log.place(1e-10), log.place(1.0)], [Some(0.0), Some(1.0)]);
        assert_eq!(Scale::log_and_zero(1e-3, 1.0).place(0.0), Some(0.0));
    }

    #[test]
    fn an_axis_without_extent_is_given_one() {
        for scale in
            [Scale::linear(2.0, 2.0), Scale::linear(0.0, 0.0), Scale::linear(f64::NAN, 1.0), Scale::log(0.0, 0.0), Scale::log(3.0, 3.0)]
        {
            assert!(scale.ticks().len() >= 2 && scale.ticks().iter().all(|t| t.place.is_finite()), "{scale:?}");
        }
        for scale in [Scale::linear_to_ticks(-f64::MAX, f64::MAX), Scale::linear_to_ticks(-1.6e308, -1.6e308)] {
            let ticks = scale.ticks();
            assert!((2..20).contains(&ticks.len()) && ticks.iter().all(|t| t.place.is_finite()), "{scale:?}");
        }
    }
}
