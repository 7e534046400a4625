//! `sslmode` as libpq means it, passwords and where they come from.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::cluster::{Cluster, finish, shared};
use super::procs::{alone, has};
use super::support::{Said, Scratch, said};

const SHOW: &str = "stats";

/// A server with a certificate for `localhost`, signed by an authority of its own; where that authority's is.
fn with_certificate() -> (Cluster, PathBuf) {
    let cluster = Cluster::new(&[]);
    let folder = cluster.folder.join("tls");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let extensions = folder.join("ext");
    fs::write(
        &extensions,
        "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n",
    )
    .unwrap();
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=ca 2>&1 && \
                  openssl req -new -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost 2>&1 && \
                  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile ext -out server.crt 2>&1 && \
                  openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 30 -subj /CN=other 2>&1";
    finish(Command::new("sh").args(["-c", script]).current_dir(&folder));
    let (certificate, key) = (folder.join("server.crt"), folder.join("server.key"));
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        finish(Command::new("chown").arg("postgres").arg(&key));
    }
    let set = |name: &str, value: &str| {
        cluster.sql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'"));
    };
    set("ssl_cert_file", certificate.to_str().unwrap());
    set("ssl_key_file", key.to_str().unwrap());
    set("ssl", "on");
    cluster.sql("postgres", "SELECT pg_reload_conf(), pg_sleep(0.3)");
    (cluster, folder)
}

#[test]
fn sslmode_encrypts_and_verifies_as_libpq_does() {
    let _alone = alone();
    if !has("openssl", &["version"]) {
        eprintln!("skipped: no openssl");
        return;
    }
    let (cluster, folder) = with_certificate();
    let ledger = Scratch::of(&cluster).init();
    // Only over TLS does this one get in.
    cluster.sql(&ledger.database, "CREATE ROLE tls LOGIN SUPERUSER");
    let ask = |user: &str, host: &str, parameters: &str| -> Said {
        let url = format!(
            "postgresql://{user}@{host}:{}/{}?{parameters}",
            cluster.port, ledger.database
        );
        let at = ledger.at(&url);
        let mut command = at.command([SHOW]);
        command.env("HOME", &folder);
        said(&command.output().unwrap())
    };
    let gets_in = |user: &str, host: &str, parameters: &str| {
        let said = ask(user, host, parameters);
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (0, ""),
            "{user} {host} {parameters}"
        );
    };
    let stays_out = |user: &str, host: &str, parameters: &str, why: &str| {
        let said = ask(user, host, parameters);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (2, ""),
            "{user} {host} {parameters}"
        );
        assert!(said.stderr.starts_with("error[io]: "), "{said:?}");
        assert!(said.stderr.contains(why), "{parameters}: {said:?}");
    };
    let root = |name: &str| format!("sslrootcert={}", folder.join(name).display());
    let (ca, other) = (root("ca.crt"), root("other.crt"));
    gets_in("postgres", "127.0.0.1", "sslmode=disable");
    stays_out("tls", "127.0.0.1", "sslmode=disable", "pg_hba.conf rejects");
    for mode in ["allow", "prefer", "require"] {
        gets_in("tls", "127.0.0.1", &format!("sslmode={mode}"));
    }
    gets_in("tls", "127.0.0.1", &format!("sslmode=require&{ca}"));
    stays_out(
        "tls",
        "127.0.0.1",
        &format!("sslmode=require&{other}"),
        "certificate",
    );
    gets_in("tls", "127.0.0.1", &format!("sslmode=verify-ca&{ca}"));
    stays_out(
        "tls",
        "127.0.0.1",
        &format!("sslmode=verify-ca&{other}"),
        "certificate",
    );
    gets_in(
        "tls",
        "localhost",
        &format!("hostaddr=127.0.0.1&sslmode=verify-full&{ca}"),
    );
    stays_out(
        "tls",
        "127.0.0.1",
        &format!("sslmode=verify-full&{ca}"),
        "certificate",
    );
    stays_out(
        "tls",
        "localhost",
        &format!("hostaddr=127.0.0.1&sslmode=verify-full&{other}"),
        "certificate",
    );
    stays_out(
        "tls",
        "localhost",
        "hostaddr=127.0.0.1&sslmode=verify-full",
        "certificate",
    );
    stays_out(
        "tls",
        "localhost",
        "hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=/no/such",
        "/no/such",
    );
    // As libpq, from the home folder.
    fs::create_dir(folder.join(".postgresql")).unwrap();
    fs::copy(folder.join("ca.crt"), folder.join(".postgresql/root.crt")).unwrap();
    gets_in("tls", "localhost", "hostaddr=127.0.0.1&sslmode=verify-full");
    // A password exchange that is tied to the connection.
    cluster.sql(
        &ledger.database,
        "CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'geheim'",
    );
    gets_in(
        "locked:geheim",
        "127.0.0.1",
        "sslmode=require&channel_binding=require",
    );
    stays_out(
        "locked:geheim",
        "127.0.0.1",
        "sslmode=disable&channel_binding=require",
        "channel_binding",
    );
    gets_in("locked:geheim", "127.0.0.1", "sslmode=disable");
    stays_out(
        "locked:falsch",
        "127.0.0.1",
        "sslmode=require",
        "password authentication failed",
    );
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    let ledger = Scratch::with_ledger();
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = format!(
            "{}?sslmode={mode}",
            shared().tcp_url("postgres", &ledger.database)
        );
        let told = ledger.at(&url).refuses(SHOW, "io");
        assert!(told.contains("no TLS"), "{told}");
    }
    for mode in ["disable", "allow", "prefer"] {
        let url = format!(
            "{}?sslmode={mode}",
            shared().tcp_url("postgres", &ledger.database)
        );
        assert_eq!(ledger.at(&url).run(SHOW).code, 0, "{mode}");
    }
}

#[test]
fn a_password_comes_from_the_url_the_environment_or_a_file_and_is_never_shown() {
    let ledger = Scratch::with_ledger();
    ledger.sql("DO $$ BEGIN CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'geheim'; EXCEPTION WHEN duplicate_object THEN END $$");
    let url = shared().tcp_url("locked", &ledger.database);
    let with = |url: &str, variables: &[(&str, &str)]| -> Said {
        let at = ledger.at(url);
        let mut command = at.command([SHOW]);
        command.env_remove("PGPASSWORD").env("HOME", "/no/home");
        command.envs(variables.iter().copied());
        said(&command.output().unwrap())
    };
    let none = with(&url, &[]);
    assert!(
        none.stderr.starts_with("error[io]: ") && none.stderr.contains("password"),
        "{none:?}"
    );
    let wrong = with(&url.replace("locked@", "locked:falsch@"), &[]);
    assert!(
        wrong.stderr.contains("password authentication failed"),
        "{wrong:?}"
    );
    assert!(!wrong.stderr.contains("falsch"), "{wrong:?}");
    assert_eq!(with(&url.replace("locked@", "locked:geheim@"), &[]).code, 0);
    assert_eq!(with(&url, &[("PGPASSWORD", "geheim")]).code, 0);
    let file = ledger.path("passwords");
    fs::write(
        &file,
        format!("127.0.0.1:{}:*:locked:geheim\n", shared().port),
    )
    .unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let in_file = [("PGPASSFILE", file.to_str().unwrap())];
    assert_eq!(with(&url, &in_file).code, 0);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    assert_ne!(with(&url, &in_file).code, 0, "others may read it");
    // Everything else from the environment.
    let port = shared().port.to_string();
    let said = with(
        "postgresql://",
        &[
            ("PGHOST", "127.0.0.1"),
            ("PGPORT", &port),
            ("PGUSER", "locked"),
            ("PGPASSWORD", "geheim"),
            ("PGDATABASE", &ledger.database),
            ("PGSSLMODE", "disable"),
        ],
    );
    assert_eq!(said.code, 0, "{said:?}");
    // A command learns the URL, not the password that the flag gave.
    let flag = ledger.at(&url.replace("locked@", "locked:geheim@"));
    let run = flag.run("run --quiet --key k --fingerprint f -- printenv RECEIPT_LEDGER_DB");
    assert_eq!(run.stdout, format!("{url}\n"));
}
