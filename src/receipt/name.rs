//! Keys, fingerprints, owners and run ids: 1 to 255 bytes of visible ASCII, never trimmed, never folded.

use std::fmt;

/// Longest name in bytes: fits an index entry and every provider's idempotency header.
pub const NAME_BYTES_MAX: usize = 255;

/// Why a name was refused. The message never holds the name itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing in it.
    #[error("is empty; 1 to {NAME_BYTES_MAX} bytes of visible ASCII are needed")]
    Empty,
    /// Longer than [`NAME_BYTES_MAX`].
    #[error("is {bytes} bytes long (byte {} is 0x{byte:02x}); at most {NAME_BYTES_MAX} are allowed", NAME_BYTES_MAX + 1)]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The first byte past the limit.
        byte: u8,
    },
    /// A byte outside 0x21 to 0x7E.
    #[error("byte {position} is 0x{byte:02x}; only visible ASCII (0x21 to 0x7e) is allowed")]
    Byte {
        /// Position of the byte, counted from 1.
        position: usize,
        /// The byte.
        byte: u8,
    },
}

fn checked(bytes: &[u8]) -> Result<String, NameError> {
    if bytes.is_empty() {
        return Err(NameError::Empty);
    }
    let stray = bytes
        .iter()
        .take(NAME_BYTES_MAX)
        .position(|byte| !(0x21..=0x7e).contains(byte));
    if let Some(index) = stray {
        return Err(NameError::Byte {
            position: index + 1,
            byte: bytes[index],
        });
    }
    if let Some(&byte) = bytes.get(NAME_BYTES_MAX) {
        return Err(NameError::TooLong {
            bytes: bytes.len(),
            byte,
        });
    }
    Ok(bytes.iter().map(|&byte| char::from(byte)).collect())
}

macro_rules! visible_ascii_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Takes 1 to 255 bytes of visible ASCII.
            ///
            /// # Errors
            /// [`NameError`] says which byte is in the way.
            pub fn parse(bytes: impl AsRef<[u8]>) -> Result<$name, NameError> {
                checked(bytes.as_ref()).map($name)
            }

            /// The text as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

visible_ascii_name! {
    /// Names one intended effect; the caller keeps it across retries.
    Key
}
visible_ascii_name! {
    /// Binds a key to the content of its intent; compared byte for byte.
    Fingerprint
}
visible_ascii_name! {
    /// Who holds an attempt, as the caller names itself.
    Owner
}
visible_ascii_name! {
    /// The run an effect belongs to.
    RunId
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_outside_visible_ascii_is_refused_with_its_position() {
        for byte in 0..=255u8 {
            let parsed = Key::parse([b'a', byte, b'z']);
            if (0x21..=0x7e).contains(&byte) {
                assert_eq!(parsed.unwrap().as_str().as_bytes(), [b'a', byte, b'z']);
            } else {
                assert_eq!(parsed, Err(NameError::Byte { position: 2, byte }));
            }
        }
    }

    #[test]
    fn length_is_one_to_255_bytes() {
        assert_eq!(Key::parse(""), Err(NameError::Empty));
        assert!(Key::parse("k".repeat(255)).is_ok());
        assert_eq!(
            Key::parse("k".repeat(256)),
            Err(NameError::TooLong {
                bytes: 256,
                byte: b'k'
            })
        );
    }

    #[test]
    fn a_refusal_names_position_and_byte_but_not_the_value() {
        let message = Key::parse("secret\r").unwrap_err().to_string();
        assert!(message.contains("byte 7 is 0x0d"), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
