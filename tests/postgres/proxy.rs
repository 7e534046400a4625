//! What may stand between a caller and the server: a line that breaks at the worst moment, and a pooler that gives every
//! transaction another session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// When the line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// The server has committed; nobody hears of it.
    AnswerLost,
    /// The same, and afterwards there is no way to the server.
    AnswerLostForGood,
    /// The server never hears of the COMMIT.
    CommitLost,
    /// The COMMIT is held up until the server has given the transaction up.
    CommitLate,
}

/// Longer than a transaction may be idle where the busy timeout is a second or less.
const HELD_UP: Duration = Duration::from_millis(1800);

/// A line to the server's port that breaks once. Its own port.
pub(crate) fn line(server: u16, breaks: Breaks) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let broken = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let has_broken = broken.load(Ordering::SeqCst) > 0;
            if has_broken && breaks == Breaks::AnswerLostForGood {
                continue;
            }
            let broken = Arc::clone(&broken);
            // A peer that goes away ends its connection, nothing else.
            thread::spawn(move || drop(carry(client, server, breaks, &broken)));
        }
    });
    port
}

/// A line on which every byte from the server takes this long, once so many have come at once. Its own port.
pub(crate) fn drip(server: u16, at_once: usize, each: Duration) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (mut there_from, mut there_to) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut there_from, &mut there_to));
            thread::spawn(move || dripping(server, client, at_once, each));
        }
    });
    port
}

fn dripping(
    mut server: TcpStream,
    mut client: TcpStream,
    at_once: usize,
    each: Duration,
) -> io::Result<()> {
    let mut byte = [0];
    let mut passed = 0;
    while server.read(&mut byte)? == 1 {
        client.write_all(&byte)?;
        passed += 1;
        if passed > at_once {
            thread::sleep(each);
        }
    }
    Ok(())
}

fn carry(
    mut client: TcpStream,
    server: u16,
    breaks: Breaks,
    broken: &AtomicUsize,
) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", server))?;
    let (mut back_from, mut back_to) = (server.try_clone()?, client.try_clone()?);
    let silent = Arc::new(AtomicUsize::new(0));
    let is_silent = Arc::clone(&silent);
    let back = thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(read @ 1..) = back_from.read(&mut buffer) {
            if is_silent.load(Ordering::SeqCst) > 0 {
                // The whole answer to the COMMIT has come: now nothing is left to wait for.
                if buffer[..read]
                    .windows(7)
                    .any(|window| window == b"COMMIT\0")
                {
                    break;
                }
            } else if back_to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = back_to.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 65536];
    while let read @ 1.. = client.read(&mut buffer)? {
        let commits = buffer[..read]
            .windows(7)
            .any(|window| window == b"COMMIT\0");
        let reads = buffer[..read]
            .windows(9)
            .any(|window| window == b"READ ONLY");
        if commits && !reads && broken.fetch_add(1, Ordering::SeqCst) == 0 {
            match breaks {
                Breaks::CommitLost => {
                    server.shutdown(Shutdown::Both)?;
                    break;
                }
                Breaks::CommitLate => thread::sleep(HELD_UP),
                Breaks::AnswerLost | Breaks::AnswerLostForGood => silent.store(1, Ordering::SeqCst),
            }
        }
        server.write_all(&buffer[..read])?;
    }
    let _ = back.join();
    client.shutdown(Shutdown::Both)
}

/// A message: its type, and its bytes with type and length.
fn message(from: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut whole = vec![0; 5];
    from.read_exact(&mut whole)?;
    let length = u32::from_be_bytes([whole[1], whole[2], whole[3], whole[4]]);
    whole.resize(1 + usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut whole[5..])?;
    Ok((whole[0], whole))
}

fn startup(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut whole = vec![0; 4];
    from.read_exact(&mut whole)?;
    let length = u32::from_be_bytes([whole[0], whole[1], whole[2], whole[3]]);
    whole.resize(usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut whole[4..])?;
    Ok(whole)
}

/// A pooler in transaction mode: its own port, and how many sessions it has used.
pub(crate) fn pooler(server: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let sessions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sessions);
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let counted = Arc::clone(&counted);
            thread::spawn(move || drop(pool(client, server, &counted)));
        }
    });
    (port, sessions)
}

fn pool(mut client: TcpStream, server: u16, sessions: &AtomicUsize) -> io::Result<()> {
    let introduction = startup(&mut client)?;
    let begin = || -> io::Result<(TcpStream, Vec<u8>)> {
        sessions.fetch_add(1, Ordering::SeqCst);
        let mut server = TcpStream::connect(("127.0.0.1", server))?;
        server.write_all(&introduction)?;
        let mut greeting = Vec::new();
        loop {
            let (kind, bytes) = message(&mut server)?;
            greeting.extend(bytes);
            if kind == b'Z' {
                return Ok((server, greeting));
            }
        }
    };
    let (mut server, greeting) = begin()?;
    client.write_all(&greeting)?;
    let mut in_transaction = false;
    loop {
        let mut asked = Vec::new();
        loop {
            let (kind, bytes) = message(&mut client)?;
            if kind == b'X' {
                return Ok(());
            }
            asked.extend(bytes);
            if kind == b'S' || kind == b'Q' {
                break;
            }
        }
        if !in_transaction {
            server = begin()?.0;
        }
        server.write_all(&asked)?;
        loop {
            let (kind, bytes) = message(&mut server)?;
            client.write_all(&bytes)?;
            if kind == b'Z' {
                in_transaction = bytes[5] != b'I';
                break;
            }
        }
    }
}
