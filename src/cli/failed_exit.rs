//! `--failed-exit`: the exit codes by which a command says that nothing happened.

use std::ops::RangeInclusive;

/// The codes a command can say it with; 0 is success.
const CODES: RangeInclusive<u8> = 1..=255;

/// Exit codes that prove that the effect did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedExit(Vec<RangeInclusive<u8>>);

impl FailedExit {
    /// Reads `1,64-78` or `any`.
    pub(crate) fn parse(text: &str) -> Result<FailedExit, &'static str> {
        if text == "any" {
            return Ok(FailedExit(vec![CODES]));
        }
        text.split(',')
            .map(range)
            .collect::<Option<_>>()
            .map(FailedExit)
            .ok_or(
                "must be exit codes from 1 to 255, ranges upwards, as in 1,64-78, or the word any",
            )
    }

    /// Whether this code is one of them.
    pub(crate) fn contains(&self, code: i32) -> bool {
        u8::try_from(code).is_ok_and(|code| self.0.iter().any(|range| range.contains(&code)))
    }
}

fn range(text: &str) -> Option<RangeInclusive<u8>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (code(first)?, code(last)?);
    (first <= last).then_some(first..=last)
}

fn code(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let code = if digits { text.parse().ok() } else { None };
    code.filter(|code| CODES.contains(code))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_and_0_is_never_a_failure() {
        let codes = FailedExit::parse("1,64-78,255").unwrap();
        let said: Vec<i32> = (-1..300).filter(|code| codes.contains(*code)).collect();
        let expected: Vec<i32> = [1].into_iter().chain(64..=78).chain([255]).collect();
        assert_eq!(said, expected);
        let any = FailedExit::parse("any").unwrap();
        assert_eq!((0..300).filter(|code| any.contains(*code)).count(), 255);
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "", ",", "1,", "0", "0-5", "256", "78-64", "1-", "-1", "1-2-3", "+1", " 1", "any,1",
            "ANY", "1e1",
        ] {
            assert!(FailedExit::parse(text).is_err(), "{text}");
        }
    }
}
