//! What a call did to files, in order: strace's record, read back.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::procs::{has, wrapped};
use super::support::{Said, Scratch, said};

/// One thing done to a file or a folder; paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A file was opened that may have been created by that.
    Opened {
        path: String,
        create: bool,
    },
    Wrote {
        path: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
        path: String,
        len: usize,
    },
    Synced {
        path: String,
    },
    Renamed {
        from: String,
        to: String,
    },
    Removed {
        path: String,
    },
    /// Bytes went to standard output.
    Said {
        bytes: Vec<u8>,
    },
}

/// Whether calls can be traced here.
pub(crate) fn can_trace() -> bool {
    let can = has("strace", &["-f", "-y", "-e", "trace=write", "true"]);
    if !can {
        eprintln!("skipped: strace cannot be used here");
    }
    can
}

/// Runs the call under strace.
pub(crate) fn traced(ledger: &Scratch, args: &[&str]) -> (Said, Vec<Event>) {
    traced_reading(ledger, args, Stdio::null())
}

/// The same, with this standard input.
pub(crate) fn traced_reading(ledger: &Scratch, args: &[&str], stdin: Stdio) -> (Said, Vec<Event>) {
    const CALLS: &str = "trace=open,openat,creat,write,writev,pwrite64,pwritev,ftruncate,truncate,fallocate,\
                         fsync,fdatasync,sync_file_range,msync,sync,rename,renameat,renameat2,link,linkat,\
                         unlink,unlinkat,mkdir,mkdirat";
    // Outside the ledger's folder, so that it does not count as a change of it.
    let outside = Scratch::new();
    let record = outside.path("record");
    let record_name = record.to_str().unwrap();
    let flags = [
        "-f",
        "-y",
        "-qq",
        "-xx",
        "-s",
        "9000000",
        "-e",
        "signal=none",
        "-e",
        CALLS,
        "-o",
        record_name,
    ];
    let mut command: Command = wrapped("strace", &flags, &ledger.command(args));
    let told = said(&command.stdin(stdin).output().unwrap());
    let text = fs::read_to_string(&record).unwrap();
    let events = text
        .lines()
        .filter_map(|line| event(line, ledger))
        .collect();
    (told, events)
}

/// The text in the `nth` pair of these brackets, its `\x` escapes undone.
fn between(line: &str, open: char, close: char, nth: usize) -> Option<Vec<u8>> {
    let mut rest = line;
    for _ in 0..nth {
        rest = rest.split_once(open)?.1.split_once(close)?.1;
    }
    let inner = rest.split_once(open)?.1.split_once(close)?.0;
    let mut bytes = Vec::with_capacity(inner.len() / 4);
    for part in inner.split("\\x").skip(1) {
        bytes.push(u8::from_str_radix(part, 16).unwrap_or_else(|_| panic!("not hex: {inner:.80}")));
    }
    Some(bytes)
}

fn quoted(line: &str, nth: usize) -> Option<String> {
    between(line, '"', '"', nth).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn descriptor_path(arguments: &str) -> Option<String> {
    between(arguments, '<', '>', 0).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn number(text: &str) -> Option<usize> {
    text.trim().trim_end_matches(')').trim().parse().ok()
}

/// A line of strace's record, if it is about files that were changed.
fn event(line: &str, ledger: &Scratch) -> Option<Event> {
    assert!(
        !line.contains("<unfinished"),
        "more than one thread: {line:.200}"
    );
    let (before, result) = line.rsplit_once(" = ")?;
    let (call, arguments) = before.split_once('(')?;
    let call = call.rsplit(' ').next()?;
    if result.starts_with('-') {
        return None;
    }
    let absolute = |path: String| -> String {
        let path: PathBuf = ledger.path("").join(path);
        path.to_str().unwrap().to_owned()
    };
    let mut numbers = arguments.rsplit(", ").filter_map(number);
    match call {
        "open" | "openat" | "creat" => Some(Event::Opened {
            path: absolute(quoted(arguments, 0)?),
            create: call == "creat" || arguments.contains("O_CREAT"),
        }),
        "write" if arguments.starts_with("1<") => Some(Event::Said {
            bytes: between(arguments, '"', '"', 0)?,
        }),
        "write" if arguments.starts_with("2<") => None,
        "write" | "pwrite64" => {
            let path = descriptor_path(arguments)?;
            let bytes = between(arguments, '"', '"', 0)?;
            let written = number(result).unwrap();
            assert_eq!(written, bytes.len(), "a short write");
            // A plain write goes to the end of what was written so far; only drafts are written like that.
            let at = if call == "write" {
                usize::MAX
            } else {
                numbers.next()?
            };
            Some(Event::Wrote { path, at, bytes })
        }
        "ftruncate" => Some(Event::Cut {
            path: descriptor_path(arguments)?,
            len: numbers.next()?,
        }),
        "fsync" | "fdatasync" => Some(Event::Synced {
            path: descriptor_path(arguments)?,
        }),
        "rename" | "renameat" | "renameat2" => Some(Event::Renamed {
            from: absolute(quoted(arguments, 0)?),
            to: absolute(quoted(arguments, 1)?),
        }),
        "unlink" | "unlinkat" => Some(Event::Removed {
            path: absolute(quoted(arguments, 0)?),
        }),
        _ => panic!("a call this test cannot follow: {line:.200}"),
    }
}

/// A file as the device may have it: what is surely there, and what was done to it since its last sync.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    /// What each file surely holds, and what was done to it since, by a number that outlives its names.
    pub(crate) files: Vec<(Vec<u8>, Vec<Event>)>,
    /// The names as running programs see them.
    pub(crate) names: HashMap<String, usize>,
    /// The names as the folder was last synced.
    pub(crate) synced_names: HashMap<String, usize>,
    /// What was done to the folder since, in order.
    pub(crate) pending_names: Vec<(Option<String>, Option<String>, usize)>,
}

impl Disk {
    /// Does what was done. Files that this disk does not know (libraries, shared memory) are passed over.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Opened { path, create: true } if !self.names.contains_key(path) => {
                if path.ends_with("-shm") || path.starts_with("/dev/") {
                    return;
                }
                self.files.push((Vec::new(), Vec::new()));
                let number = self.files.len() - 1;
                self.names.insert(path.clone(), number);
                self.pending_names.push((None, Some(path.clone()), number));
            }
            Event::Wrote { path, .. } | Event::Cut { path, .. } => {
                if let Some(number) = self.names.get(path) {
                    self.files[*number].1.push(event.clone());
                }
            }
            Event::Synced { path } => match self.names.get(path) {
                Some(number) => {
                    let (content, pending) = &mut self.files[*number];
                    for event in std::mem::take(pending) {
                        change(content, &event);
                    }
                }
                None => {
                    self.synced_names = self.names.clone();
                    self.pending_names.clear();
                }
            },
            Event::Renamed { from, to } => {
                let number = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), number);
                self.pending_names
                    .push((Some(from.clone()), Some(to.clone()), number));
            }
            Event::Removed { path } => {
                if let Some(number) = self.names.remove(path) {
                    self.pending_names.push((Some(path.clone()), None, number));
                }
            }
            Event::Opened { .. } | Event::Said { .. } => {}
        }
    }

    /// What was written to the file with this name and a loss of power could still take away. A cut that is lost takes
    /// nothing away, and neither does the name of a file without content.
    pub(crate) fn unsynced(&self, path: &str) -> Vec<String> {
        let Some(number) = self.names.get(path) else {
            return Vec::new();
        };
        let (content, pending) = &self.files[*number];
        let mut found = Vec::new();
        for event in pending {
            if let Event::Wrote { at, bytes, .. } = event {
                found.push(format!("{} bytes at {at}", bytes.len()));
            }
        }
        if self.synced_names.get(path) != Some(number) && !(content.is_empty() && found.is_empty())
        {
            found.push("the name".to_owned());
        }
        found
    }
}

/// Changes a file's content as the event says.
pub(crate) fn change(content: &mut Vec<u8>, event: &Event) {
    if let Event::Wrote { at, bytes, .. } = event {
        let at = if *at == usize::MAX {
            content.len()
        } else {
            *at
        };
        let end = at + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[at..end].copy_from_slice(bytes);
    } else if let Event::Cut { len, .. } = event {
        content.resize(*len, 0);
    } else {
        panic!("not a change of content: {event:?}");
    }
}
