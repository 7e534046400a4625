//! As the other tests' scratch folder, on a database of its own.

use std::ops::Deref;

#[path = "../support/mod.rs"]
pub(crate) mod base;

pub(crate) use base::{Said, binary, said};

use super::cluster::{Cluster, shared};

/// A scratch folder and a database.
pub(crate) struct Scratch {
    base: base::Scratch,
    pub(crate) database: String,
    pub(crate) url: String,
}

impl Scratch {
    /// On a database without a ledger.
    pub(crate) fn new() -> Scratch {
        Scratch::of(shared())
    }

    /// The same on another server.
    pub(crate) fn of(cluster: &Cluster) -> Scratch {
        let database = cluster.database();
        let url = cluster.url(&database);
        Scratch {
            base: base::Scratch::on(&url),
            database,
            url,
        }
    }

    /// On a database with a ledger.
    pub(crate) fn with_ledger() -> Scratch {
        Scratch::new().init()
    }

    pub(crate) fn init(self) -> Scratch {
        let said = self.base.run("init");
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("created=true\n", 0),
            "{said:?}"
        );
        self
    }

    /// The same database under another URL.
    pub(crate) fn at(&self, url: &str) -> base::Scratch {
        base::Scratch::on(url)
    }

    /// Runs SQL beside the ledger.
    pub(crate) fn sql(&self, sql: &str) -> String {
        shared().sql(&self.database, sql)
    }
}

impl Deref for Scratch {
    type Target = base::Scratch;

    fn deref(&self) -> &base::Scratch {
        &self.base
    }
}

/// What `batch` with these options says to these lines, fed at once.
pub(crate) fn batch_of(ledger: &base::Scratch, options: &[&str], lines: &str) -> Said {
    std::fs::write(ledger.path("lines"), lines).unwrap();
    let mut batch = ledger.command(options);
    batch.arg("batch");
    batch.stdin(std::fs::File::open(ledger.path("lines")).unwrap());
    said(&batch.output().unwrap())
}
