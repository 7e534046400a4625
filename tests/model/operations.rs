//! What can be asked, as plain values: drawn at random, printed when a sequence fails.

use fastrand::Rng;

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const TEN_YEARS: i64 = 10 * 365 * 24 * HOUR;

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Reserve {
        key: usize,
        content: u8,
        allow_failed_retry: bool,
        within: Option<i64>,
        max_attempts: Option<u32>,
        lease: Option<i64>,
        facts: Facts,
    },
    Record {
        key: usize,
        content: u8,
        facts: Facts,
    },
    Succeed {
        key: usize,
        attempt: Speaks,
        owner: Option<u8>,
        result: Option<&'static str>,
    },
    Fail {
        key: usize,
        attempt: Speaks,
        owner: Option<u8>,
        reason: Option<&'static str>,
    },
    Unknown {
        key: usize,
        attempt: Speaks,
        owner: Option<u8>,
        reason: Option<&'static str>,
    },
    Renew {
        key: usize,
        attempt: Speaks,
        owner: Option<u8>,
        lease: i64,
    },
    Resolve {
        key: usize,
        content: Option<u8>,
        attempt: Speaks,
        owner: Option<u8>,
        succeeded: bool,
        result: Option<&'static str>,
    },
    MoveClock(i64),
    PastEveryLease,
    Reopen,
}

/// Which attempt a call names, against the current one when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    OfNone,
    Current,
    Off(i64),
}

/// What a caller puts on a receipt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) owner: Option<u8>,
    pub(crate) run: Option<u8>,
    pub(crate) amount: Option<(&'static str, &'static str)>,
}

const RESULTS: [&str; 6] = [
    "null",
    "0",
    "false",
    r#""""#,
    r#"{"id":"d_42"}"#,
    r#"{"b":1,"a":1.0}"#,
];
const REASONS: [&str; 3] = ["timeout", "line\ndecision=EXECUTE", "Größe 'unknown'"];
const AMOUNTS: [(&str, &str); 3] = [("12.50", "EUR"), ("00042", "JPY"), ("-1", "EUR")];

/// Draws the next step. Keys are few, so that calls meet.
pub(crate) fn draw(rng: &mut Rng, keys: usize) -> Step {
    let key = rng.usize(..keys);
    match rng.u32(..100) {
        0..30 => Step::Reserve {
            key,
            content: content(rng),
            allow_failed_retry: rng.u32(..3) > 0,
            within: maybe(rng, 3, |rng| {
                pick(
                    rng,
                    &[
                        1,
                        SECOND,
                        HOUR / 2,
                        HOUR,
                        2 * HOUR,
                        3 * HOUR,
                        24 * HOUR,
                        TEN_YEARS * 2,
                    ],
                )
            }),
            max_attempts: maybe(rng, 5, |rng| rng.u32(1..5)),
            lease: maybe(rng, 2, |rng| pick(rng, &[1, 30 * SECOND, 2 * HOUR])),
            facts: facts(rng),
        },
        30..34 => Step::Record {
            key,
            content: content(rng),
            facts: facts(rng),
        },
        34..44 => Step::Succeed {
            key,
            attempt: speaks(rng),
            owner: said_owner(rng),
            result: maybe(rng, 2, |rng| pick(rng, &RESULTS)),
        },
        44..58 => Step::Fail {
            key,
            attempt: speaks(rng),
            owner: said_owner(rng),
            reason: reason(rng),
        },
        58..65 => Step::Unknown {
            key,
            attempt: speaks(rng),
            owner: said_owner(rng),
            reason: reason(rng),
        },
        65..71 => Step::Renew {
            key,
            attempt: speaks(rng),
            owner: said_owner(rng),
            lease: pick(rng, &[1, 30 * SECOND, 2 * HOUR]),
        },
        71..80 => {
            let succeeded = rng.u32(..4) == 0;
            Step::Resolve {
                key,
                content: maybe(rng, 2, content),
                attempt: speaks(rng),
                owner: said_owner(rng),
                succeeded,
                result: if succeeded {
                    maybe(rng, 2, |rng| pick(rng, &RESULTS))
                } else {
                    None
                },
            }
        }
        80..95 => clock(rng),
        95..97 => Step::PastEveryLease,
        _ => Step::Reopen,
    }
}

fn clock(rng: &mut Rng) -> Step {
    match rng.u32(..12) {
        0..6 => Step::MoveClock(rng.i64(0..2 * SECOND)),
        6..9 => Step::MoveClock(rng.i64(0..3 * HOUR)),
        9..11 => Step::MoveClock(-HOUR),
        _ => Step::MoveClock(TEN_YEARS),
    }
}

fn maybe<T>(rng: &mut Rng, one_in: u32, draw: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    (rng.u32(..one_in) == 0).then(|| draw(rng))
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())]
}

/// Mostly the same content.
fn content(rng: &mut Rng) -> u8 {
    if rng.u32(..10) == 0 { rng.u8(1..4) } else { 0 }
}

fn facts(rng: &mut Rng) -> Facts {
    Facts {
        owner: maybe(rng, 3, |rng| rng.u8(..2)),
        run: maybe(rng, 4, |rng| rng.u8(..2)),
        amount: maybe(rng, 4, |rng| pick(rng, &AMOUNTS)),
    }
}

fn said_owner(rng: &mut Rng) -> Option<u8> {
    maybe(rng, 5, |rng| rng.u8(..2))
}

fn reason(rng: &mut Rng) -> Option<&'static str> {
    maybe(rng, 2, |rng| pick(rng, &REASONS))
}

fn speaks(rng: &mut Rng) -> Speaks {
    match rng.u32(..10) {
        0..3 => Speaks::OfNone,
        3..7 => Speaks::Current,
        7..9 => Speaks::Off(-1),
        _ => Speaks::Off(pick(rng, &[1, -2, 7])),
    }
}
