//! CSV with a header row.

use std::io::Read;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, Terminator};

use super::quotes::Quotes;
use super::{Cells, ExportError, Fault, ROLES, ROW_BYTES_MAX, Reading, Role, Take};

/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;

pub(super) fn read(
    reading: &Reading,
    source: impl Read,
    take: &mut Take<'_>,
) -> Result<(), ExportError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        // By the newline alone, so that lines are counted as an editor counts them; what a CRLF leaves is cut off below.
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(READ_BYTES)
        .from_reader(Quotes::new(source));
    let mut record = ByteRecord::new();
    let Some(line) = next(&mut reader, &mut record)? else {
        let empty = !reader.get_ref().any();
        return Err(if empty { Fault::Empty } else { Fault::NoRow }.alone());
    };
    let header = texts(&record).ok_or_else(|| Fault::NotUtf8.on(line))?;
    let places = places(reading, &header).map_err(|fault| fault.on(line))?;
    let header_cells = header.len();
    while let Some(line) = next(&mut reader, &mut record)? {
        let cells = texts(&record).ok_or_else(|| Fault::NotUtf8.on(line))?;
        if cells.len() != header_cells {
            let fault = Fault::Ragged {
                cells: cells.len(),
                header: header_cells,
            };
            return Err(fault.on(line));
        }
        take(line, places.map(|place| place.map(|place| cells[place])))?;
    }
    Ok(())
}

/// Reads the next row that is not blank; the line it begins on.
fn next<R: Read>(
    reader: &mut Reader<Quotes<R>>,
    record: &mut ByteRecord,
) -> Result<Option<u64>, ExportError> {
    loop {
        match reader.read_byte_record(record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                return Err(match (reader.get_mut().fault.take(), error.into_kind()) {
                    (Some((line, fault)), _) => fault.on(line),
                    (None, ErrorKind::Io(error)) => ExportError::Io(error),
                    (None, kind) => ExportError::Io(std::io::Error::other(format!("{kind:?}"))),
                });
            }
        }
        // The reader stands behind the row's own newline; those within the row are in its cells.
        let within = memchr::memchr_iter(b'\n', record.as_slice()).count();
        let within = u64::try_from(within).unwrap_or(u64::MAX);
        let line = reader.position().line().saturating_sub(1 + within).max(1);
        if record.as_slice().len() > ROW_BYTES_MAX {
            return Err(Fault::TooLong.on(line));
        }
        if record.len() != 1 || record.as_slice() != b"\r" {
            return Ok(Some(line));
        }
    }
}

/// The cells as text, without the CR of a CRLF.
fn texts(record: &ByteRecord) -> Option<Vec<&str>> {
    let mut cells = Vec::with_capacity(record.len());
    for cell in record {
        cells.push(std::str::from_utf8(cell).ok()?);
    }
    if let Some(last) = cells.last_mut() {
        *last = last.strip_suffix('\r').unwrap_or(last);
    }
    Some(cells)
}

/// Where each used column is.
fn places(reading: &Reading, header: &[&str]) -> Result<[Option<usize>; 5], Fault> {
    let mut places: [Option<usize>; 5] = Cells::default().map(|_| None);
    for role in ROLES {
        let column = reading.column(role);
        let mut found = header
            .iter()
            .enumerate()
            .filter(|(_, name)| **name == column.name);
        places[role as usize] = found.next().map(|(place, _)| place);
        if found.next().is_some() {
            return Err(Fault::Twice(column.name.clone()));
        }
        if places[role as usize].is_none() && (column.asked_for || role == Role::Key) {
            return Err(Fault::NoColumn(column.name.clone()));
        }
    }
    Ok(places)
}
