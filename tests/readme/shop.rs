//! A scratch folder to run examples in, and the programs that they call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder that README.md names where a path has to be absolute.
const FOLDER_IN_README: &str = "/var/lib/shop";

/// A folder of its own for one example, with the built binary and stubs of the shop's programs first on `PATH`.
pub(crate) struct Shop {
    folder: tempfile::TempDir,
}

/// What a script said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Shop {
    pub(crate) fn new() -> Shop {
        let shop = Shop {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(shop.path("bin")).unwrap();
        std::os::unix::fs::symlink(real_binary(), shop.path("bin/receipt-ledger")).unwrap();
        shop.program(
            "send-report",
            "code=$(cat \"$shop/exit-of-send-report\" 2>/dev/null || echo 0)
             [ \"$code\" != 0 ] || echo report sent
             exit \"$code\"",
        );
        // The first one's answer is lost on its way.
        shop.program(
            "pay-out",
            "[ -e \"$shop/paid-out\" ] || { : >\"$shop/paid-out\"; exit 28; }",
        );
        shop.program("create-order", "echo \"ord_$$\"");
        shop.program(
            "deploy",
            "exit \"$(cat \"$shop/exit-of-deploy\" 2>/dev/null || echo 0)\"",
        );
        shop.program("orders-due", "echo 41 42");
        shop.program(
            "charge",
            "code=$(cat \"$shop/exit-of-charge\" 2>/dev/null || echo 0)
             if [ \"$code\" = 0 ]; then echo '{\"charge\": \"ch_9\"}'; fi
             exit \"$code\"",
        );
        fs::create_dir(shop.path("orders")).unwrap();
        for order in ["41", "42", "43"] {
            shop.write(
                &format!("orders/{order}.json"),
                &format!("{{\"order\": {order}, \"amount\": 10.0}}"),
            );
        }
        shop.write(
            "charges.csv",
            "id,status,amount,currency,idempotency_key\n\
             ch_9,succeeded,10.00,EUR,charge:v1:order-41\n\
             ch_10,pending,25.00,EUR,charge:v1:order-42\n",
        );
        shop
    }

    /// The same with a ledger in it.
    pub(crate) fn with_ledger() -> Shop {
        let shop = Shop::new();
        let said = shop.sh("receipt-ledger --db receipts.db init");
        assert_eq!((said.code, said.stdout.as_str()), (0, "created=true\n"));
        shop
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program on the shop's `PATH` whose every call is an effect, a line in the file `effects`.
    pub(crate) fn program(&self, name: &str, body: &str) {
        let effects = format!("echo {name} \"$*\" >>\"$shop/effects\"");
        let effects = if name == "orders-due" {
            ""
        } else {
            effects.as_str()
        };
        self.script(
            name,
            &format!(
                "#!/bin/sh\nshop={}\n{effects}\n{body}\n",
                quoted(&self.path(""))
            ),
        );
    }

    /// Puts a script on the shop's `PATH`, as it is.
    pub(crate) fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What was performed so far, a line each.
    pub(crate) fn effects(&self) -> String {
        self.read("effects")
    }

    /// A program, working in the shop, with nothing of the ledger's in its environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for name in ["DB", "FORMAT", "BUSY_TIMEOUT", "NO_CREATE"] {
            command.env_remove(format!("RECEIPT_LEDGER_{name}"));
        }
        let path = std::env::var("PATH").unwrap();
        command
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .stdin(Stdio::null());
        command
    }

    /// Runs shell text.
    pub(crate) fn sh(&self, text: &str) -> Said {
        said(self.command("sh").args(["-c", text]))
    }

    /// Text from README.md with its folder's name replaced by this one's.
    pub(crate) fn here(&self, text: &str) -> String {
        text.replace(
            FOLDER_IN_README,
            self.path("").to_str().unwrap().trim_end_matches('/'),
        )
    }

    /// Text that a program said with this folder's name replaced by README.md's.
    pub(crate) fn there(&self, text: &str) -> String {
        text.replace(
            self.path("").to_str().unwrap().trim_end_matches('/'),
            FOLDER_IN_README,
        )
    }
}

/// Runs a command to its end.
pub(crate) fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// The binary that was built for this test.
pub(crate) fn real_binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_receipt-ledger"))
}

/// A path as a word of the shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"))
}
