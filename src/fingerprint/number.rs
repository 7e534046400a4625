//! Whether a JSON number keeps its value in canonical form, where every number is a double written in the shortest way.
//!
//! The test is exact and decimal: the literal and what would be written for it are compared digit by digit, so nothing is
//! taken on trust from a rounding. `9007199254740993` is refused because `9007199254740992` would stand for it.

#[cfg(test)]
mod tests;

/// The double that the canonical form writes for `literal`, a number by JSON's grammar; none if that would be another
/// value.
pub(super) fn exact(literal: &str) -> Option<f64> {
    // Most numbers are integers that any double holds: these need no proof.
    if literal.len() <= 15 && literal.bytes().all(|byte| byte.is_ascii_digit()) {
        return literal.parse().ok();
    }
    let decimal = Decimal::of(literal);
    let number = decimal.nearest_double();
    let written = serde_json_canonicalizer::to_string(&number).ok()?;
    (decimal == Decimal::of(&written)).then_some(number)
}

/// What a literal says, so that equal values are equal: 0.DIGITS × 10^`point`, with neither leading nor trailing zeros
/// among the digits; zero has no digits, no sign and `point` 0.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    fn of(literal: &str) -> Self {
        let unsigned = literal.trim_start_matches('-');
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Self {
                negative: false,
                digits: String::new(),
                point: 0,
            };
        }

        // An exponent or a length beyond 64 bits stays at the end of the range: no double is anywhere near it.
        let saturated = if exponent.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        let exponent = exponent.parse().unwrap_or(saturated);
        let leading_zeros = digits.len() - significant.len();
        let length = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
        Self {
            negative: literal.starts_with('-'),
            digits: significant.trim_end_matches('0').to_owned(),
            point: exponent
                .saturating_add(length(whole.len()))
                .saturating_sub(length(leading_zeros)),
        }
    }

    /// The nearest double; infinite beyond the largest.
    fn nearest_double(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // Not from the literal: a parser may give up on an exponent that its own zeros take back ("0.00…01e99…").
        format!("{sign}0.{}e{}", self.digits, self.point)
            .parse()
            .unwrap_or(f64::NAN)
    }
}
