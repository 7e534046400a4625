//! `export` and `import`: a whole ledger on its way to another one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::args::{ExportArgs, ImportArgs};
use super::super::exit::Exit;
use super::super::failure::{CONTRADICTION, Failure};
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{OpenLedger, import_into, open_to_change, open_to_read, tell_creation};
use receipt_ledger::export::{Counts, ExportReader};
use receipt_ledger::store::{Imported, Standing};

/// Large writes: an export is read and written in one go.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) fn export(
    args: ExportArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    // First the ledger stops deciding, then it is read: what is exported as retired can never be decided elsewhere.
    if args.retire {
        retire(settings, output)?;
    }
    let mut ledger = open_to_read(settings)?;
    match &args.to {
        None => {
            let mut pipe = BufWriter::with_capacity(BUFFER_BYTES, output.pipe());
            let written = ledger.export(&mut pipe)?;
            // What is dropped with the buffer is lost without a word.
            written
                .and_then(|_| pipe.flush())
                .map_err(|error| output.broken(&error))?;
        }
        Some(to) => {
            refuse_own_files(&ledger.store().name(), Path::new(to))?;
            let counts = to_file(Path::new(to), &mut ledger)?;
            let line = Line::default()
                .fact("receipts", Value::Number(counts.receipts))
                .fact("pruned", Value::Number(counts.pruned))
                .fact("forgotten", Value::Number(counts.forgotten));
            output.lines(&[line])?;
        }
    }
    ledger.close()?;
    Ok(Exit::ANSWERED)
}

/// Refuses to write over the ledger itself, under whatever name, or where SQLite keeps its log.
pub(super) fn refuse_own_files(ledger: &OsStr, to: &Path) -> Result<(), Failure> {
    let Ok(absolute) = std::path::absolute(to) else {
        return Ok(());
    };
    let by_name = match (
        absolute.parent().map(fs::canonicalize),
        absolute.file_name(),
    ) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        (_, _) => absolute,
    };
    let links_resolved = fs::canonicalize(&by_name).ok();
    let is_own = ["", "-wal", "-shm", "-journal"].iter().any(|ending| {
        let mut own = ledger.to_owned();
        own.push(ending);
        by_name == Path::new(&own) || links_resolved.as_deref() == Some(Path::new(&own))
    });
    if is_own {
        let message = format!("{} is the ledger's own file", by_name.display());
        return Err(Failure::new("refused-file", message).hint("name another file"));
    }
    Ok(())
}

fn retire(settings: &Settings, output: &mut Output) -> Result<(), Failure> {
    let mut ledger = open_to_change(settings, output)?;
    let standing = ledger.stand(Standing::InUse, Standing::Retired)?;
    let name = ledger.store().name();
    ledger.close()?;
    match standing {
        Standing::Retired => Ok(()),
        Standing::InUse | Standing::Copy => {
            let ledger = name.display().to_string();
            Err(receipt_ledger::Error::Copy { ledger }.into())
        }
    }
}

/// Synced, then renamed, and never over another file.
fn to_file(to: &Path, ledger: &mut OpenLedger) -> Result<Counts, Failure> {
    let told =
        |error: io::Error| Failure::io(&format!("cannot write --to {}", to.display()), &error);
    let path = std::path::absolute(to).map_err(told)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let draft = tempfile::Builder::new()
        .prefix(".receipt-ledger-")
        .suffix(".draft")
        .tempfile_in(folder)
        .map_err(|error| told(error.kind().into()))?;
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, draft.as_file());
    let counts = ledger.export(&mut writer)?.map_err(told)?;
    writer.flush().map_err(told)?;
    drop(writer);
    draft.as_file().sync_all().map_err(told)?;
    match renameat_with(CWD, draft.path(), CWD, &path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => {
            let message = format!("there is something at {} already", path.display());
            return Err(
                Failure::new("refused-file", message).hint("name a file that does not exist")
            );
        }
        Err(error) => return Err(told(error.into())),
    }
    // The draft's name is gone with the rename; there is nothing left to remove.
    draft.into_temp_path().disable_cleanup(true);
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(told)?;
    Ok(counts)
}

pub(crate) fn import(
    args: ImportArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let unreadable = |error: io::Error| {
        Failure::io(
            &format!("cannot read {}", Path::new(&args.file).display()),
            &error,
        )
    };
    let source: Box<dyn Read> = if args.file == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(unreadable)?)
    };
    let invalid =
        |why: &dyn std::fmt::Display| Failure::new("invalid-input", format!("import: {why}"));
    let lines = BufReader::with_capacity(BUFFER_BYTES, source);
    let mut reader = ExportReader::new(lines).map_err(|refusal| invalid(&refusal))?;
    let mark = !reader.retired();
    let (imported, mut ledger) = import_into(settings, &mut reader, mark)?;
    let (added, unchanged) = match imported {
        Imported::Taken { added, unchanged } => (added, unchanged),
        Imported::Contradicts { key } => {
            let message =
                format!("the export and the ledger differ about {key}; nothing was changed");
            return Err(Failure::new(CONTRADICTION, message)
                .hint("compare 'show --history' in both before anything is performed"));
        }
        Imported::Abandoned => {
            return Err(match reader.into_refusal() {
                Some(refusal) => invalid(&refusal),
                None => invalid(&"it ended for no reason that is known"),
            });
        }
    };
    tell_creation(&mut ledger, output);
    if ledger.standing()? == Standing::Copy {
        output
            .note("the ledger is a copy until 'restore --accept-gap': its source may still decide");
    }
    ledger.close()?;
    let line = Line::default()
        .fact("added", Value::Number(added))
        .fact("unchanged", Value::Number(unchanged));
    output.lines(&[line])?;
    Ok(Exit::ANSWERED)
}
