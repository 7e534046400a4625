//! What README.md says about building and testing, and the scripts that do the same.

use std::fs;
use std::path::Path;

use crate::block::{Block, README};
use crate::shop::Shop;

fn file(name: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).ok()
}

pub(crate) fn the_set_up_commands_work_and_the_second_is_the_one_that_ci_runs(block: &Block) {
    let commands: Vec<&str> = block.text.lines().collect();
    let [first, second] = commands[..] else {
        panic!("there are two set-up commands: {commands:?}")
    };
    // This very test runs under cargo, so cargo is stood in for: it takes its own options and runs the binary.
    let shop = Shop::new();
    shop.program(
        "cargo",
        "[ \"$1 $2 $3 $4\" = 'run --locked --release --' ] || exit 99
         shift 4; exec receipt-ledger \"$@\"",
    );
    let said = shop.sh(first);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (0, "decision=EXECUTE state=reserved attempt=1\n")
    );

    assert_eq!(second, "cargo test --locked");
    // A packaged crate leaves the scripts of this repository out.
    if let Some(script) = file(".ci/run") {
        assert_eq!(
            script.lines().last(),
            Some(format!("run {second}").as_str())
        );
    }
}

#[test]
fn ci_runs_the_same_script_on_both_systems_with_stable_and_the_oldest_rust() {
    let Some(workflow) = file(".github/workflows/ci.yml") else {
        return;
    };
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(workflow.contains("os: [ubuntu-latest, macos-latest]\n"));
    assert!(workflow.contains(&format!("rust: [stable, \"{oldest}\"]\n")));
    assert!(workflow.ends_with("- run: bash .ci/run\n"));
    assert!(README.contains(&format!("Rust {oldest} or later")));
}
