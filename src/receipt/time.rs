//! Moments and durations, in whole milliseconds.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        let since_1970 = Duration::from_millis(self.0.unsigned_abs());
        humantime::format_rfc3339_millis(UNIX_EPOCH + since_1970).fmt(f)
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
