//! Amounts of money: exact decimals with a currency, kept as given.

use std::fmt;

/// Longest amount in bytes: more digits than any currency's total supply in its smallest unit.
const AMOUNT_BYTES_MAX: usize = 40;
/// Currency codes are 3 to 8 characters: ISO 4217 and the longer ones of digital currencies.
const CURRENCY_BYTES: std::ops::RangeInclusive<usize> = 3..=8;

/// A decimal number and its currency, as the caller wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    value: String,
    currency: String,
}

/// Why an amount or a currency was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a plain decimal.
    #[error(
        "is not a plain decimal number such as 12.50 (at most {AMOUNT_BYTES_MAX} characters, no exponent)"
    )]
    Value,
    /// Not a currency code.
    #[error("is not a currency code such as EUR (3 to 8 of A-Z and 0-9, a letter first)")]
    Currency,
}

impl Amount {
    /// Joins a value and a currency code.
    ///
    /// # Errors
    /// [`AmountError`] says which of the two is not what it should be.
    pub fn parse(value: &str, currency: &str) -> Result<Amount, AmountError> {
        Amount::check_value(value)?;
        Amount::check_currency(currency)?;
        Ok(Amount {
            value: value.to_owned(),
            currency: currency.to_owned(),
        })
    }

    /// Checks a decimal: an optional `-`, digits, and optionally a point with digits behind it.
    ///
    /// # Errors
    /// [`AmountError::Value`].
    pub fn check_value(value: &str) -> Result<(), AmountError> {
        let unsigned = value.strip_prefix('-').unwrap_or(value);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if value.len() <= AMOUNT_BYTES_MAX && digits(whole) && digits(fraction) {
            Ok(())
        } else {
            Err(AmountError::Value)
        }
    }

    /// Checks a currency code.
    ///
    /// # Errors
    /// [`AmountError::Currency`].
    pub fn check_currency(currency: &str) -> Result<(), AmountError> {
        let bytes = currency.as_bytes();
        let letters = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        if CURRENCY_BYTES.contains(&bytes.len())
            && bytes[0].is_ascii_uppercase()
            && bytes.iter().all(letters)
        {
            Ok(())
        } else {
            Err(AmountError::Currency)
        }
    }

    /// The decimal as given.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The currency code.
    pub fn currency(&self) -> &str {
        &self.currency
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value, self.currency)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn plain_decimals_are_kept_as_given() {
        for value in [
            "0",
            "12.50",
            "-3",
            "00042",
            "10.0",
            "123456789012345678901234567890.123456",
        ] {
            assert_eq!(Amount::parse(value, "EUR").unwrap().value(), value);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for value in [
            "",
            "-",
            ".",
            "1.",
            ".5",
            "1e3",
            "+1",
            "1,5",
            " 1",
            "1 ",
            "--1",
            "0x1",
            "NaN",
            "١",
            &"1".repeat(41),
        ] {
            assert_eq!(
                Amount::parse(value, "EUR"),
                Err(AmountError::Value),
                "{value}"
            );
        }
        for currency in ["", "EU", "eur", "EURO_", "3UR", "TOOLONGXX", "€€€"] {
            assert_eq!(
                Amount::parse("1", currency),
                Err(AmountError::Currency),
                "{currency}"
            );
        }
    }
}
