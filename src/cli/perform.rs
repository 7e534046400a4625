//! One attempt, from the decision to perform it to the outcome on record. `run` and `drain` share it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::args::PerformArgs;
use super::exit::Exit;
use super::failed_exit::FailedExit;
use super::failure::Failure;
use super::heartbeat::Heartbeat;
use super::open::{OpenLedger, SETTLE_BUSY_TIMEOUT};
use super::output::Output;
use super::settings::{self, Settings};
use receipt_ledger::child::{
    Capture, Captured, Command, Ending, Input, Outcome, Report, StartError, Supervisor,
};
use receipt_ledger::decide::{ConcludeAnswer, Renew, Reserve, Settle, Settlement};
use receipt_ledger::receipt::{ResultJson, State, Text};

/// How long a command may take after TERM before it gets KILL.
const KILL_AFTER: Duration = Duration::from_secs(10);
/// How much of a command's standard output is kept.
const CAPTURED_BYTES_MAX: usize = 1024 * 1024;

/// How a decided attempt is performed.
#[derive(Debug)]
pub(crate) struct Performance<'a> {
    pub(crate) args: &'a PerformArgs,
    pub(crate) settings: &'a Settings,
    pub(crate) output: Output,
    /// The payload on standard input, or this process's.
    pub(crate) stdin: Input,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Performed {
    /// How `run` ends.
    pub(crate) exit: Exit,
    /// What stands on record; nothing if the outcome could not be recorded.
    pub(crate) state: Option<State>,
    /// Whether the command was started.
    pub(crate) started: bool,
    /// Whether all that was captured has reached standard output.
    pub(crate) passed_on: bool,
    /// The first signal that came.
    pub(crate) signal: Option<i32>,
}

/// Starts the command under an attempt that the ledger has just given, records what came of it, says how to end.
pub(crate) fn perform(
    performance: Performance<'_>,
    request: &Reserve,
    attempt: u32,
    ledger: &mut OpenLedger,
    supervisor: &mut Supervisor,
) -> Result<Performed, Failure> {
    let Performance {
        args,
        settings,
        output,
        stdin,
    } = performance;
    let command = command(args, settings, stdin, request, attempt, ledger);
    let heartbeat = request.lease_ms.and_then(|lease_ms| {
        let (key, owner) = (request.key.clone(), request.facts.owner.clone());
        Heartbeat::start(
            Renew {
                key,
                attempt,
                owner,
                lease_ms,
            },
            settings,
            output,
        )
    });
    let Report {
        outcome,
        signal,
        captured,
    } = supervisor.supervise(command);
    let ended = Ended::of(&outcome, captured.as_ref(), args.failed_exit.as_ref());
    if let Outcome::NotStarted(_) = outcome {
        output.note(&ended.told);
    }
    let settle = Settle {
        key: request.key.clone(),
        attempt: Some(attempt),
        owner: None,
        settlement: ended.settlement,
    };
    // The effect may have happened: now the ledger must be reached.
    let busy_timeout = settings.busy_timeout.unwrap_or(SETTLE_BUSY_TIMEOUT);
    let waits = ledger.store().set_busy_timeout(busy_timeout);
    let recorded = waits.and_then(|()| ledger.conclude(&settle));
    if let Some(heartbeat) = heartbeat {
        heartbeat.stop();
    }
    let signal = signal.or(supervisor.pending());
    let (exit, state) = match recorded {
        Ok(ConcludeAnswer::Stands { state, .. }) => {
            let unearned = ended.exit.is_success() && state != State::Succeeded;
            (
                if unearned {
                    Exit::NOT_PERFORMED
                } else {
                    ended.exit
                },
                Some(state),
            )
        }
        Ok(ConcludeAnswer::Refused(_)) => {
            let why = "the ledger no longer takes it from this attempt; see 'show --history'";
            (
                not_recorded(&settle, &ended.told, ended.exit, why, output),
                None,
            )
        }
        Err(error) => (
            not_recorded(&settle, &ended.told, ended.exit, &error.to_string(), output),
            None,
        ),
    };
    let passed_on = pass_on(captured, supervisor, output);
    Ok(Performed {
        exit: if passed_on { exit } else { Exit::NO_ANSWER },
        state,
        started: ended.started,
        passed_on,
        signal,
    })
}

fn command(
    args: &PerformArgs,
    settings: &Settings,
    stdin: Input,
    request: &Reserve,
    attempt: u32,
    ledger: &mut OpenLedger,
) -> Command {
    let mut envs: Vec<(OsString, OsString)> = vec![
        ("RECEIPT_LEDGER_KEY".into(), request.key.as_str().into()),
        (
            "RECEIPT_LEDGER_FINGERPRINT".into(),
            request.fingerprint.as_str().into(),
        ),
        ("RECEIPT_LEDGER_ATTEMPT".into(), attempt.to_string().into()),
    ];
    if settings.db_by_flag {
        envs.push((settings::DB.into(), ledger.store().name()));
    }
    let mut words = args.command.iter().cloned();
    Command {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        envs,
        stdin,
        timeout: args.timeout,
        kill_after: KILL_AFTER,
        capture: args.capture.then_some(Capture {
            bytes_max: CAPTURED_BYTES_MAX,
        }),
    }
}

/// What a command's end means.
struct Ended {
    settlement: Settlement,
    exit: Exit,
    /// In words.
    told: String,
    started: bool,
}

impl Ended {
    fn of(
        outcome: &Outcome,
        captured: Option<&Captured>,
        failed_exit: Option<&FailedExit>,
    ) -> Ended {
        match outcome {
            Outcome::NotStarted(StartError::NotFound) => {
                Ended::not_started("command not found".to_owned(), Exit::NOT_FOUND)
            }
            Outcome::NotStarted(StartError::Other(error)) => {
                Ended::not_started(format!("command not started: {error}"), Exit::CANNOT_START)
            }
            Outcome::SignalledBeforeStart(signal) => Ended::not_started(
                format!("command not started: signal {signal} came first"),
                Exit::of_signal(*signal),
            ),
            Outcome::Ended(Ending::Exited(0)) => Ended {
                settlement: Settlement::Succeeded {
                    result: Some(result(captured)),
                },
                exit: Exit::ANSWERED,
                told: "exit code 0".to_owned(),
                started: true,
            },
            Outcome::Ended(Ending::Exited(code)) => {
                let told = format!("exit code {code}");
                let reason = reason(&told);
                let settlement = if failed_exit.is_some_and(|codes| codes.contains(*code)) {
                    Settlement::Failed { reason }
                } else {
                    Settlement::Unknown { reason }
                };
                Ended {
                    settlement,
                    exit: Exit::of_code(*code),
                    told,
                    started: true,
                }
            }
            Outcome::Ended(Ending::Killed(signal)) => Ended::unknown(
                format!("killed by signal {signal}"),
                Exit::of_signal(*signal),
            ),
            Outcome::TimedOut(Ending::Exited(code)) => {
                Ended::unknown(format!("timed out, then exit code {code}"), Exit::TIMED_OUT)
            }
            Outcome::TimedOut(Ending::Killed(signal)) => Ended::unknown(
                format!("timed out, then killed by signal {signal}"),
                Exit::TIMED_OUT,
            ),
            Outcome::Lost(error) => Ended::unknown(
                format!("the system does not tell how it ended: {error}"),
                Exit::NO_ANSWER,
            ),
        }
    }

    fn not_started(told: String, exit: Exit) -> Ended {
        let settlement = Settlement::Failed {
            reason: reason(&told),
        };
        Ended {
            settlement,
            exit,
            told,
            started: false,
        }
    }

    fn unknown(told: String, exit: Exit) -> Ended {
        let settlement = Settlement::Unknown {
            reason: reason(&told),
        };
        Ended {
            settlement,
            exit,
            told,
            started: true,
        }
    }
}

fn reason(told: &str) -> Option<Text> {
    // These texts are short and not empty.
    Text::parse(told).ok()
}

/// `{"exit_code":0}`, and the captured output as text where it is UTF-8.
fn result(captured: Option<&Captured>) -> ResultJson {
    let json = match captured {
        None => serde_json::json!({ "exit_code": 0 }),
        Some(captured) if captured.truncated => {
            serde_json::json!({ "exit_code": 0, "stdout_truncated": true })
        }
        Some(captured) => match std::str::from_utf8(&captured.bytes) {
            Ok(text) => serde_json::json!({ "exit_code": 0, "stdout": text }),
            Err(_) => {
                serde_json::json!({ "exit_code": 0, "stdout_base64": BASE64.encode(&captured.bytes) })
            }
        },
    };
    ResultJson::of_command(&json)
}

/// The captured output of an earlier run, exactly.
pub(crate) fn captured_before(result: Option<&ResultJson>) -> Result<Vec<u8>, Failure> {
    let none = || {
        Failure::new(
            "no-output",
            "it has succeeded, but its output was not kept or was too long to be kept whole",
        )
        .hint("'show' tells what is on record; the effect is not performed again")
    };
    let result = result.ok_or_else(none)?;
    let value: serde_json::Value = serde_json::from_str(result.as_str()).map_err(|_| none())?;
    let member = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    if value.get("exit_code").is_none() {
        return Err(none());
    }
    match (member("stdout"), member("stdout_base64")) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(encoded)) => BASE64.decode(encoded).map_err(|_| none()),
        (None, None) => Err(none()),
    }
}

/// The outcome is known here and nowhere else: it is told loudly, and success is not claimed.
fn not_recorded(settle: &Settle, told: &str, exit: Exit, why: &str, output: Output) -> Exit {
    let (verb, attempt) = match &settle.settlement {
        Settlement::Succeeded { .. } => ("succeeded", settle.attempt),
        Settlement::Failed { .. } => ("failed", settle.attempt),
        Settlement::Unknown { .. } => ("unknown", settle.attempt),
    };
    let attempt = attempt.unwrap_or_default();
    let key = &settle.key;
    let message = format!(
        "attempt {attempt} of {key} ended ({told}) and counts as {verb}, which could not be recorded: {why}"
    );
    output.failure(&Failure::new("not-recorded", message).hint(
        "say it once the ledger can be reached: 'succeed', 'fail' or 'unknown' with --key and --attempt; until then the key counts as performed or unknown",
    ));
    if exit.is_success() {
        Exit::NO_ANSWER
    } else {
        exit
    }
}

/// Waits until what the command wrote has reached standard output, and says whether it has.
fn pass_on(captured: Option<Captured>, supervisor: &mut Supervisor, output: Output) -> bool {
    let Some(captured) = captured else {
        return true;
    };
    match captured.passing_on.finish(supervisor) {
        Ok(()) => true,
        Err(error) => {
            let why = if error.kind() == ErrorKind::Interrupted {
                "a signal came before it was all written".to_owned()
            } else {
                error.to_string()
            };
            output.failure(
                &Failure::new("output", format!("the command's output did not reach standard output: {why}"))
                    .hint("the outcome is on record; with --capture the output is printed again by the next run"),
            );
            false
        }
    }
}
