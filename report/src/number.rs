//! Numbers as people write them.

/// Four significant digits; very small and very large ones as `1.2·10⁻⁷`; what is not a number as `–`.
pub(crate) fn short(value: f64) -> String {
    digits(value, 4)
}

/// As [`short`], in characters every terminal has: `1.2e-7`.
pub(crate) fn plain(value: f64) -> String {
    match split(value, 4) {
        Parts::Plain(text) => text.replace('−', "-").replace('∞', "inf").replace('–', "-"),
        Parts::Power(mantissa, exponent) => format!("{}e{exponent}", mantissa.replace('−', "-")),
    }
}

/// A difference with its sign and four decimals, `+0.0125`; what would look like nothing and is not, as `-3e-6`; nothing as `0`.
pub fn difference(value: f64) -> String {
    match value {
        // Zero has no sign, and −0 would print one.
        0.0 => "0".into(),
        _ if value.abs() < 5e-5 => format!("{value:+.0e}"),
        _ => format!("{value:+.4}"),
    }
}

/// `significant` digits, trailing zeros dropped.
pub(crate) fn digits(value: f64, significant: usize) -> String {
    match split(value, significant) {
        Parts::Plain(text) => text,
        Parts::Power(mantissa, exponent) if mantissa == "1" => power_of_ten(exponent),
        Parts::Power(mantissa, exponent) => format!("{mantissa}·{}", power_of_ten(exponent)),
    }
}

/// `10⁻³`
pub(crate) fn power_of_ten(exponent: i32) -> String {
    format!("10{}", superscript(exponent))
}

/// A count, in groups of three: `12 345`.
pub(crate) fn count(value: u64) -> String {
    let text = value.to_string();
    let mut grouped = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (text.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}'); // narrow no-break space
        }
        grouped.push(digit);
    }
    grouped
}

/// `1.25 MB`: powers of a thousand.
pub(crate) fn bytes(value: f64) -> String {
    with_prefix(value, ["B", "kB", "MB", "GB", "TB", "PB"])
}

/// `10 Mbit`: powers of a thousand.
pub(crate) fn bits(value: f64) -> String {
    with_prefix(value, ["bit", "kbit", "Mbit", "Gbit", "Tbit", "Pbit"])
}

/// `12 M`: for counts where the order of magnitude matters.
pub(crate) fn magnitude(value: f64) -> String {
    with_prefix(value, ["", "k", "M", "G", "T", "P"]).trim_end().to_owned()
}

/// `820 ms`, `12.3 s`, `4 min 10 s`.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".into(),
        v if v < 1.0 => format!("{} ms", digits(v * 1e3, 3)),
        v if v < 120.0 => format!("{} s", digits(v, 3)),
        v if v < 7200.0 => format!("{} min {} s", (v / 60.0).floor(), (v % 60.0).floor()),
        v => format!("{} h {} min", (v / 3600.0).floor(), (v % 3600.0 / 60.0).floor()),
    }
}

enum Parts {
    Plain(String),
    Power(String, i32),
}

fn split(value: f64, significant: usize) -> Parts {
    if value.is_nan() {
        return Parts::Plain("–".into());
    }
    if value == 0.0 || value.is_infinite() {
        let text = if value == 0.0 { "0" } else { "∞" };
        return Parts::Plain(if value < 0.0 { format!("−{text}") } else { text.into() });
    }
    // Rounding first: 9.9999e-4 with three digits is 0.001.
    let rounded = format!("{:.*e}", significant - 1, value);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-3..5).contains(&exponent) {
        let decimals = (significant as i32 - 1 - exponent).max(0) as usize;
        return Parts::Plain(signed(&trim(&format!("{value:.decimals$}"))));
    }
    Parts::Power(signed(&trim(mantissa)), exponent)
}

fn trim(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

fn signed(text: &str) -> String {
    text.replace('-', "−")
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])).collect()
}

fn with_prefix(value: f64, units: [&str; 6]) -> String {
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 999.5 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{} {}", digits(scaled, 3), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits_and_become_powers_of_ten_at_the_ends() {
        let cases = [0.0, 1.0, 0.123456, 1234.56, 99999.0, 123456.0, 1.2e-7, -0.5, -3e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let written: Vec<_> = cases.iter().map(|&v| short(v)).collect();
        let expected = ["0", "1", "0.1235", "1235", "10⁵", "1.235·10⁵", "1.2·10⁻⁷", "−0.5", "−3·10⁻⁹", "–", "∞", "−∞"];
        assert_eq!(written, expected);
        assert_eq!([difference(0.0125), difference(-2.6e-6), difference(-0.0)], ["+0.0125", "-3e-6", "0"]);
        assert_eq!([plain(-1.25e-9), plain(f64::NAN), plain(0.25)], ["-1.25e-9", "-", "0.25"]);
    }

    #[test]
    fn amounts_carry_their_unit() {
        assert_eq!([bytes(0.0), bytes(999.0), bytes(1_234_567.0), bits(64_000.0)], ["0 B", "999 B", "1.23 MB", "64 kbit"]);
        assert_eq!([count(7), count(1234), count(1_000_000)], ["7", "1\u{202f}234", "1\u{202f}000\u{202f}000"]);
        assert_eq!([seconds(0.0123), seconds(12.34), seconds(250.0), seconds(7300.0)], ["12.3 ms", "12.3 s", "4 min 10 s", "2 h 1 min"]);
        assert_eq!([magnitude(2e7), magnitude(0.0)], ["20 M", "0"]);
    }
}
