//! The one place that prints: answers to standard output, everything for people to standard error.

use std::io::{self, IsTerminal, Write};

use super::args::Format;
use super::failure::Failure;
use super::render::{self, Line};

/// Where answers go, and how they are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
}

impl Output {
    pub(crate) fn new(format: Format) -> Output {
        Output { format }
    }

    pub(crate) fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Writes answers, all of them or an error.
    pub(crate) fn lines(&mut self, lines: &[Line]) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for line in lines {
            self.write(line, &mut bytes);
        }
        self.raw(&bytes)
    }

    /// Writes bytes to standard output as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .map_err(|error| {
                Failure::new(
                    "output",
                    format!("cannot write the answer to standard output: {error}"),
                )
                .hint("the ledger keeps what it decided; ask again, or see 'receipt-ledger show'")
            })
    }

    /// Whether a person reads the answers, and asked for no format.
    pub(crate) fn is_for_people(self) -> bool {
        self.format == Format::Text && io::stdout().is_terminal()
    }

    /// Whether colours are wanted.
    pub(crate) fn has_colours(self) -> bool {
        std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Standard output for many answers, as they come.
    pub(crate) fn stream(self) -> Stream {
        Stream {
            output: self,
            held: Vec::with_capacity(STREAM_BYTES),
        }
    }

    /// Standard output itself.
    pub(crate) fn pipe(self) -> impl Write {
        io::stdout().lock()
    }

    /// Why not everything reached standard output.
    pub(crate) fn broken(self, error: &io::Error) -> Failure {
        Failure::new(
            "output",
            format!("cannot write the answer to standard output: {error}"),
        )
    }

    /// Tells an answer to people, because standard output is somebody else's.
    pub(crate) fn line_aside(self, line: &Line) {
        let mut bytes = Vec::new();
        self.write(line, &mut bytes);
        to_stderr(&String::from_utf8_lossy(&bytes));
    }

    fn write(self, line: &Line, bytes: &mut Vec<u8>) {
        match self.format {
            Format::Text => render::text(line, bytes),
            Format::Json => render::json(line, bytes),
        }
    }

    /// Tells something to people.
    pub(crate) fn note(self, note: &str) {
        to_stderr(&format!("note: {}\n", render::without_controls(note)));
    }

    /// Tells what went wrong.
    pub(crate) fn failure(self, failure: &Failure) {
        to_stderr(&match self.format {
            Format::Text => render::failure_text(failure),
            Format::Json => render::failure_json(failure),
        });
    }
}

/// How many bytes of answers are written at once.
const STREAM_BYTES: usize = 64 * 1024;

/// Many answers on their way to standard output.
#[derive(Debug)]
pub(crate) struct Stream {
    output: Output,
    held: Vec<u8>,
}

impl Stream {
    /// Writes an answer, now or with the next ones.
    pub(crate) fn line(&mut self, line: &Line) -> Result<(), Failure> {
        self.output.write(line, &mut self.held);
        self.write_if_full()
    }

    /// Writes bytes as they are, now or with the next ones.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.held.extend_from_slice(bytes);
        self.write_if_full()
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.output.raw(&self.held)
    }

    fn write_if_full(&mut self) -> Result<(), Failure> {
        if self.held.len() >= STREAM_BYTES {
            self.output.raw(&self.held)?;
            self.held.clear();
        }
        Ok(())
    }
}

/// Standard error is for people: where it cannot be written there is nobody to tell, and the exit code still speaks.
fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
