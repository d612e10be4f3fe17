//! What a cell of a table says: a number, what people write for one, a date, or a word.

/// What stands before the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Decimal {
    #[default]
    Point,
    Comma,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Number(f64),
    /// Written as a number is, and none that can be trained on or that is read without doubt.
    Almost(Fault),
    /// A day, a time, or both.
    Date,
    Word,
}

/// Why something that looks like a number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NotFinite,
    /// `1,5` where fractions have a point.
    Comma,
    /// `1.5` where fractions have a comma.
    Point,
    /// `1,234` and `1 234 567`.
    Thousands,
    /// `12 %` and `$5`.
    Unit,
}

impl Cell {
    pub(super) fn of(text: &str, decimal: Decimal) -> Self {
        if let Some(value) = parsed(text, decimal) {
            return if value.is_finite() { Cell::Number(value) } else { Cell::Almost(Fault::NotFinite) };
        }
        if is_grouped(text) {
            return Cell::Almost(Fault::Thousands);
        }
        let other = if decimal == Decimal::Point { Decimal::Comma } else { Decimal::Point };
        if parsed(text, other).is_some() {
            return Cell::Almost(if decimal == Decimal::Point { Fault::Comma } else { Fault::Point });
        }
        let bare = text.trim_matches(|c: char| "%€$£¥".contains(c)).trim();
        if bare.len() < text.len() && (parsed(bare, Decimal::Point).is_some() || parsed(bare, Decimal::Comma).is_some() || is_grouped(bare))
        {
            return Cell::Almost(Fault::Unit);
        }
        if is_date(text) { Cell::Date } else { Cell::Word }
    }

    /// What is said of a cell that should be a number.
    pub(super) fn reproach(self) -> &'static str {
        match self {
            Cell::Number(_) => "is a number",
            Cell::Almost(Fault::NotFinite) => "is not a finite number",
            Cell::Almost(Fault::Comma) => "has a decimal comma (`decimal = \",\"` reads those)",
            Cell::Almost(Fault::Point) => "has a point, but this table has decimal commas (`decimal = \".\"` reads points)",
            Cell::Almost(Fault::Thousands) => {
                "has a thousands separator, which is not read, since 1,234 may mean two numbers (a spreadsheet can format the column without it)"
            }
            Cell::Almost(Fault::Unit) => "has a unit, which is not read",
            Cell::Date => "is a date, not a number",
            Cell::Word => "is not a number",
        }
    }
}

/// Does a fraction stand behind a comma, in a way that cannot be a thousands separator? `None` if there is no comma at all.
pub(super) fn has_comma_fraction(text: &str) -> Option<bool> {
    (text.contains(',') && parsed(text, Decimal::Comma).is_some()).then(|| !is_grouped(text))
}

/// Has it a fraction behind a point?
pub(super) fn has_point_fraction(text: &str) -> bool {
    text.contains('.') && parsed(text, Decimal::Point).is_some()
}

fn parsed(text: &str, decimal: Decimal) -> Option<f64> {
    match decimal {
        Decimal::Point => text.parse().ok(),
        // With a comma at most, and no point: `1.234,5` is something else.
        Decimal::Comma if text.contains('.') || text.matches(',').count() > 1 => None,
        Decimal::Comma => text.replace(',', ".").parse().ok(),
    }
}

/// Groups of three digits behind one to three, one kind of separator between them, perhaps a fraction behind another.
fn is_grouped(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some(separator) = digits.chars().find(|c| !c.is_ascii_digit()).filter(|c| ",. '_’\u{a0}\u{202f}\u{2009}".contains(*c)) else {
        return false;
    };
    let mut parts: Vec<&str> = digits.split(separator).collect();
    let last = parts.pop().unwrap_or_default();
    let (last, fraction) = last.split_once([',', '.']).unwrap_or((last, ""));
    let whole = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    // A single group behind a point is a plain number; who reads commas asks before.
    whole(parts[0], 1..=3) && parts[1..].iter().chain([&last]).all(|part| whole(part, 3..=3)) && whole(fraction, 0..=usize::MAX)
}

/// 2024-01-31, 31.1.2024, 1/31/24, with a time or without, or a time alone; 31 Jan 2024, January 31, 2024 and the like.
fn is_date(text: &str) -> bool {
    if has_named_month(text) {
        return true;
    }
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (Some(day), Some(time)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    day.is_none_or(is_day) && time.is_none_or(is_time)
}

fn is_day(text: &str) -> bool {
    let Some(separator) = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| "-/.".contains(*c)) else { return false };
    let parts: Vec<&str> = text.split(separator).collect();
    let [a, b, c] = parts[..] else { return false };
    let part = |text: &str, most: u32| {
        (1..=2).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_digit())
            && text.parse().is_ok_and(|n: u32| (1..=most).contains(&n))
    };
    let year = |text: &str, short: bool| (text.len() == 4 || short && text.len() == 2) && text.bytes().all(|b| b.is_ascii_digit());
    (year(a, false) && part(b, 12) && part(c, 31)) || (part(a, 31) && part(b, 31) && year(c, true))
}

/// The name of a month with a year, or with a day and a year of two digits.
fn has_named_month(text: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
    let is_month = |part: &str| {
        let part = part.to_ascii_lowercase();
        part == "sept" || MONTHS.iter().any(|month| part == *month || part.len() == 3 && month.starts_with(&part))
    };
    if text.len() > 30 {
        return false;
    }
    let parts: Vec<&str> = text.split([' ', '-', '/', '.', ',']).filter(|part| !part.is_empty()).collect();
    let (months, numbers): (Vec<&str>, Vec<&str>) = parts.into_iter().partition(|part| is_month(part));
    let digits = |part: &&str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let years = numbers.iter().filter(|part| digits(part, 4..=4)).count();
    let short = numbers.iter().filter(|part| digits(part, 1..=2)).count();
    months.len() == 1 && years + short == numbers.len() && matches!((years, short), (1, 0 | 1) | (0, 2))
}

fn is_time(text: &str) -> bool {
    // Behind the minutes may be seconds, fractions and a zone.
    let (hours, rest) = text.split_once(':').unwrap_or_default();
    let two = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    two(hours) && rest.get(..2).is_some_and(two) && rest.bytes().skip(2).all(|b| b.is_ascii_digit() || b":.,+-Z APMapm".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_people_mean_by_them() {
        use Cell::{Almost, Date, Number, Word};
        use Fault::{Comma, NotFinite, Point, Thousands, Unit};
        for (text, by_point, by_comma) in [
            ("1.5", Number(1.5), Almost(Point)),
            ("1,5", Almost(Comma), Number(1.5)),
            ("-3e2", Number(-300.0), Number(-300.0)),
            ("1.234", Number(1.234), Almost(Thousands)),
            ("1,234", Almost(Thousands), Number(1.234)),
            ("1,234,567", Almost(Thousands), Almost(Thousands)),
            ("1.234.567", Almost(Thousands), Almost(Thousands)),
            ("1.234,5", Almost(Thousands), Almost(Thousands)),
            ("1,234.5", Almost(Thousands), Almost(Thousands)),
            ("-12 345", Almost(Thousands), Almost(Thousands)),
            ("12'345", Almost(Thousands), Almost(Thousands)),
            ("inf", Almost(NotFinite), Almost(NotFinite)),
            ("1e999", Almost(NotFinite), Almost(NotFinite)),
            ("45 %", Almost(Unit), Almost(Unit)),
            ("$5.20", Almost(Unit), Almost(Unit)),
            ("1.2.3", Word, Word),
            ("12 34", Word, Word),
            ("%", Word, Word),
            ("red", Word, Word),
            ("", Word, Word),
            ("2024-01-31", Date, Date),
            ("31.01.2024", Date, Date),
            ("1/31/24", Date, Date),
            ("2024-01-31T08:15:00Z", Date, Date),
            ("31.1.2024 8:15", Date, Date),
            ("08:15", Date, Date),
            ("1 Jan 2020", Date, Date),
            ("January 31, 2024", Date, Date),
            ("31-MAY-24", Date, Date),
            ("Sept 2024", Date, Date),
            ("may", Word, Word),
            ("May 5", Word, Word),
            ("mart 2020", Word, Word),
            ("2020", Number(2020.0), Number(2020.0)),
            ("2024-13-31", Word, Word),
        ] {
            assert_eq!((Cell::of(text, Decimal::Point), Cell::of(text, Decimal::Comma)), (by_point, by_comma), "{text}");
        }
    }
}
