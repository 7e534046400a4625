//! Help texts: the commands in groups, an example and the exit codes for each.

use clap::Command;

/// The commands by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Decide", &["run", "reserve"]),
    (
        "Many, later, together",
        &["record", "drain", "batch", "apply"],
    ),
    (
        "Say what came of it",
        &["succeed", "fail", "unknown", "renew", "resolve"],
    ),
    ("Look", &["show", "list", "stats"]),
    (
        "Operate",
        &[
            "init",
            "reconcile",
            "prune",
            "backup",
            "restore",
            "export",
            "import",
            "verify",
            "completions",
            "man",
        ],
    ),
];

const EXIT_CODES: &str = "Exit codes: 0 an answer (a skip is one), 2 no answer, 3 a conflict; run and drain pass on their command's.
After 2 or 3 the effect must not be performed.";

/// What `--version` says.
pub(crate) fn version() -> String {
    let sqlite = rusqlite::version();
    format!("{} (SQLite {sqlite})", env!("CARGO_PKG_VERSION"))
}

/// Puts the commands into groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text.push_str("\n{options}\n\n");
    text.push_str(EXIT_CODES);
    text.push_str("\n'receipt-ledger COMMAND --help' says more of a command.\n");
    command.help_template(text)
}

pub(crate) const RESERVE: &str = "\
Prints 'decision=… state=… attempt=…'. Perform the effect on EXECUTE and RETRY, on nothing else:

  line=$(receipt-ledger --db receipts.db reserve --key charge:v1:order-42 --payload-file order.json) || exit
  eval \"$line\"
  case $decision in EXECUTE|RETRY) charge order.json && receipt-ledger --db receipts.db succeed \\
    --key charge:v1:order-42 --attempt \"$attempt\" ;; esac

Exit codes: 0 a decision, a skip too (N with --skip-exit N), 2 no decision, 3 CONFLICT.
After 2 or 3 the effect must not be performed.";

pub(crate) const RUN: &str = "\
Decides as reserve does; on EXECUTE and RETRY starts the command and records what came of it: exit code 0 is
succeeded, a code in --failed-exit or a command that cannot be started is failed, anything else is unknown.
The command finds RECEIPT_LEDGER_KEY, _FINGERPRINT, _ATTEMPT and _DB in its environment.

Example:
  receipt-ledger --db receipts.db run --key report:2026-11-29 --fingerprint v1 -- send-report

Exit codes: the command's own (128+n for a signal, 124 for --timeout, 126 and 127 if it cannot be started);
not started: 0 if it has succeeded before, 75 if in flight, failed or unknown (--skip-exit N), 3 CONFLICT,
2 no decision. 2 also where the outcome or the output is lost: 0 always means that success is on record.";

pub(crate) const RECORD: &str = "\
Prints 'created=true state=recorded attempt=0', or created=false and what stands. 'drain' performs it later.

Example:
  receipt-ledger --db receipts.db record --key mail:v1:order-42 --payload-file mail.json --keep-payload

Exit codes: 0 it is on record, 2 it is not, 3 CONFLICT.";

pub(crate) const DRAIN: &str = "\
Takes recorded receipts, oldest first (with --allow-failed-retry then failed ones whose payload is kept), and performs
the command for each as 'run' does, with the payload on standard input. Any number of drains may work side by side.
Prints 'drained=… succeeded=… failed=… unknown=…' at the end.

Example:
  receipt-ledger --db receipts.db drain --prefix mail: --failed-exit 75 -- send-mail

Exit codes: 0 all succeeded or there were none, 75 some did not, 2 the command cannot be started or an outcome could
not be recorded, 128+n a signal ended it.";

pub(crate) const APPLY: &str = "\
Prints reserve's line. If the SQL fails, nothing is kept, not even the receipt. Not allowed in it: transaction control,
ATTACH, DETACH, PRAGMA, the ledger's own tables.

Example:
  receipt-ledger --db shop.db apply --key credit:v1:order-42 --fingerprint v1 --sql credit.sql

Exit codes: 0 a decision, a skip too; 2 nothing was performed; 3 CONFLICT.";

pub(crate) const BATCH: &str = "\
Reads {\"op\":\"reserve\",\"key\":\"…\",\"fingerprint\":\"…\"} and so for succeed, fail, unknown, renew, resolve, record,
show, a line each; writes one answer a line, in order. Members are named as the flags, with _ for -; payload and result
take any JSON value; id is echoed. What has arrived is decided and synced together, at most 1,000 lines or 8 MiB.

Example:
  receipt-ledger --db receipts.db batch < requests.jsonl > answers.jsonl

Exit codes: 0 every line was answered, 3 a conflict among them, 2 a line got an error.";

pub(crate) const SUCCEED: &str = "\
Example:
  receipt-ledger --db receipts.db succeed --key charge:v1:order-42 --attempt 1 --result-json '{\"charge\":\"ch_9\"}'

Exit codes: 0 it stands, also if it was said before; 2 it could not be recorded.";

pub(crate) const FAIL: &str = "\
Only for what is known not to have happened; a timeout proves nothing: say 'unknown' then.

Example:
  receipt-ledger --db receipts.db fail --key charge:v1:order-42 --attempt 1 --reason 'card declined'

Exit codes: 0 it stands, also if it was said before; 2 it could not be recorded.";

pub(crate) const UNKNOWN: &str = "\
Example:
  receipt-ledger --db receipts.db unknown --key charge:v1:order-42 --attempt 1 --reason 'timeout after 30s'

Exit codes: 0 it stands, also if it was said before; 2 it could not be recorded.";

pub(crate) const RENEW: &str = "\
Example:
  receipt-ledger --db receipts.db renew --key charge:v1:order-42 --attempt 1 --lease 60s

Exit codes: 0 the lease runs again; 2 it does not: somebody else took the key or settled it.";

pub(crate) const RESOLVE: &str = "\
Example:
  receipt-ledger --db receipts.db resolve --key charge:v1:order-42 --as succeeded --evidence 'charge ch_9 in the dashboard'

Exit codes: 0 it stands, also if it was said before; 2 it could not be recorded; 3 the fingerprint differs.";

pub(crate) const SHOW: &str = "\
Example:
  receipt-ledger --db receipts.db show --key charge:v1:order-42 --history

Exit codes: 0 shown, 2 no such receipt or no ledger.";

pub(crate) const LIST: &str = "\
Prints show's line for each receipt; on a terminal, a table. Pruned receipts are left out.

Example:
  receipt-ledger --db receipts.db list --state unknown --older-than 1h

Exit codes: 0 listed, 2 no ledger.";

pub(crate) const STATS: &str = "\
Example:
  receipt-ledger --db receipts.db stats --prometheus /var/lib/node_exporter/receipts.prom

Exit codes: 0 counted, 2 no ledger, or the file could not be written.";

pub(crate) const RECONCILE: &str = "\
Prints a line 'drift=CATEGORY key=… …' for each key on which the two do not agree, then
'agree=… in_flight=… drift_count=… oldest_unreconciled_age_s=… drift_amount_EUR=…'. A row proves something only where
its status is one of --applied-status; without a status column every row was applied. What the export lacks proves
something only with --complete, and only for receipts whose whole life lies between --since and --until.

Example:
  receipt-ledger --db receipts.db reconcile --provider charges.csv --key-column idempotency_key \\
    --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --complete --settle

Exit codes: 0 no drift (is left), 3 drift, 2 no answer.";

pub(crate) const PRUNE: &str = "\
Settled receipts only, by the time they were settled, and none whose run still has an unsettled one. What is pruned
answers as before, for ever; only texts, results, times and history are gone. --forget deletes receipts whole: then
their keys are performed again.

Example:
  receipt-ledger --db receipts.db prune --older-than 90d

Exit codes: 0 pruned, 2 not, or not all.";

pub(crate) const BACKUP: &str = "\
The copy decides nothing until somebody accepts the gap: see 'restore'.

Example:
  receipt-ledger --db receipts.db backup --to receipts-2026-11-29.db

Exit codes: 0 the copy is there and synced, 2 it is not.";

pub(crate) const RESTORE: &str = "\
--from puts a copy in the ledger's place while nobody uses it, and keeps the copy. What was decided after the copy was
taken is not in it: look it up (reconcile) before --accept-gap puts the ledger in use.

Example:
  receipt-ledger --db receipts.db restore --from receipts-2026-11-29.db
  receipt-ledger --db receipts.db restore --accept-gap

Exit codes: 0 done, 2 not done.";

pub(crate) const EXPORT: &str = "\
Example, moving to another ledger:
  receipt-ledger --db receipts.db export --retire | receipt-ledger --db other.db import -

Exit codes: 0 written whole, 2 not.";

pub(crate) const IMPORT: &str = "\
All or nothing; again changes nothing. A ledger filled from an export that did not retire its source is a copy, and
decides nothing until 'restore --accept-gap'.

Example:
  receipt-ledger --db other.db import receipts.jsonl

Exit codes: 0 taken, 2 not an export or no ledger, 3 it contradicts what the ledger holds; nothing was changed then.";

pub(crate) const VERIFY: &str = "\
Example:
  receipt-ledger --db receipts.db verify

Exit codes: 0 all is well, 2 findings (a line each), or no ledger.";

pub(crate) const COMPLETIONS: &str = "\
Example:
  receipt-ledger completions bash > /etc/bash_completion.d/receipt-ledger

Exit codes: 0 printed, 2 not.";

pub(crate) const MAN: &str = "\
Example:
  receipt-ledger man > receipt-ledger.1

Exit codes: 0 printed, 2 no such command.";

pub(crate) const INIT: &str = "\
Also puts a ledger into a SQLite database of yours. On a ledger it changes nothing.

Example:
  receipt-ledger --db receipts.db init

Exit codes: 0 the ledger is there, 2 it could not be created.";

/// The operator's chapter of the manual page.
pub(crate) const CHAPTER: &str = "\
FOR WHO IS ON CALL

What to alert on: the age of the oldest unknown receipt (stats: oldest_unknown_at) and of the oldest unreconciled one
(reconcile: oldest_unreconciled_age_s), not counts: a count of one that stays is worse than a count of ten that moves.
'stats --prometheus FILE' writes the first for a textfile collector, whole at every moment. Alert, too, when that file
grows old, and on any exit code of 2 or 3.

Unknown: nobody knows whether the effect happened. Look it up at the provider by the key. It happened:
'resolve --as succeeded --evidence TEXT'. It did not: 'resolve --as failed --evidence TEXT', then whoever performs it
says '--allow-failed-retry'. Never delete the receipt, and never choose another key.

Retention: 'prune --older-than 90d' from cron. Age counts from the settlement; what is not settled, or belongs to a run
that is not finished, stays. What is pruned answers as before, for ever. '--forget' deletes: such a key is performed
again.

Backup: 'backup --to FILE' while others write. The copy looks, but decides nothing.

After a disaster: 'restore --from FILE' while nobody uses the ledger. What was decided after the copy was taken is not
in it: 'reconcile' with the provider's export from then on, then 'restore --accept-gap'.

Another machine: stop the callers, 'export --retire' here, 'import' there. The old ledger then refuses to decide. A
plain copy of the file is whole when nobody uses it, but two ledgers must never both decide.

Is it well: 'verify' reads everything: the file, each receipt, and whether its history explains it. Run it on copies,
too.

FILES

A ledger is one file. While it is used, SQLite keeps its log beside it, PATH-wal and PATH-shm. Never remove or copy one
without the other. At rest the log is missing or empty, and the file is whole by itself.";
