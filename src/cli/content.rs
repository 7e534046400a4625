//! Payloads and results from where they lie to what the ledger keeps of them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::args::{Content, ResultArgs};
use super::failure::Failure;
use receipt_ledger::fingerprint::{self, PAYLOAD_JSON_BYTES_MAX, RESULT_BYTES_MAX};
use receipt_ledger::receipt::{Fingerprint, ResultJson};

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
        let fingerprint = fingerprint::of_json(&bytes)
            .map_err(|why| Failure::new("invalid-input", format!("--payload-json: {why}")))?;
        return Ok(Some(fingerprint));
    }
    Ok(None)
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
