//! Looks over a CSV's quotes while it is read. A lenient reader takes an unclosed quote for a very long cell, and the
//! rows in it are gone.

use std::io::{self, Read};

use super::{Fault, ROW_BYTES_MAX};

/// Where in a cell the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    CellStart,
    Bare,
    Quoted,
    /// Behind a quote within quotes: the end of the cell, or the first half of a doubled quote.
    Quote,
}

/// Passes a CSV on as it is, with a newline at its end, up to the first quote that is out of place.
#[derive(Debug)]
pub(super) struct Quotes<R> {
    source: R,
    at: At,
    line: u64,
    quote_line: u64,
    any: bool,
    /// Bytes since the row began: the reader holds a row whole.
    row_bytes: usize,
    ended: bool,
    /// What was wrong, and on which line.
    pub(super) fault: Option<(u64, Fault)>,
}

impl<R> Quotes<R> {
    pub(super) fn new(source: R) -> Quotes<R> {
        Quotes {
            source,
            at: At::CellStart,
            line: 1,
            quote_line: 1,
            any: false,
            row_bytes: 0,
            ended: false,
            fault: None,
        }
    }

    /// Whether there was anything but white space.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    fn look(&mut self, bytes: &[u8]) -> Result<(), ()> {
        for &byte in bytes {
            self.row_bytes += 1;
            if self.row_bytes > ROW_BYTES_MAX {
                self.fault = Some((self.line, Fault::TooLong));
                return Err(());
            }
            self.at = match (self.at, byte) {
                (At::CellStart, b'"') => {
                    self.quote_line = self.line;
                    At::Quoted
                }
                (At::Quoted, b'"') => At::Quote,
                (At::Quoted, _) => At::Quoted,
                (At::Quote, b'"') => At::Quoted,
                (At::CellStart | At::Bare | At::Quote, b',' | b'\n') => At::CellStart,
                // Of a CRLF; the reader drops it.
                (At::Quote, b'\r') => At::Quote,
                (At::Quote, _) => {
                    self.fault = Some((self.line, Fault::TextBehindQuote));
                    return Err(());
                }
                (At::CellStart | At::Bare, _) => At::Bare,
            };
            if byte == b'\n' && self.at == At::CellStart {
                self.row_bytes = 0;
            }
            self.any |= !byte.is_ascii_whitespace();
            self.line += u64::from(byte == b'\n');
        }
        Ok(())
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let read = loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        let mut looked_at = self.look(&buffer[..read]);
        if read == 0 {
            self.ended = true;
            if self.at == At::Quoted {
                self.fault = Some((self.quote_line, Fault::UnclosedQuote));
                looked_at = Err(());
            } else {
                buffer[0] = b'\n';
                return Ok(1);
            }
        }
        match looked_at {
            Ok(()) => Ok(read),
            Err(()) => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}
