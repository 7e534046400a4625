//! JSON Lines: one object a line.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, BufReader, Read};

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{ExportError, Fault, ROLES, ROW_BYTES_MAX, Reading, Role, Take};

/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;

pub(super) fn read(
    reading: &Reading,
    source: impl Read,
    take: &mut Take<'_>,
) -> Result<(), ExportError> {
    let mut source = BufReader::with_capacity(READ_BYTES, source);
    let mut bytes = Vec::new();
    let mut line = 0;
    let mut has_status = None;
    let bytes_max = u64::try_from(ROW_BYTES_MAX).unwrap_or(u64::MAX);
    loop {
        bytes.clear();
        let mut limited = source.by_ref().take(bytes_max + 1);
        let read = limited
            .read_until(b'\n', &mut bytes)
            .map_err(ExportError::Io)?;
        if read == 0 {
            return if line == 0 {
                Err(Fault::Empty.alone())
            } else {
                Ok(())
            };
        }
        line += 1;
        if bytes.len() > ROW_BYTES_MAX {
            return Err(Fault::TooLong.on(line));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| Fault::NotUtf8.on(line))?;
        let text = text.trim_matches([' ', '\t', '\n', '\r']);
        if text.is_empty() {
            continue;
        }
        let members = members(text).map_err(|fault| fault.on(line))?;
        let cells = cells(reading, &members).map_err(|fault| fault.on(line))?;
        let status = cells[Role::Status as usize].is_some();
        if *has_status.get_or_insert(status) != status {
            return Err(Fault::NowAndThen(reading.column(Role::Status).name.clone()).on(line));
        }
        take(line, cells.each_ref().map(|cell| cell.as_deref()))?;
    }
}

type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// The members of the object that a line is.
fn members(text: &str) -> Result<Members<'_>, Fault> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Members<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
            let mut members = Members::new();
            while let Some(name) = map.next_key::<Name<'de>>()? {
                members.push((name.0, map.next_value()?));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let object = deserializer.deserialize_map(Object);
    let members = object.and_then(|members| deserializer.end().map(|()| members));
    let members = members.map_err(|_| Fault::NotAnObject)?;
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Fault::Twice(pair[0].to_owned())),
        None => Ok(members),
    }
}

/// A member's name, borrowed where nothing in it is escaped.
struct Name<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The cells that are used. A member that is null is an empty cell.
fn cells<'a>(
    reading: &Reading,
    members: &[(Cow<'_, str>, &'a RawValue)],
) -> Result<[Option<Cow<'a, str>>; 5], Fault> {
    let mut cells = [const { None }; 5];
    for role in ROLES {
        let column = reading.column(role);
        let member = members.iter().find(|(name, _)| *name == column.name);
        let Some((_, value)) = member else {
            if column.asked_for {
                return Err(Fault::NoColumn(column.name.clone()));
            }
            continue;
        };
        let cell = text(value, role).ok_or_else(|| Fault::NotAText(column.name.clone()))?;
        cells[role as usize] = Some(cell);
    }
    Ok(cells)
}

/// A text's characters, a number's literal; a status may be true or false, and all but a key null.
fn text(value: &RawValue, role: Role) -> Option<Cow<'_, str>> {
    let literal = value.get();
    match literal.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(literal).ok().map(Cow::Owned),
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(literal)),
        b't' | b'f' if role == Role::Status => Some(Cow::Borrowed(literal)),
        b'n' if role != Role::Key => Some(Cow::Borrowed("")),
        _ => None,
    }
}
