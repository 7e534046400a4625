//! Random receipts and rows against a model that was written down from the contract and knows nothing of the code.

use receipt_ledger::receipt::{Amount, State};
use receipt_ledger::reconcile::{Category, Figures, Finding, Row, Rows, Scope, Window, compare};

use crate::cast::*;

/// xorshift64*, so that a failing seed can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound
    }

    fn moment(&mut self) -> i64 {
        SINCE + i64::try_from(self.below(8)).unwrap()
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Everything about one key in plain numbers; money in cents.
#[derive(Debug)]
struct Case {
    /// 0 nothing, 1 whole, 2 pruned.
    kept: u64,
    state: &'static str,
    attempt: u32,
    created: i64,
    first: Option<i64>,
    updated: i64,
    lease: Option<i64>,
    ours: Option<(i64, &'static str)>,
    /// `None`: the provider has no row; else the applied ones.
    theirs: Option<Vec<Option<(i64, &'static str)>>>,
    window: Option<(i64, i64)>,
    complete: bool,
    now: i64,
}

const STATES: [&str; 5] = ["recorded", "reserved", "unknown", "succeeded", "failed"];

fn case(random: &mut Random) -> Case {
    let money = |random: &mut Random| {
        let cents = i64::try_from(random.below(3)).unwrap() * 5 - 5;
        let currency = ["EUR", "USD"][usize::from(random.below(4) == 0)];
        random.chance().then_some((cents, currency))
    };
    let kept = [0, 1, 1, 1, 1, 2][usize::try_from(random.below(6)).unwrap()];
    let state = if kept == 2 {
        STATES[3 + usize::from(random.chance())]
    } else {
        STATES[usize::try_from(random.below(5)).unwrap()]
    };
    let ours = money(random);
    let theirs = (random.below(3) > 0).then(|| {
        let count = [0, 1, 1, 1, 2, 3][usize::try_from(random.below(6)).unwrap()];
        (0..count).map(|_| money(random)).collect()
    });
    let window = (random.below(4) > 0).then(|| {
        let (a, b) = (random.moment(), random.moment());
        (a.min(b), a.max(b) + 1)
    });
    let attempt = if state == "recorded" {
        0
    } else {
        1 + u32::from(random.chance())
    };
    Case {
        kept,
        state,
        attempt,
        created: random.moment(),
        first: (attempt > 0 && random.below(4) > 0).then(|| random.moment()),
        updated: random.moment(),
        lease: (state == "reserved" && random.chance()).then(|| random.moment()),
        ours: if kept == 1 { ours } else { None },
        theirs,
        window,
        complete: window.is_some() && random.chance(),
        now: random.moment() + 2,
    }
}

/// The contract's words, one after the other.
fn expected(case: &Case) -> &'static str {
    let last = case.updated.max(case.lease.unwrap_or(0));
    let begin = if case.attempt == 0 {
        Some(case.created)
    } else {
        case.first
    };
    if let (1, Some((since, until))) = (case.kept, case.window) {
        let before = last < since;
        let behind = begin.is_some_and(|begin| begin >= until);
        if before || behind {
            return "outside";
        }
    }
    let unknown_by_lease =
        case.state == "reserved" && case.lease.is_some_and(|end| end <= case.now);
    let says = match case.kept {
        0 => "nothing",
        _ if unknown_by_lease => "unknown",
        _ => case.state,
    };
    if let Some(theirs) = &case.theirs {
        if theirs.is_empty() {
            return "in_flight";
        }
        if theirs.len() > 1 {
            return "applied_twice";
        }
        return match says {
            "nothing" => "unrecorded",
            "reserved" => "in_flight",
            "succeeded" if matches!((case.ours, theirs[0]), (Some(a), Some(b)) if a != b) => {
                "amount_differs"
            }
            "succeeded" => "agree",
            _ => "applied_not_recorded",
        };
    }
    let (1, true, Some((since, until)), Some(begin)) =
        (case.kept, case.complete, case.window, begin)
    else {
        return "-";
    };
    if begin < since || last >= until || until >= case.now {
        return "-";
    }
    match says {
        "succeeded" => "recorded_not_applied",
        "unknown" => "not_applied",
        "failed" => "agree",
        _ => "in_flight",
    }
}

/// Cents that are uncertain in one currency.
fn expected_cents(case: &Case, category: &str, currency: &str) -> i64 {
    let of = |money: Option<(i64, &str)>| match money {
        Some((cents, of)) if of == currency => cents,
        _ => 0,
    };
    let theirs = case.theirs.as_deref().unwrap_or_default();
    let or_ours = |row: &Option<(i64, &'static str)>| of(row.or(case.ours)).abs();
    match category {
        "recorded_not_applied" | "not_applied" => of(case.ours).abs(),
        "applied_not_recorded" | "unrecorded" => or_ours(&theirs[0]),
        "applied_twice" => theirs[1..].iter().map(or_ours).sum(),
        "amount_differs" => (of(case.ours) - of(theirs[0])).abs(),
        _ => 0,
    }
}

fn decimal(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let digits = format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100);
    // Now and then with a digit too much, which changes nothing.
    if cents % 10 == 0 {
        format!("{digits}0")
    } else {
        digits
    }
}

#[test]
fn compare_and_the_figures_are_what_a_naive_model_says() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 1..=200_000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let case = case(&mut random);
        let mut whole_receipt = receipt(State::parse(case.state).unwrap());
        whole_receipt.attempt = case.attempt;
        whole_receipt.created_at = at(case.created);
        whole_receipt.first_reserved_at = case.first.map(at);
        whole_receipt.updated_at = at(case.updated);
        whole_receipt.lease_expires_at = case.lease.map(at);
        whole_receipt.amount = case
            .ours
            .map(|(cents, currency)| Amount::parse(&decimal(cents), currency).unwrap());
        let entry = match case.kept {
            0 => None,
            1 => Some(whole(whole_receipt)),
            _ => Some(pruned(State::parse(case.state).unwrap())),
        };
        let rows = case.theirs.as_ref().map(|theirs| Rows {
            applied: theirs
                .iter()
                .map(|money| Row {
                    line: 2,
                    amount: money.map(|(cents, _)| decimal(cents).into()),
                    currency: money.map(|(_, currency)| currency.into()),
                    reference: None,
                })
                .collect(),
        });
        let scope = Scope {
            window: case.window.map(|(since, until)| Window {
                since: at(since),
                until: at(until),
            }),
            complete: case.complete,
        };
        let found = compare(entry.as_ref(), rows.as_ref(), &scope, at(case.now));
        let expected = expected(&case);
        let mut figures = Figures::default();
        let said = match found {
            Finding::Agree => "agree",
            Finding::InFlight => "in_flight",
            Finding::Unproven => "-",
            Finding::Outside => "outside",
            Finding::Drift(category) => {
                figures.add_drift(category, entry.as_ref(), rows.as_ref());
                category.as_str()
            }
        };
        assert_eq!(said, expected, "seed {seed}: {case:?}");
        for currency in ["EUR", "USD"] {
            let sum = figures.iter().find(|(of, _)| *of == currency);
            let sum = sum.map_or(0.0, |(_, sum)| sum.parse::<f64>().unwrap());
            let cents = expected_cents(&case, expected, currency);
            assert!(
                (sum * 100.0 - cents as f64).abs() < 0.001,
                "seed {seed}: {case:?}: {sum} {currency}"
            );
        }
        *seen.entry(said).or_insert(0_u32) += 1;
    }
    assert_eq!(seen.len(), 4 + Category::ALL.len(), "each is met: {seen:?}");
    assert!(seen.values().all(|times| *times > 100), "{seen:?}");
}
