//! The transport of a connection: a Unix socket, TCP, or TLS over TCP, with a deadline on every wait.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

/// Shortest wait that can be asked of a socket.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// Bytes to and from the server as they travel.
#[derive(Debug)]
pub(super) struct Socket {
    way: Way,
    /// When reads and writes give up.
    deadline: Cell<Option<Instant>>,
    /// How long it may say nothing where there is no deadline.
    silence: Cell<Option<Duration>>,
    /// Whether the socket itself waits for ever.
    endless: Cell<bool>,
}

#[derive(Debug)]
enum Way {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Bytes to and from the server as they are meant.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stream::Plain(socket) => socket.fmt(f),
            Stream::Tls(_) => f.write_str("Tls"),
        }
    }
}

impl From<UnixStream> for Socket {
    fn from(socket: UnixStream) -> Socket {
        Socket {
            way: Way::Unix(socket),
            deadline: Cell::new(None),
            silence: Cell::new(None),
            endless: Cell::new(true),
        }
    }
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Socket {
        Socket {
            way: Way::Tcp(socket),
            deadline: Cell::new(None),
            silence: Cell::new(None),
            endless: Cell::new(true),
        }
    }
}

impl Socket {
    /// Has reads and writes give up at the deadline.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) {
        self.deadline.set(deadline);
    }

    /// Has reads and writes give up after so long a silence, where there is no deadline.
    pub(super) fn allow(&self, silence: Option<Duration>) {
        self.silence.set(silence);
    }

    /// Before each read and each write, for what is left: a server that sends a byte now and then would have the whole time
    /// with each of them.
    fn arm(&self) -> io::Result<()> {
        let left = match self.deadline.get() {
            None => self.silence.get(),
            Some(deadline) => match deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Err(io::ErrorKind::TimedOut.into()),
                left => Some(left.max(WAIT_MIN)),
            },
        };
        if self.endless.replace(left.is_none()) && left.is_none() {
            return Ok(());
        }
        match &self.way {
            Way::Unix(socket) => {
                socket.set_read_timeout(left)?;
                socket.set_write_timeout(left)
            }
            Way::Tcp(socket) => {
                socket.set_read_timeout(left)?;
                socket.set_write_timeout(left)
            }
        }
    }
}

impl Stream {
    /// Has reads and writes give up at the deadline.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) {
        match self {
            Stream::Plain(socket) => socket.wait_until(deadline),
            Stream::Tls(tls) => tls.sock.wait_until(deadline),
        }
    }

    /// See [`Socket::allow`].
    pub(super) fn allow(&self, silence: Option<Duration>) {
        match self {
            Stream::Plain(socket) => socket.allow(silence),
            Stream::Tls(tls) => tls.sock.allow(silence),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.arm()?;
        match &mut self.way {
            Way::Unix(socket) => socket.read(buffer),
            Way::Tcp(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.arm()?;
        match &mut self.way {
            Way::Unix(socket) => socket.write(buffer),
            Way::Tcp(socket) => socket.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.way {
            Way::Unix(socket) => socket.flush(),
            Way::Tcp(socket) => socket.flush(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(buffer),
            Stream::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}
