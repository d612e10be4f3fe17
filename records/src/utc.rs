//! Moments in UTC, to the second, as RFC 3339 writes them: `2026-11-18T01:12:00Z`.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Seconds since 1970-01-01T00:00:00Z, without leap seconds. Never part of what must be equal between runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Utc(u64);

/// The last second of the year 9999: later ones cannot be written with four digits.
const LAST: u64 = 253_402_300_799;
const DAY: u64 = 86_400;

impl Utc {
    /// What the machine's clock says. A clock before 1970 says 1970.
    pub fn now() -> Self {
        Self::from_seconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// The time this many seconds after the beginning of 1970, at most the end of the year 9999.
    pub fn from_seconds(seconds: u64) -> Self {
        Self(seconds.min(LAST))
    }

    /// Seconds since the beginning of 1970.
    pub fn seconds(self) -> u64 {
        self.0
    }
}

/// Year, month and day of a day counted from 1970-01-01. The year is taken to begin in March: the leap day is then its last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153; // 0 is March
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

/// The day, counted from 1970-01-01, of a date from 1970 on.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let (era, year) = (year / 400, year % 400);
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), rest) = (civil(self.0 / DAY), self.0 % DAY);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
    }
}

/// A text that is not a time in UTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a time such as 2026-11-18T01:12:00Z")]
pub struct NotATime(String);

impl FromStr for Utc {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let part = |range: std::ops::Range<usize>| text.get(range).filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse::<u64>().ok();
        let read = || {
            let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
            let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
            let possible = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
            possible.then(|| Utc(days(year, month, day) * DAY + hour * 3600 + minute * 60 + second))
        };
        // Whatever is not written back in the same way was no time: 31 February, other separators, other zones.
        read().filter(|utc| utc.to_string() == text).ok_or_else(|| NotATime(text.chars().take(40).collect()))
    }
}

impl From<Utc> for String {
    fn from(utc: Utc) -> Self {
        utc.to_string()
    }
}

impl TryFrom<String> for Utc {
    type Error = NotATime;

    fn try_from(text: String) -> Result<Self, NotATime> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_as_everybody_writes_them() {
        // By `date -u -d @SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Utc(seconds).to_string(), text);
            assert_eq!(text.parse(), Ok(Utc(seconds)));
        }
    }

    #[test]
    fn every_day_comes_back_and_follows_the_one_before() {
        for day in 0..=LAST / DAY {
            let (y, m, d) = civil(day);
            assert_eq!(days(y, m, d), day);
            assert!(day == 0 || civil(day - 1) < (y, m, d));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "yesterday", "2026-02-30T00:00:00Z", "2026-11-18 01:12:00Z", "2026-11-18T01:12:00+01:00", "1969-12-31T23:59:59Z", "äöü"]
        {
            assert!(text.parse::<Utc>().is_err(), "{text}");
        }
    }
}
