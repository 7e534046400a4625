//! Which numbers are taken, against RFC 8785's tables and against the doubles themselves.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::fingerprint::tests::Random;

fn written(literal: &str) -> Option<String> {
    exact(literal).map(|number| serde_json_canonicalizer::to_string(&number).unwrap())
}

#[test]
fn a_number_is_the_same_however_it_is_written() {
    for (canonical, literals) in [
        ("1", "1 1.0 1e0 1E+0 10e-1 0.1e1 1.000e-0 1e0000"),
        ("10", "10 1e1 1E1 10.00 100e-1"),
        ("-1.5", "-1.5 -15e-1 -0.15E+1 -1.50"),
        (
            "0",
            "0 -0 0.0 -0.0 0e9 -0e-9 0E400 0.000e99999999999999999999 -0e-99999999999999999999",
        ),
        ("100", "100 1E2 1e+2"),
        ("0.1", "0.1 1e-1 0.10"),
        (
            "9007199254740992",
            "9007199254740992 9007199254740992.0 9.007199254740992e15",
        ),
        ("-9007199254740992", "-9007199254740992"),
        ("100000000000000000000", "100000000000000000000 1e20"),
        ("1e+21", "1e21 1E21 1000000000000000000000"),
        ("5e-324", "5e-324 0.5e-323 50e-325"),
        ("-5e-324", "-5e-324"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        (
            "1.7976931348623157e+308",
            "1.7976931348623157e308 17976931348623157e292",
        ),
        ("0.000001", "0.000001 1e-6"),
        ("1e-7", "0.0000001 1e-7"),
        ("333333333.3333333", "333333333.3333333"),
        ("18446744073709552000", "18446744073709552000"),
    ] {
        for literal in literals.split(' ') {
            assert_eq!(written(literal).as_deref(), Some(canonical), "{literal}");
        }
    }
}

#[test]
fn a_number_of_any_length_is_read_to_its_end() {
    let zeros = "0".repeat(100_000);
    let nines = "9".repeat(100_000);
    assert_eq!(written(&format!("0.{zeros}1e100001")).as_deref(), Some("1"));
    assert_eq!(written(&format!("1{zeros}e-99999")).as_deref(), Some("10"));
    assert_eq!(
        written(&format!("1.{zeros}e+{zeros}2")).as_deref(),
        Some("100")
    );
    assert_eq!(written(&format!("0e{nines}")).as_deref(), Some("0"));
    assert_eq!(
        written(&format!("-0.{zeros}e-{nines}")).as_deref(),
        Some("0")
    );
    for different in [
        format!("1.{zeros}1"),
        format!("1e{nines}"),
        format!("1e-{nines}"),
        format!("-0.{zeros}1e{nines}"),
        format!("1{zeros}e-{nines}"),
    ] {
        assert_eq!(written(&different), None, "{different:.20}");
    }
}

#[test]
fn a_number_that_would_become_another_is_refused() {
    let literals = "
        9007199254740993 -9007199254740993 9007199254740992.5 9007199254740992.0000000000000000001
        18446744073709551615 18446744073709551616 18446744073709551617 9223372036854775807 -9223372036854775808
        295147905179352825856 1e400 -1e400 1e309 1.7976931348623158e308 1.7976931348623159e308 1e-400 -1e-400
        4e-324 4.9e-324 4.9406564584124654e-324 2e-324 0.1000000000000000055511151231257827
        0.1000000000000000055511151231257827021181583404541015625 0.30000000000000001 333333333.33333329
        1e9223372036854775807 1e9223372036854775808 1e18446744073709551616 1e18446744073709551617
        1e-9223372036854775808 1e-9223372036854775809 0.01e-9223372036854775808 10e9223372036854775807
        1e4294967296 1e4294967297 10e-4294967297 1.00000000000000000000000000000000000000000001";
    for literal in literals.split_whitespace() {
        assert_eq!(written(literal), None, "{literal}");
    }
}

#[test]
fn the_published_numbers_are_written_as_published() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let number = f64::from_bits(bits);
        assert_eq!(
            serde_json_canonicalizer::to_string(&number).unwrap(),
            expected
        );
        assert_eq!(written(expected).as_deref(), Some(expected));
    }
}

#[test]
fn of_two_equally_short_forms_only_the_canonical_one_is_taken() {
    // The double is 599549056641072.25, as far from .2 as from .3; the canonical form has the even digit.
    let number = f64::from_bits(0x4301_0a4b_245f_4182);
    assert_eq!(exact("599549056641072.2"), Some(number));
    assert_eq!("599549056641072.3".parse(), Ok(number));
    assert_eq!(exact("599549056641072.3"), None);
    assert_eq!(exact("599549056641072.25"), None);
}

#[test]
fn the_shortest_form_of_every_finite_double_is_taken_and_means_that_double() {
    let seed = 8785;
    let mut random = Random(seed);
    for round in 0..100_000 {
        let any = random.next();
        let bits = match round % 16 {
            0 => any & 0x800F_FFFF_FFFF_FFFF, // subnormal
            1 => any & 0x800F_FFFF_FFFF_FFFF | 0x3FF0_0000_0000_0000, // near 1
            2 => any & 0xFFF0_0000_0000_0000, // a power of two
            3 => ((any % (1 << 54)) as f64).to_bits(), // an integer
            4 => ((any % 1_000_000) as f64 / 100.0).to_bits(), // an amount
            _ => any,
        };
        let number = f64::from_bits(bits);
        if !number.is_finite() || number == 0.0 {
            continue;
        }

        let canonical = serde_json_canonicalizer::to_string(&number).unwrap();
        let shown = format!("seed {seed} round {round} bits {bits:016x}: {canonical}");
        assert_eq!(canonical.parse(), Ok(number), "{shown}");
        assert_eq!(exact(&canonical), Some(number), "{shown}");
        let scientific = if canonical.contains('e') {
            canonical.clone()
        } else {
            format!("{canonical}e0")
        };
        assert_eq!(exact(&scientific), Some(number), "{shown}");
        assert_eq!(written(&canonical), Some(canonical), "{shown}");

        // Seventeen digits are the most that any double needs: with one more, and not a zero, it is another number.
        let (mantissa, exponent) = scientific.split_once('e').unwrap();
        let point = if mantissa.contains('.') { "" } else { "." };
        let beyond = format!("{mantissa}{point}00000000000000001e{exponent}");
        assert_eq!(exact(&beyond), None, "{shown} {beyond}");
    }
}

#[test]
fn every_short_integer_is_written_as_it_is() {
    let mut random = Random(15);
    for round in 0..100_000_u32 {
        let integer = (random.next() % 10_u64.pow(round % 15 + 1)).to_string();
        assert_eq!(written(&integer).as_deref(), Some(integer.as_str()));
        assert!(Decimal::of(&integer) == Decimal::of(&written(&integer).unwrap()));
    }
}
