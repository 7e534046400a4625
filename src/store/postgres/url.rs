//! The URL of a ledger: its parts, and how it is shown.

/// A URL taken apart, every part decoded.
pub(super) struct Parts<'a> {
    pub(super) url: &'a str,
    pub(super) values: Vec<(String, String)>,
}

/// What may stand behind the `?`.
const PARAMETERS: &[&str] = &[
    "user",
    "password",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "sslmode",
    "sslrootcert",
    "passfile",
    "target_session_attrs",
    "channel_binding",
];

impl<'a> Parts<'a> {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// A sentence that names the part that is wrong and none of its value.
    pub(super) fn parse(url: &'a str) -> Result<Parts<'a>, String> {
        let (_, rest) = url.split_once("://").ok_or("it is not a URL")?;
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (credentials, hosts),
            None => ("", authority),
        };
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, password),
            None => (credentials, ""),
        };
        let mut values = Vec::new();
        let mut give = |name: &str, value: &str| -> Result<(), String> {
            if !value.is_empty() {
                let decoded =
                    decode(value).ok_or(format!("{name} is not percent-encoded UTF-8"))?;
                values.push((name.to_owned(), decoded));
            }
            Ok(())
        };
        give("user", user)?;
        give("password", password)?;
        give("dbname", database)?;
        let (names, ports) = authority_hosts(hosts)?;
        give("host", &names)?;
        give("port", &ports)?;
        for parameter in parameters
            .split('&')
            .filter(|parameter| !parameter.is_empty())
        {
            let (name, value) = parameter
                .split_once('=')
                .ok_or("a parameter of the URL has no value")?;
            let name = decode(name).unwrap_or_default();
            if !PARAMETERS.contains(&name.as_str()) {
                let known = PARAMETERS.join(", ");
                return Err(format!("the URL has a parameter that is none of {known}"));
            }
            give(&name, value)?;
        }
        Ok(Parts { url, values })
    }

    /// The last value given under a name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The URL as it was given, but for every password in it.
    pub(super) fn without_password(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", self.url));
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = match place.split_once('/') {
            Some((authority, database)) => (authority, Some(database)),
            None => (place, None),
        };
        let authority = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => {
                let user = credentials.split(':').next().unwrap_or_default();
                let at = if user.is_empty() { "" } else { "@" };
                format!("{user}{at}{hosts}")
            }
            None => authority.to_owned(),
        };
        let mut name = format!("{scheme}://{authority}");
        if let Some(database) = database {
            name.push('/');
            name.push_str(database);
        }
        let kept = parameters.split('&').filter(|parameter| {
            let name = parameter.split('=').next().and_then(decode);
            !parameter.is_empty() && name.as_deref() != Some("password")
        });
        let kept: Vec<&str> = kept.collect();
        if !kept.is_empty() {
            name.push('?');
            name.push_str(&kept.join("&"));
        }
        name
    }
}

/// The names and the ports of `host:port,[::1]:port`, as two lists.
fn authority_hosts(hosts: &str) -> Result<(String, String), String> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => {
                let (name, port) = rest.split_once(']').ok_or("an address has no ]")?;
                (name, port.strip_prefix(':').unwrap_or(port))
            }
            None => host.rsplit_once(':').unwrap_or((host, "")),
        };
        names.push(name);
        ports.push(port);
    }
    let ports = if ports.iter().all(|port| port.is_empty()) {
        String::new()
    } else {
        ports.join(",")
    };
    Ok((names.join(","), ports))
}

/// What `%41` and its like stand for.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}
