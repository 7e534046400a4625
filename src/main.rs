//! The `receipt-ledger` binary.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
