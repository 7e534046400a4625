//! Throw-away PostgreSQL servers: made from what is installed, on a free port and a socket of their own, gone with the
//! process that started them, however it ends.

use std::env;
use std::fs;
use std::io::{self, PipeWriter, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Set where a missing server is a failure, not a reason to skip.
const REQUIRED: &str = "RECEIPT_LEDGER_REQUIRE_POSTGRES";

/// A server.
pub(crate) struct Cluster {
    programs: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    /// While this is open the server runs.
    _alive: PipeWriter,
}

/// The server that the tests of this binary share, with a database for each.
pub(crate) fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(|| Cluster::new(&[]))
}

/// Where initdb and its like are: on the PATH, or where packages put them.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).filter(|folder| folder.join("initdb").is_file());
    let mut packaged: Vec<PathBuf> = ["/usr/lib/postgresql", "/usr/local/opt", "/opt/homebrew/opt"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    packaged.sort();
    packaged.pop().or_else(|| on_path.into_iter().next())
}

/// Skips the tests, plainly: standard error itself, past what the test harness keeps to itself.
#[allow(clippy::exit)]
fn skip() -> ! {
    let message = "tests/postgres: SKIPPED, no PostgreSQL server (initdb) was found; nothing of it was tested\n";
    if env::var_os(REQUIRED).is_some_and(|required| required == "1") {
        panic!("{REQUIRED}=1, and no PostgreSQL server was found");
    }
    io::stderr().write_all(message.as_bytes()).unwrap();
    std::process::exit(0)
}

/// Has a command run as a user that the server accepts: it refuses root.
fn as_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program);
    command
}

pub(crate) fn finish(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
    stdout.into_owned()
}

/// A port that nobody has taken.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Where servers are put: in memory where that is possible.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        env::temp_dir()
    }
}

/// A folder that the server can use.
fn folder_in(parent: &Path) -> PathBuf {
    let folder = tempfile::Builder::new()
        .prefix("receipt-ledger-")
        .tempdir_in(parent)
        .unwrap()
        .keep();
    if rustix::process::geteuid().is_root() {
        finish(Command::new("chown").arg("postgres").arg(&folder));
    }
    folder
}

const HBA: &str = "local replication all trust\nlocal all all trust\nhost all locked 127.0.0.1/32 scram-sha-256\n\
                   hostssl all tls 127.0.0.1/32 trust\nhost all tls 127.0.0.1/32 reject\n\
                   host replication all 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 trust\n";

impl Cluster {
    /// A new server with these settings.
    pub(crate) fn new(settings: &[&str]) -> Cluster {
        Cluster::below(&memory(), settings)
    }

    /// The same with its files below this folder.
    pub(crate) fn below(parent: &Path, settings: &[&str]) -> Cluster {
        let Some(programs) = programs() else { skip() };
        let folder = folder_in(parent);
        let data = folder.join("data");
        finish(
            as_user(&programs.join("initdb"))
                .arg("-D")
                .arg(&data)
                .args([
                    "-A",
                    "trust",
                    "-U",
                    "postgres",
                    "-E",
                    "UTF8",
                    "--locale=C",
                    "--no-sync",
                ]),
        );
        let cluster = Cluster::over(programs, folder, settings);
        cluster.start();
        cluster
    }

    /// A server over data that is there, not started.
    pub(crate) fn over(programs: PathBuf, folder: PathBuf, settings: &[&str]) -> Cluster {
        let port = free_port();
        let (watched, alive) = io::pipe().unwrap();
        let data = folder.join("data");
        fs::write(data.join("pg_hba.conf"), HBA).unwrap();
        let mut text = format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\nmax_connections = 100\n\
             dynamic_shared_memory_type = mmap\n",
            folder.display()
        );
        for setting in settings {
            text.push_str(setting);
            text.push('\n');
        }
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        // Outlives this process, and cleans up once it is gone.
        let clean =
            r#"trap '' INT TERM HUP; cat >/dev/null; "$@" >/dev/null 2>&1; rm -rf "$FOLDER""#;
        let mut stop = as_user(&programs.join("pg_ctl"));
        stop.arg("-D").arg(&data).args(["-m", "immediate", "stop"]);
        let mut watcher = Command::new("sh");
        watcher
            .args(["-c", clean, "sh"])
            .arg(stop.get_program())
            .args(stop.get_args())
            .env("FOLDER", &folder)
            .stdin(watched)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // It waits for us, not we for it.
        #[allow(clippy::zombie_processes)]
        watcher.spawn().unwrap();
        Cluster {
            programs,
            folder,
            port,
            _alive: alive,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn programs(&self) -> PathBuf {
        self.programs.clone()
    }

    /// One of the server's own programs, as its user.
    pub(crate) fn program(&self, name: &str) -> Command {
        as_user(&self.programs.join(name))
    }

    pub(crate) fn control(&self, args: &[&str]) -> Command {
        let mut command = self.program("pg_ctl");
        command
            .arg("-D")
            .arg(self.data())
            .arg("-l")
            .arg(self.folder.join("log"))
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub(crate) fn start(&self) {
        // Not its output: the server keeps that open.
        let status = self
            .control(&["-w", "-t", "120", "start"])
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{:?}", self.folder.join("log"));
    }

    /// Runs SQL as the superuser; what it returns, a line a row.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        finish(&mut self.psql("postgres", database, sql))
            .trim_end()
            .to_owned()
    }

    /// The same as a command of its own, as whoever it is.
    pub(crate) fn psql(&self, user: &str, database: &str, sql: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-XqAtv", "ON_ERROR_STOP=1", "-U", user, "-h"]);
        command
            .arg(&self.folder)
            .args(["-p", &self.port.to_string()]);
        command.args(["-d", database, "-c", sql]);
        command
    }

    /// A new database.
    pub(crate) fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// The URL of a database over the server's socket.
    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.display();
        format!(
            "postgresql://postgres@/{database}?host={folder}&port={}",
            self.port
        )
    }

    /// The URL of a database over TCP, for a user.
    pub(crate) fn tcp_url(&self, user: &str, database: &str) -> String {
        format!("postgresql://{user}@127.0.0.1:{}/{database}", self.port)
    }
}
