//! Every example in README.md, run for real: a fenced block that no test runs is itself a failure.
//!
//! A `console` block needs no name: it is typed into a shell, and what it shows is compared with what comes back.
//! Any other block has a name behind its language, and a test of that name here. Only a `text` block is not run.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod block;
mod cron_and_ci;
mod documents;
mod from_rust;
mod many;
mod project;
mod provider;
mod reconcile;
mod run;
mod session;
mod shell;
mod shop;
mod tables;

macro_rules! examples {
    ($($name:ident: $test:path;)*) => {
        $(
            #[test]
            fn $name() {
                $test(&block::named(&stringify!($name).replace('_', "-")));
            }
        )*

        /// The blocks that a test of their own runs.
        const NAMED: &[&str] = &[$(stringify!($name)),*];
    };
}

examples! {
    set_up: project::the_set_up_commands_work_and_the_second_is_the_one_that_ci_runs;
    daily_report: run::a_report_is_sent_once_a_day_and_cron_is_told_nothing_but_what_matters;
    deploy_once: run::a_job_that_is_run_again_deploys_once_and_ends_as_the_first_did;
    create_order_once: run::the_order_is_the_same_one_every_time;
    charge_by_curl: provider::a_charge_is_sent_once_and_again_only_if_nothing_was_sent;
    charge_orders: shell::an_order_is_charged_once;
    cron: cron_and_ci::a_crontab_performs_only_with_the_ledger_that_was_created_by_hand;
    deploy: cron_and_ci::a_job_that_is_run_again_does_not_deploy_twice;
    outbox: many::what_is_recorded_is_mailed_once_by_cron_and_what_was_not_sent_is_tried_again;
    batch_from_python: many::a_python_program_that_asks_line_by_line_charges_each_order_once;
    batch_from_bash: many::a_bash_script_that_asks_line_by_line_mails_each_order_once;
    reconcile_charges: reconcile::drift_is_mailed_and_its_age_is_left_for_prometheus;
    completions_and_manual: documents::completions_and_manual_pages_lie_where_they_are_looked_for;
    from_rust: from_rust::the_block_is_the_code_that_is_tested;
}

/// The blocks that need a PostgreSQL server: `tests/postgres` runs them.
const ON_A_SERVER: &[&str] = &[
    "ledger_on_a_server",
    "ledger_grants",
    "deploy_from_any_runner",
    "cron_fleet",
    "move_to_postgresql",
];

#[test]
fn every_console_block_prints_what_it_shows() {
    for block in block::all().iter().filter(|block| block.info == "console") {
        session::prints_what_it_shows(block);
    }
}

#[test]
fn every_block_is_run_by_a_test() {
    let names = NAMED.iter().chain(ON_A_SERVER);
    let mut unseen: Vec<String> = names.map(|name| name.replace('_', "-")).collect();
    for block in block::all() {
        match block.info.split_once(' ') {
            None if block.info == "console" || block.info == "text" => {}
            Some((_, name)) if unseen.iter().any(|unseen| unseen == name) => {
                unseen.retain(|unseen| unseen != name)
            }
            _ => panic!(
                "README.md line {}: no test runs this block: ```{}",
                block.line, block.info
            ),
        }
    }
    assert!(
        unseen.is_empty(),
        "tests without a block in README.md: {unseen:?}"
    );
}
