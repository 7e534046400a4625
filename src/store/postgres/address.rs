//! Which server, as libpq would understand it: a URL first, then the environment, then what is usual.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use super::passfile;
use super::url::Parts;

/// The port that PostgreSQL listens on where nothing else is said.
const PORT: u16 = 5432;
/// Where Debian's PostgreSQL and PostgreSQL's own put their sockets, the usual one first.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// How a connection is kept from others, in libpq's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl SslMode {
    fn parse(word: &str) -> Option<SslMode> {
        Some(match word {
            "disable" => SslMode::Disable,
            "allow" => SslMode::Allow,
            "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => return None,
        })
    }
}

/// One of the servers that a URL may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    /// A name or an address; the folder of a socket where it begins with `/`.
    pub(super) name: String,
    /// An address that saves looking the name up.
    pub(super) address: Option<String>,
    pub(super) port: u16,
}

impl Host {
    /// The folder of its socket, if it is one.
    pub(super) fn socket_folder(&self) -> Option<&str> {
        self.name.starts_with('/').then_some(self.name.as_str())
    }
}

/// Where the ledger is, and how to get in.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) ssl_mode: SslMode,
    /// Whose signature is trusted: a file, or nothing for what the machine trusts.
    pub(super) ssl_root: Option<PathBuf>,
    /// Whether the password must be tied to the TLS connection.
    pub(super) binding_required: bool,
    password: Option<String>,
    passfile: Option<PathBuf>,
    /// The URL without a password, for messages and commands.
    name: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What is asked of the environment.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Address {
    /// Reads a URL; what it leaves out comes from the environment.
    ///
    /// # Errors
    /// A sentence that names the part that is wrong and none of its value.
    pub(super) fn parse(url: &str, variables: Variables<'_>) -> Result<Address, String> {
        let parts = Parts::parse(url)?;
        let variable = |name: &str| -> Result<Option<String>, String> {
            match variables(name).map(OsString::into_string) {
                None => Ok(None),
                // As libpq has it: an empty variable is one that is not set.
                Some(Ok(value)) => Ok(Some(value).filter(|value| !value.is_empty())),
                Some(Err(_)) => Err(format!("{name} is not UTF-8")),
            }
        };
        let given = |parameter: &str, name: &str| match parts.value(parameter) {
            Some(value) => Ok(Some(value.to_owned())),
            None => variable(name),
        };
        let hosts = hosts(
            given("host", "PGHOST")?,
            given("hostaddr", "PGHOSTADDR")?,
            given("port", "PGPORT")?,
        )?;
        let user = match given("user", "PGUSER")? {
            Some(user) => user,
            None => variable("USER")?
                .or(variable("LOGNAME")?)
                .ok_or("no user is named; name one in the URL or in PGUSER")?,
        };
        let database = given("dbname", "PGDATABASE")?
            .ok_or("no database is named; name one in the URL or in PGDATABASE")?;
        let ssl_mode = match given("sslmode", "PGSSLMODE")? {
            None => SslMode::Prefer,
            Some(word) => SslMode::parse(&word).ok_or(
                "sslmode is not one of disable, allow, prefer, require, verify-ca, verify-full",
            )?,
        };
        let home = variables("HOME").map(PathBuf::from);
        let in_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let ssl_root = match given("sslrootcert", "PGSSLROOTCERT")? {
            Some(word) if word == "system" => None,
            Some(path) => Some(PathBuf::from(path)),
            None => in_home(".postgresql/root.crt").filter(|path| path.exists()),
        };
        let passfile = given("passfile", "PGPASSFILE")?
            .map(PathBuf::from)
            .or_else(|| in_home(".pgpass"));
        for (name, only) in [
            (
                "target_session_attrs",
                &["any", "read-write", "primary"][..],
            ),
            ("channel_binding", &["disable", "prefer", "require"]),
        ] {
            if parts
                .value(name)
                .is_some_and(|value| !only.contains(&value))
            {
                return Err(format!("{name} is not one of {}", only.join(", ")));
            }
        }
        let binding_required = given("channel_binding", "PGCHANNELBINDING")?;
        Ok(Address {
            hosts,
            user,
            database,
            ssl_mode,
            ssl_root,
            binding_required: binding_required.as_deref() == Some("require"),
            password: given("password", "PGPASSWORD")?,
            passfile,
            name: parts.without_password(),
        })
    }

    /// The URL without a password.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The password for a host, wherever it was found.
    pub(super) fn password(&self, host: &Host) -> Option<String> {
        let from_file = || {
            let file = self.passfile.as_deref()?;
            passfile::password(file, host, &self.database, &self.user)
        };
        self.password.clone().or_else(from_file)
    }
}

/// Pairs names, addresses and ports up: lists of the same length, or one port for all.
fn hosts(
    names: Option<String>,
    addresses: Option<String>,
    ports: Option<String>,
) -> Result<Vec<Host>, String> {
    let list = |text: Option<String>| -> Vec<String> {
        let text = text.unwrap_or_default();
        text.split(',').map(str::to_owned).collect()
    };
    let (names, addresses, ports) = (list(names), list(addresses), list(ports));
    let count = names.len().max(addresses.len());
    let fits = |list: &[String]| list.len() == count || list == [""];
    if !fits(&names) || !fits(&addresses) || !(ports.len() == 1 || ports.len() == count) {
        return Err("hosts, addresses and ports do not go together".to_owned());
    }
    let at =
        |list: &[String], index: usize| -> String { list.get(index).cloned().unwrap_or_default() };
    (0..count)
        .map(|index| {
            let address = Some(at(&addresses, index)).filter(|address| !address.is_empty());
            let name = match (at(&names, index), &address) {
                (name, None) if name.is_empty() => socket_folder(),
                (name, Some(address)) if name.is_empty() => address.clone(),
                (name, _) => name,
            };
            let port = at(&ports, if ports.len() == 1 { 0 } else { index });
            let port = match port.as_str() {
                "" => PORT,
                digits => digits
                    .parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or("the port is not a number from 1 to 65535")?,
            };
            Ok(Host {
                name,
                address,
                port,
            })
        })
        .collect()
}

fn socket_folder() -> String {
    let there = SOCKET_FOLDERS
        .into_iter()
        .find(|folder| std::path::Path::new(folder).is_dir());
    there.unwrap_or(SOCKET_FOLDERS[0]).to_owned()
}

#[cfg(test)]
#[path = "address/tests.rs"]
mod tests;
