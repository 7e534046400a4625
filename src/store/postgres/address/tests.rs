#![allow(clippy::unwrap_used)]

use super::*;

fn read(url: &str, variables: &[(&str, &str)]) -> Result<Address, String> {
    let variables: Vec<(String, OsString)> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
        .collect();
    Address::parse(url, &move |name: &str| {
        let found = variables.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    })
}

fn places(address: &Address) -> Vec<(&str, u16)> {
    address
        .hosts
        .iter()
        .map(|host| (host.name.as_str(), host.port))
        .collect()
}

#[test]
fn a_url_names_user_password_hosts_and_database() {
    let address = read(
        "postgresql://us%40er:p%3Aw@a.example:6000,[::1]:6001/sh%2Fop",
        &[],
    )
    .unwrap();
    assert_eq!(address.user, "us@er");
    assert_eq!(address.password.as_deref(), Some("p:w"));
    assert_eq!(address.database, "sh/op");
    assert_eq!(places(&address), [("a.example", 6000), ("::1", 6001)]);
    assert_eq!(address.ssl_mode, SslMode::Prefer);
}

#[test]
fn parameters_say_what_has_no_place_in_a_url() {
    let url =
        "postgres:///shop?host=/run/pg&port=6000&user=u&sslmode=verify-full&sslrootcert=/ca.pem";
    let address = read(url, &[]).unwrap();
    assert_eq!(places(&address), [("/run/pg", 6000)]);
    assert_eq!(address.hosts[0].socket_folder(), Some("/run/pg"));
    assert_eq!(address.ssl_mode, SslMode::VerifyFull);
    assert_eq!(address.ssl_root, Some(PathBuf::from("/ca.pem")));
}

#[test]
fn what_the_url_leaves_out_comes_from_the_environment_and_the_url_wins() {
    let variables = [
        ("PGHOST", "env.example"),
        ("PGPORT", "6000"),
        ("PGUSER", "envuser"),
        ("PGPASSWORD", "envpw"),
        ("PGDATABASE", "envdb"),
        ("PGSSLMODE", "require"),
    ];
    let address = read("postgresql://", &variables).unwrap();
    assert_eq!(places(&address), [("env.example", 6000)]);
    assert_eq!(
        (address.user.as_str(), address.database.as_str()),
        ("envuser", "envdb")
    );
    assert_eq!(address.password.as_deref(), Some("envpw"));
    assert_eq!(address.ssl_mode, SslMode::Require);
    let url = "postgresql://u:p@url.example:1/db?sslmode=disable";
    let address = read(url, &variables).unwrap();
    assert_eq!(places(&address), [("url.example", 1)]);
    assert_eq!(
        (address.user.as_str(), address.database.as_str()),
        ("u", "db")
    );
    assert_eq!(address.password.as_deref(), Some("p"));
    assert_eq!(address.ssl_mode, SslMode::Disable);
}

#[test]
fn without_a_database_or_a_user_there_is_no_address() {
    let refused = read("postgresql://u@h", &[]).unwrap_err();
    assert!(refused.contains("no database"), "{refused}");
    assert!(read("postgresql://u@h/", &[]).is_err());
    assert!(
        read("postgresql://h/db", &[])
            .unwrap_err()
            .contains("no user")
    );
    assert_eq!(
        read("postgresql://h/db", &[("USER", "me")]).unwrap().user,
        "me"
    );
}

#[test]
fn nothing_that_is_shown_holds_the_password() {
    for (url, name) in [
        ("postgresql://u:secret@h/db", "postgresql://u@h/db"),
        (
            "postgresql://u:se:cr@et@h:1/db?a",
            "postgresql://u@h:1/db?a",
        ),
        ("postgres://:secret@h/db", "postgres://h/db"),
        (
            "postgres://u@h/db?password=secret&sslmode=require",
            "postgres://u@h/db?sslmode=require",
        ),
        ("postgres://u@h/db?p%61ssword=secret", "postgres://u@h/db"),
        ("postgresql://u:secret@h", "postgresql://u@h"),
    ] {
        assert_eq!(
            Parts {
                url,
                values: vec![]
            }
            .without_password(),
            name
        );
    }
    let address = read("postgresql://u:secret@h/db", &[]).unwrap();
    assert_eq!(format!("{address:?}"), "postgresql://u@h/db");
}

#[test]
fn what_cannot_be_right_is_refused_without_its_value() {
    for url in [
        "postgresql://u:secret@h:port/db",
        "postgresql://u:secret@h:0/db",
        "postgresql://u:secret@h:70000/db",
        "postgresql://u:secret@[::1/db",
        "postgresql://u:secret@a,b,c:1/db?hostaddr=1.1.1.1,2.2.2.2",
        "postgresql://u:secret@h/db?sslmode=maybe",
        "postgresql://u:secret@h/db?secret=1",
        "postgresql://u:secret@h/db?sslmode",
        "postgresql://u:secret%zz@h/db",
        "postgresql://u:secret%00@h/db",
        "postgresql://u:secret@h/db?target_session_attrs=standby",
    ] {
        let refused = read(url, &[]).unwrap_err();
        assert!(!refused.contains("secret"), "{url}: {refused}");
    }
}
