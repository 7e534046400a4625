//! Moments and durations, in whole milliseconds.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest duration taken, in milliseconds: 1,000 years of 365 days, so that any moment plus a duration can be written.
pub const LONGEST_MS: i64 = 1_000 * 365 * 24 * 60 * 60 * 1_000;

/// 9999-12-31T23:59:59.999Z, the last moment RFC 3339 can write.
const LAST_MS: i64 = 253_402_300_799_999;

/// A moment: milliseconds since 1970-01-01T00:00:00Z, at most the end of the year 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment that many milliseconds after 1970, if RFC 3339 can write it.
    pub fn from_ms(ms: i64) -> Option<Timestamp> {
        (0..=LAST_MS).contains(&ms).then_some(Timestamp(ms))
    }

    /// The system's wall clock; a clock outside 1970 to 9999 reads as the nearer end.
    pub fn from_system(time: SystemTime) -> Timestamp {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(
            i64::try_from(since_1970.as_millis())
                .unwrap_or(LAST_MS)
                .min(LAST_MS),
        )
    }

    /// Parses an RFC 3339 moment in UTC, to the millisecond.
    pub fn parse(text: &str) -> Option<Timestamp> {
        // One Z, at the end: the parser underneath takes more than that.
        if text.find('Z').map(|index| index + 1) != Some(text.len()) {
            return None;
        }
        humantime::parse_rfc3339(text)
            .ok()
            .map(Timestamp::from_system)
    }

    /// Parses an RFC 3339 moment in UTC (`Z`) or with an offset (`+01:00`), to the millisecond.
    pub fn parse_with_offset(text: &str) -> Option<Timestamp> {
        let Some((local, [sign, h1, h2, b':', m1, m2])) = text.as_bytes().split_last_chunk() else {
            return Timestamp::parse(text);
        };
        let sign = match sign {
            b'+' => 1,
            b'-' => -1,
            _ => return Timestamp::parse(text),
        };
        let number = |tens: &u8, ones: &u8| {
            let both =
                [*tens, *ones].map(|digit| digit.is_ascii_digit().then(|| i64::from(digit - b'0')));
            Some(both[0]? * 10 + both[1]?)
        };
        let (hours, minutes) = (number(h1, h2)?, number(m1, m2)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let local = Timestamp::parse(&format!("{}Z", std::str::from_utf8(local).ok()?))?;
        Timestamp::from_ms(local.0 - sign * (hours * 60 + minutes) * 60_000)
    }

    /// `2026-11-29T21:36:34.123Z`. By hand, for the sake of those who write a million: the year is counted from
    /// March, so that the leap day is its last (Howard Hinnant, "chrono-compatible low-level date algorithms").
    fn rfc3339(self) -> [u8; 24] {
        let ms = self.0.unsigned_abs();
        let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
        // From 0000-03-01; 1970-01-01 is 719,468 days later. An era of 400 years has 146,097 days.
        let day = days + 719_468;
        let (era, of_era) = (day / 146_097, day % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, digits: usize, mut number: u64| {
            for place in text[at..at + digits].iter_mut().rev() {
                *place = b"0123456789"[usize::try_from(number % 10).unwrap_or(0)];
                number /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, of_year - (153 * from_march + 2) / 5 + 1);
        put(11, 2, of_day / 3_600_000);
        put(14, 2, of_day / 60_000 % 60);
        put(17, 2, of_day / 1_000 % 60);
        put(20, 3, of_day % 1_000);
        text
    }

    /// Milliseconds since 1970.
    pub fn as_ms(self) -> i64 {
        self.0
    }

    /// This moment and `ms` milliseconds more, at most the end of the year 9999.
    pub fn plus_ms(self, ms: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms).clamp(0, LAST_MS))
    }

    /// Milliseconds from `earlier` to this moment; negative when it is not earlier.
    pub fn ms_since(self, earlier: Timestamp) -> i64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, UTC, milliseconds: `2026-11-29T21:36:34.123Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.rfc3339()).map_err(|_| fmt::Error)?)
    }
}

/// Why a duration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form `500ms`, `30s`, `1h30m`.
    #[error(
        "is not a duration; write numbers with units (ms, s, m, h, d, w), as in 500ms, 30s or 1h30m"
    )]
    Form,
    /// A number without a unit.
    #[error("has a number without a unit; write 30s, 5m or 24h")]
    NoUnit,
    /// Longer than [`LONGEST_MS`].
    #[error("is too long; at most 365000d can be written")]
    TooLong,
    /// Zero where zero has no meaning.
    #[error("is zero, which has no meaning here")]
    Zero,
}

/// Reads `500ms`, `30s`, `5m`, `24h`, `7d`, `2w`, or several together (`1h30m`), into milliseconds (0 to [`LONGEST_MS`]).
///
/// # Errors
/// [`DurationError`] for any other form, a bare number, and what overflows.
pub fn duration_ms(text: &str) -> Result<i64, DurationError> {
    let mut rest = text;
    if rest.is_empty() {
        return Err(DurationError::Form);
    }
    while !rest.is_empty() {
        let after_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if after_digits.len() == rest.len() {
            return Err(DurationError::Form);
        }
        if after_digits.is_empty() {
            return Err(DurationError::NoUnit);
        }
        rest = after_digits.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let unit = &after_digits[..after_digits.len() - rest.len()];
        if !["ms", "s", "m", "h", "d", "w"].contains(&unit) {
            return Err(DurationError::Form);
        }
    }
    let duration = humantime::parse_duration(text).map_err(|_| DurationError::TooLong)?;
    match i64::try_from(duration.as_millis()) {
        Ok(ms) if ms <= LONGEST_MS => Ok(ms),
        Ok(_) | Err(_) => Err(DurationError::TooLong),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("2w", 1_209_600_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
            ("365000d", LONGEST_MS),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "", " ", "s", "1.5h", "-1s", "+1s", "1 s", "1s ", "1y", "1month", "1S", "1us",
            "1h 30m", "h1", "١s",
        ] {
            assert_eq!(duration_ms(text), Err(DurationError::Form), "{text}");
        }
        for text in ["5", "0", "1h30"] {
            assert_eq!(duration_ms(text), Err(DurationError::NoUnit), "{text}");
        }
        for text in [
            "18446744073709551615s",
            "99999999999999999999999ms",
            "365001d",
            "18446744073709551616ms",
        ] {
            assert_eq!(duration_ms(text), Err(DurationError::TooLong), "{text}");
        }
    }

    #[test]
    fn moments_are_written_in_utc_with_milliseconds_and_read_back() {
        let moment = Timestamp::from_ms(1_796_000_000_123).unwrap();
        assert_eq!(moment.to_string(), "2026-11-30T00:53:20.123Z");
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(
            Timestamp::from_ms(LAST_MS).unwrap().to_string(),
            "9999-12-31T23:59:59.999Z"
        );
        assert_eq!(Timestamp::from_ms(LAST_MS + 1), None);
        assert_eq!(Timestamp::from_ms(-1), None);
    }

    #[test]
    fn moments_are_written_as_humantime_writes_them() {
        let day = 86_400_000;
        let of_each_day = (0..LAST_MS).step_by(usize::try_from(day * 11 + 12_345_678).unwrap());
        let around_leap_days = [
            68_169_599_999,
            951_782_399_999,
            951_868_800_000,
            4_107_542_399_999,
            13_574_563_200_000,
        ];
        for ms in of_each_day.chain(around_leap_days).chain([0, LAST_MS]) {
            let moment = UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs());
            let written = humantime::format_rfc3339_millis(moment).to_string();
            assert_eq!(Timestamp(ms).to_string(), written);
        }
    }

    #[test]
    fn a_moment_may_have_an_offset() {
        let utc = Timestamp::parse("2026-11-30T00:53:20.123Z");
        assert!(utc.is_some());
        for same in [
            "2026-11-30T00:53:20.123Z",
            "2026-11-30T00:53:20.123+00:00",
            "2026-11-30T00:53:20.123-00:00",
            "2026-11-30T02:23:20.123+01:30",
            "2026-11-29T23:53:20.123-01:00",
        ] {
            assert_eq!(Timestamp::parse_with_offset(same), utc, "{same}");
        }
        for wrong in [
            "",
            "+01:00",
            "2026-11-30",
            "2026-11-30T00:53:20",
            "2026-11-30T00:53:20Z+01:00",
            "2026-11-30T00:53:20+0100",
            "2026-11-30T00:53:20+24:00",
            "2026-11-30T00:53:20+01:60",
            "2026-11-30T00:53:20+aa:00",
            "1970-01-01T00:00:00+01:00",
        ] {
            assert_eq!(Timestamp::parse_with_offset(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_clock_before_1970_or_past_9999_reads_as_the_nearer_end() {
        assert_eq!(
            Timestamp::from_system(UNIX_EPOCH - Duration::from_secs(1)).as_ms(),
            0
        );
        assert_eq!(Timestamp(LAST_MS).plus_ms(LONGEST_MS).as_ms(), LAST_MS);
    }
}
