//! Payloads and results from where they lie to what the ledger keeps of them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::args::{Content, ResultArgs};
use super::failure::Failure;
use receipt_ledger::decide::PAYLOAD_BYTES_MAX;
use receipt_ledger::fingerprint::{self, PAYLOAD_JSON_BYTES_MAX, RESULT_BYTES_MAX};
use receipt_ledger::receipt::{Fingerprint, ResultJson};

/// Longest SQL of one `apply`, in bytes: it is held in memory and runs under the write lock.
const SQL_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The fingerprint of what was given, or nothing if nothing was.
pub(crate) fn fingerprint(content: &Content) -> Result<Option<Fingerprint>, Failure> {
    if let Some(fingerprint) = &content.fingerprint {
        return Ok(Some(fingerprint.clone()));
    }
    if let Some(path) = &content.payload_file {
        let mut reader = open("--payload-file", path)?;
        let fingerprint = fingerprint::of_bytes(&mut *reader)
            .map_err(|error| unreadable("--payload-file", path, &error))?;
        return Ok(Some(fingerprint));
    }
    if let Some(path) = &content.payload_json {
        let bytes = bytes("--payload-json", path, PAYLOAD_JSON_BYTES_MAX)?;
        let fingerprint = of_json("--payload-json", &bytes)?;
        return Ok(Some(fingerprint));
    }
    Ok(None)
}

/// The fingerprint of a payload and its bytes, to be kept.
pub(crate) fn payload(content: &Content) -> Result<(Fingerprint, Arc<[u8]>), Failure> {
    let (flag, path) = match (&content.payload_file, &content.payload_json) {
        (Some(path), _) => ("--payload-file", path),
        (None, Some(path)) => ("--payload-json", path),
        (None, None) => return Err(Failure::new("usage", "--keep-payload needs a payload")),
    };
    let bytes = bytes(flag, path, PAYLOAD_BYTES_MAX)?;
    if bytes.len() > PAYLOAD_BYTES_MAX {
        let message =
            format!("{flag}: is longer than {PAYLOAD_BYTES_MAX} bytes, the most that is kept");
        return Err(Failure::new("invalid-input", message));
    }
    let fingerprint = if content.payload_file.is_some() {
        fingerprint::of_bytes(&mut &bytes[..]).map_err(|error| unreadable(flag, path, &error))?
    } else {
        of_json(flag, &bytes)?
    };
    Ok((fingerprint, bytes.into()))
}

/// The SQL of `apply`.
pub(crate) fn sql(path: &OsStr) -> Result<String, Failure> {
    let bytes = bytes("--sql", path, SQL_BYTES_MAX)?;
    if bytes.len() > SQL_BYTES_MAX {
        let message = format!("--sql: is longer than {SQL_BYTES_MAX} bytes");
        return Err(Failure::new("invalid-input", message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to() + 1;
        Failure::new(
            "invalid-input",
            format!("--sql: byte {position} is not UTF-8"),
        )
    })
}

fn of_json(flag: &str, bytes: &[u8]) -> Result<Fingerprint, Failure> {
    fingerprint::of_json(bytes)
        .map_err(|why| Failure::new("invalid-input", format!("{flag}: {why}")))
}

/// The fingerprint of what was given; that something was is the arguments' own rule.
pub(crate) fn required_fingerprint(content: &Content) -> Result<Fingerprint, Failure> {
    fingerprint(content)?.ok_or_else(|| {
        Failure::new(
            "usage",
            "one of --fingerprint, --payload-file and --payload-json is needed",
        )
    })
}

/// The result that was given.
pub(crate) fn result(args: &ResultArgs) -> Result<Option<ResultJson>, Failure> {
    let (flag, bytes) = if let Some(text) = &args.result_json {
        ("--result-json", text.as_bytes().to_vec())
    } else if let Some(path) = &args.result_file {
        (
            "--result-file",
            bytes("--result-file", path, RESULT_BYTES_MAX)?,
        )
    } else {
        return Ok(None);
    };
    ResultJson::parse(&bytes)
        .map(Some)
        .map_err(|why| Failure::new("invalid-input", format!("{flag}: {why}")))
}

/// Two arguments cannot both read standard input.
pub(crate) fn refuse_two_readers(content: &Content, result: &ResultArgs) -> Result<(), Failure> {
    let is_stdin = |path: &Option<std::ffi::OsString>| path.as_deref() == Some(OsStr::new("-"));
    let readers = [
        &content.payload_file,
        &content.payload_json,
        &result.result_file,
    ];
    if readers.into_iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::new(
            "usage",
            "only one argument can be read from standard input",
        ));
    }
    Ok(())
}

/// At most one byte more than `bytes_max`, so that what is too long is seen without being read whole.
fn bytes(flag: &str, path: &OsStr, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    open(flag, path)?
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(flag, path, &error))?;
    Ok(bytes)
}

fn open(flag: &str, path: &OsStr) -> Result<Box<dyn Read>, Failure> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| unreadable(flag, path, &error))?;
    Ok(Box::new(file))
}

fn unreadable(flag: &str, path: &OsStr, error: &io::Error) -> Failure {
    let name = if path == "-" {
        "standard input".into()
    } else {
        absolute(path)
    };
    Failure::io(&format!("cannot read {flag} {name}"), error)
}

fn absolute(path: &OsStr) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| Path::new(path).to_owned())
        .display()
        .to_string()
}
