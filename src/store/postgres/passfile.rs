//! `~/.pgpass`: who gets in where, one a line, as libpq reads it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::address::Host;

/// Bits of a mode that let others than the owner at the file.
const OTHERS: u32 = 0o077;

/// The password for a host, a database and a user. As libpq has it, a file that others may read is not used, nor one
/// that is not a plain file.
pub(super) fn password(file: &Path, host: &Host, database: &str, user: &str) -> Option<String> {
    let facts = fs::metadata(file).ok()?;
    if !facts.is_file() || facts.permissions().mode() & OTHERS != 0 {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let name = match host.socket_folder() {
        Some("/var/run/postgresql" | "/tmp") => "localhost",
        Some(_) | None => &host.name,
    };
    let port = host.port.to_string();
    let wanted = [name, &port, database, user];
    let also = [host.name.as_str(), &port, database, user];
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| matching(line, &wanted).or_else(|| matching(line, &also)))
}

/// The fifth field of a line whose first four are these or `*`.
fn matching(line: &str, wanted: &[&str; 4]) -> Option<String> {
    let fields = fields(line);
    let [first @ .., password] = &fields[..] else {
        return None;
    };
    let fits = first.len() == wanted.len()
        && first
            .iter()
            .zip(wanted)
            .all(|(field, wanted)| field == "*" || field == wanted);
    (fits && !password.is_empty()).then(|| password.clone())
}

/// Fields between colons; a backslash takes the next character as it is. Behind the fourth colon all is password.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let taken = match character {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(taken);
        }
    }
    fields
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn host(name: &str) -> Host {
        Host {
            name: name.to_owned(),
            address: None,
            port: 5432,
        }
    }

    #[test]
    fn the_first_line_that_fits_counts_and_only_where_nobody_else_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        let lines = "# comment\ndb.example:5433:shop:ledger:other port\nother:*:*:*:other host\n\
                     db.example:*:shop:ledger:it's a\\:b\\\\c\nlocalhost:5432:*:*:over a socket\n*:*:*:*:last\n";
        fs::write(&file, lines).unwrap();
        let ask = |name: &str| password(&file, &host(name), "shop", "ledger");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(ask("db.example"), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(ask("db.example").unwrap(), "it's a:b\\c");
        assert_eq!(ask("/var/run/postgresql").unwrap(), "over a socket");
        assert_eq!(ask("/srv/socket").unwrap(), "last");
        assert_eq!(
            password(&folder.path().join("none"), &host("a"), "b", "c"),
            None
        );
    }
}
