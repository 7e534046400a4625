//! The floor: what any program pays that starts, appends 8 KiB to a file, syncs it and prints the line. Compiled on its
//! own by the bench, so that its start-up is as small as a Rust program's can be.

use std::fs::OpenOptions;
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(&[b'x'; 8192])?;
    file.sync_data()?;
    io::stdout().write_all(b"decision=EXECUTE state=reserved attempt=1\n")
}
