//! `reconcile`: compare with what the provider says it did.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;

use super::super::args::{ColumnArgs, ExportFormat, ReconcileArgs};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{open_to_read, open_to_settle};
use receipt_ledger::reconcile::provider::{ColumnNames, ExportError, Fault, Format, Reading};
use receipt_ledger::reconcile::{Drift, Export, Reconcile, ReconcileAnswer, Report, Scope, Window};

/// How many lines are written at once.
const LINES_AT_ONCE: usize = 256;

pub(crate) fn run(
    args: ReconcileArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let window = window(&args)?;
    let export = export(&args)?;
    let request = Reconcile {
        name: args.provider.to_string_lossy().into_owned(),
        scope: Scope {
            window,
            complete: args.complete,
        },
        prefix: args.prefix.as_ref().map(ToString::to_string),
        settle: args.settle,
        settle_absent: args.settle_absent,
    };
    let mut ledger = if args.settle || args.settle_absent {
        open_to_settle(settings)?
    } else {
        open_to_read(settings)?
    };
    let mut lines = Vec::new();
    let mut written = Ok(());
    let answer = ledger.reconcile(&request, export, &mut |drift| {
        lines.push(line(&drift));
        if lines.len() >= LINES_AT_ONCE {
            written = output.lines(&lines);
            lines.clear();
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    written?;
    let report = match answer {
        ReconcileAnswer::Compared(report) => report,
        ReconcileAnswer::WindowNotOver => {
            return Err(Failure::new(
                "invalid-input",
                "--until is not in the past: an export cannot be complete before its window is over",
            ));
        }
    };
    lines.push(summary(&report));
    output.lines(&lines)?;
    if report.outside > 0 {
        output.note(&format!(
            "{} receipts outside the window have rows in the export and were not looked at",
            report.outside
        ));
    }
    ledger.close()?;
    Ok(Exit::of_reconcile(report.drift))
}

fn window(args: &ReconcileArgs) -> Result<Option<Window>, Failure> {
    match args.since.zip(args.until) {
        Some((since, until)) if since >= until => Err(Failure::new(
            "invalid-input",
            "--until is not later than --since",
        )),
        window => Ok(window.map(|(since, until)| Window { since, until })),
    }
}

/// Reads the whole export before the ledger is opened: what is wrong with it changes nothing.
fn export(args: &ReconcileArgs) -> Result<Export, Failure> {
    let path = args.provider.as_os_str();
    let format = match args.provider_format {
        Some(ExportFormat::Csv) => Format::Csv,
        Some(ExportFormat::Jsonl) => Format::JsonLines,
        None => Format::by_ending(&path.to_string_lossy()).ok_or_else(|| {
            Failure::new(
                "usage",
                "--provider: the name does not end in .csv, .jsonl or .ndjson",
            )
            .hint("say how the export is written with --provider-format csv or jsonl")
        })?,
    };
    let name = if path == "-" {
        "standard input".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    };
    let source = open(path).map_err(|error| unreadable(&name, &error))?;
    reading(&args.columns)
        .read(format, source)
        .map_err(|error| match error {
            ExportError::Io(error) => unreadable(&name, &error),
            ExportError::Wrong { line, fault } => {
                let hint = hint(&fault);
                let message = format!("--provider {name}: {}", ExportError::Wrong { line, fault });
                let failure = Failure::new("invalid-input", message);
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
        })
}

fn open(path: &OsStr) -> io::Result<Box<dyn Read>> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(path)?))
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::io(&format!("cannot read --provider {name}"), error)
}

fn reading(columns: &ColumnArgs) -> Reading {
    let ColumnArgs {
        key_column,
        status_column,
        applied_status,
        amount_column,
        currency_column,
        reference_column,
    } = columns;
    let names = ColumnNames {
        key: key_column.clone(),
        status: status_column.clone(),
        amount: amount_column.clone(),
        currency: currency_column.clone(),
        reference: reference_column.clone(),
    };
    Reading::new(names, applied_status.clone())
}

fn hint(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::NoColumn(_) => {
            Some("name the columns as the export does: --key-column NAME and so on")
        }
        Fault::UnclosedQuote | Fault::TextBehindQuote => {
            Some("a reader that passes over this would lose rows; export it again")
        }
        Fault::Amount(_) => {
            Some("amounts are plain decimals: no thousands separators, no currency signs")
        }
        Fault::Key(_) => {
            Some("leave out of the export what was not performed under a key of this ledger")
        }
        Fault::Empty
        | Fault::NoRow
        | Fault::Twice(_)
        | Fault::Currency(_)
        | Fault::Ragged { .. }
        | Fault::NotUtf8
        | Fault::TooLong
        | Fault::NotAnObject
        | Fault::NotAText(_)
        | Fault::NowAndThen(_) => None,
    }
}

/// One key in drift, every name always.
fn line(drift: &Drift) -> Line {
    let ours = drift.amount.as_ref();
    let row = drift.row.as_ref();
    let number = |number: Option<u64>| number.map_or(Value::Absent, Value::Number);
    Line::default()
        .word("drift", drift.category.as_str())
        .word("key", drift.key.as_str())
        .fact("state", drift.state.map(|state| state.as_str()).into())
        .fact("attempt", number(drift.attempt.map(u64::from)))
        .fact("pruned", Value::Flag(drift.pruned))
        .fact("since", drift.since.into())
        .fact("amount", ours.map(|ours| ours.value()).into())
        .fact("currency", ours.map(|ours| ours.currency()).into())
        .fact(
            "provider_amount",
            row.and_then(|row| row.amount.as_deref()).into(),
        )
        .fact(
            "provider_currency",
            row.and_then(|row| row.currency.as_deref()).into(),
        )
        .fact(
            "reference",
            row.and_then(|row| row.reference.as_deref()).into(),
        )
        .fact("line", number(row.map(|row| row.line)))
        .fact("rows", number(u64::try_from(drift.rows).ok()))
}

fn summary(report: &Report) -> Line {
    let age = report.oldest_unreconciled_age_s;
    let line = Line::default()
        .fact("agree", Value::Number(report.agree))
        .fact("in_flight", Value::Number(report.in_flight))
        .fact("drift_count", Value::Number(report.drift))
        .fact(
            "oldest_unreconciled_age_s",
            age.map_or(Value::Absent, Value::Number),
        );
    report.figures.iter().fold(line, |line, (currency, sum)| {
        line.fact(format!("drift_amount_{currency}"), Value::Text(sum))
    })
}
