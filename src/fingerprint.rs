//! From a payload to the fingerprint that binds a key to the content of its intent.
//!
//! Two payloads with the same fingerprint are the same intent, so nothing here may let two different values meet: what
//! cannot be told apart after canonicalisation (a duplicate name, a number that a double cannot hold) is refused, not
//! rounded. The check of a JSON result lives here too, because it is the same reading of one JSON value.
//!
//! This module does no file handling and never puts any of the payload into a message.

mod canonical;
mod json;
mod number;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Read};

use sha2::{Digest, Sha256};

use crate::receipt::Fingerprint;

pub use canonical::NESTING_MAX;
pub use json::{JsonRefusal, Position, compact_json};

/// The longest payload, in bytes, that [`of_json`] reads: canonicalising needs the whole value in memory at once, and
/// many times over where it is all small members.
pub const PAYLOAD_JSON_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The longest result, in bytes, that a receipt keeps: a result is looked at often, and lies in the ledger's own file.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// Large enough that system calls cost nothing beside the hashing, small enough to stay in the processor's cache.
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// The fingerprint of a payload taken as bytes: `sha256:` and 64 lower-case hexadecimal digits.
///
/// Reads to the end in constant memory.
///
/// # Errors
///
/// What the reader reports, except an interruption by a signal: that read is tried again.
pub fn of_bytes(reader: &mut dyn Read) -> io::Result<Fingerprint> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(tagged("sha256", digest)),
            Ok(length) => digest.update(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The fingerprint of a payload taken as one JSON value: `jcs-sha256:` and 64 lower-case hexadecimal digits, the SHA-256
/// of its canonical form (RFC 8785), so that the order of names, white space, escapes and the way a number is written do
/// not matter.
///
/// # Errors
///
/// Every [`JsonRefusal`]: what has no canonical form, and what would lose a part of its meaning in it.
pub fn of_json(payload: &[u8]) -> Result<Fingerprint, JsonRefusal> {
    let canonical = canonical::of(json::one_value(payload, PAYLOAD_JSON_BYTES_MAX)?)?;
    Ok(tagged("jcs-sha256", Sha256::new_with_prefix(canonical)))
}

fn tagged(scheme: &str, digest: Sha256) -> Fingerprint {
    let digits = digest.finalize();
    let hexadecimal: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    Fingerprint::parse(format!("{scheme}:{hexadecimal}"))
        .expect("a scheme and hexadecimal digits are visible ASCII")
}
