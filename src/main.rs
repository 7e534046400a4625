//! The `receipt-ledger` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
