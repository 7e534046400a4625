//! Reading CSV: what is taken, what is refused, and on which line.

use std::io::Read as _;

use receipt_ledger::receipt::Key;
use receipt_ledger::reconcile::provider::{ColumnNames, Format, Reading};
use receipt_ledger::reconcile::{Export, Rows};

fn usual() -> Reading {
    Reading::new(ColumnNames::default(), Vec::new())
}

fn read(bytes: impl AsRef<[u8]>) -> Result<Export, String> {
    let bytes = bytes.as_ref();
    usual()
        .read(Format::Csv, bytes)
        .map_err(|why| why.to_string())
}

fn of<'a>(export: &'a Export, key: &str) -> &'a Rows {
    &export[&Key::parse(key).unwrap()]
}

/// The one applied row of a key, as `line amount currency reference`.
fn row(export: &Export, key: &str) -> String {
    let applied = &of(export, key).applied;
    assert_eq!(applied.len(), 1, "{key}");
    let row = &applied[0];
    let text = |cell: &Option<Box<str>>| cell.as_deref().unwrap_or("-").to_owned();
    let (amount, currency) = (text(&row.amount), text(&row.currency));
    format!("{} {amount} {currency} {}", row.line, text(&row.reference))
}

fn refused(bytes: impl AsRef<[u8]>, why: &str) {
    let bytes = bytes.as_ref();
    let told = read(bytes).unwrap_err();
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(told, why, "{shown}");
}

#[test]
fn keys_and_amounts_stay_the_text_they_are() {
    let export =
        read("key,amount\n00042,00010.0\n42,1\n9912140633506421,2\n9.91214E+15,3\n").unwrap();
    assert_eq!(row(&export, "00042"), "2 00010.0 - -");
    assert_eq!(row(&export, "42"), "3 1 - -");
    assert_eq!(row(&export, "9912140633506421"), "4 2 - -");
    assert_eq!(row(&export, "9.91214E+15"), "5 3 - -");
}

#[test]
fn a_byte_order_mark_crlf_quotes_and_blank_lines_are_what_they_are_elsewhere() {
    let lf = "key,status,reference\na,succeeded,\"x, \"\"y\"\"\nz\"\n\nb,succeeded,w\n";
    for text in [
        lf.to_owned(),
        format!("\u{feff}{lf}"),
        lf.trim_end().to_owned(),
    ] {
        let export = read(&text).unwrap();
        assert_eq!(row(&export, "a"), "2 - - x, \"y\"\nz");
        assert_eq!(row(&export, "b"), "5 - - w", "lines are an editor's");
        assert_eq!(export.len(), 2);
        let crlf = text.replace('\n', "\r\n");
        let export = read(&crlf).unwrap();
        assert_eq!(row(&export, "a"), "2 - - x, \"y\"\r\nz");
        assert_eq!(row(&export, "b"), "5 - - w");
        assert_eq!(export.len(), 2);
    }
    let quoted = read("\u{feff}\"key\",\"amount\"\r\n\"a\",\"1\"\r\n").unwrap();
    assert_eq!(row(&quoted, "a"), "2 1 - -");
    let alone = read("key\r\na\r\n\r\n\"b\"\r\n").unwrap();
    assert_eq!(row(&alone, "a"), "2 - - -");
    assert_eq!(row(&alone, "b"), "4 - - -");
}

#[test]
fn columns_may_stand_in_any_order_among_others_and_have_other_names() {
    let text = "fee,ref,Amount,ccy,id,State,ref2\n1,r,10.00,eur,a,paid,x\n";
    let names = ColumnNames {
        key: Some("id".into()),
        status: Some("State".into()),
        amount: Some("Amount".into()),
        currency: Some("ccy".into()),
        reference: Some("ref".into()),
    };
    let reading = Reading::new(names, vec!["paid".into()]);
    let export = reading.read(Format::Csv, text.as_bytes()).unwrap();
    assert_eq!(row(&export, "a"), "2 10.00 EUR r");
}

#[test]
fn without_a_status_column_every_row_was_applied() {
    let export = read("key\na\na\nb\n").unwrap();
    assert_eq!(of(&export, "a").applied.len(), 2);
    assert_eq!(of(&export, "b").applied.len(), 1);
}

#[test]
fn with_one_only_the_named_statuses_were() {
    let text = "key,status\na,succeeded\nb,pending\nc,refunded\nd,Succeeded\ne,\nf, succeeded\ng,succeeded\ng,pending\n";
    let applied = |reading: &Reading| {
        let export = reading.read(Format::Csv, text.as_bytes()).unwrap();
        assert_eq!(export.len(), 7, "also what was not applied is there");
        let mut keys: Vec<String> = export
            .iter()
            .filter(|(_, rows)| !rows.applied.is_empty())
            .map(|(key, rows)| {
                assert_eq!(rows.applied.len(), 1);
                key.to_string()
            })
            .collect();
        keys.sort();
        keys.join("")
    };
    assert_eq!(applied(&usual()), "ag");
    let named = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Reading::new(ColumnNames::default(), words)
    };
    assert_eq!(applied(&named(&["refunded"])), "c");
    assert_eq!(applied(&named(&["succeeded", "refunded"])), "acg");
}

#[test]
fn a_file_without_a_single_row_is_refused() {
    for empty in ["", "\n", "\r\n\r\n", " ", "\u{feff}"] {
        let told = read(empty).unwrap_err();
        let told_of_blank = empty == " ";
        assert!(told == "the file is empty" || told_of_blank, "{told}");
    }
    for header_only in ["key", "key\n", "key,amount\r\n", "key\n\n\n"] {
        refused(header_only, "there is not a single row in it");
    }
}

#[test]
fn a_missing_column_is_refused_where_it_is_needed_or_was_asked_for() {
    refused("id,amount\na,1\n", "line 1: there is no column \"key\"");
    refused("Key\na\n", "line 1: there is no column \"key\"");
    refused(" key\na\n", "line 1: there is no column \"key\"");
    refused("key;amount\na;1\n", "line 1: there is no column \"key\"");
    let asked = |names: ColumnNames, statuses: &[&str]| {
        let statuses = statuses.iter().map(|word| (*word).to_owned()).collect();
        let reading = Reading::new(names, statuses);
        reading
            .read(Format::Csv, "key\na\n".as_bytes())
            .map_err(|why| why.to_string())
    };
    let name = || Some("x".to_owned());
    let usual = ColumnNames::default;
    for names in [
        ColumnNames {
            key: name(),
            ..usual()
        },
        ColumnNames {
            status: name(),
            ..usual()
        },
        ColumnNames {
            amount: name(),
            ..usual()
        },
        ColumnNames {
            currency: name(),
            ..usual()
        },
        ColumnNames {
            reference: name(),
            ..usual()
        },
    ] {
        let why = asked(names, &[]).unwrap_err();
        assert_eq!(why, "line 1: there is no column \"x\"");
    }
    let why = asked(usual(), &["succeeded"]).unwrap_err();
    assert_eq!(why, "line 1: there is no column \"status\"");
    asked(usual(), &[]).unwrap();
}

#[test]
fn a_used_name_that_stands_twice_is_refused_an_unused_one_is_not() {
    let why = "line 1: the name \"key\" is there twice";
    refused("key,amount,key\na,1,b\n", why);
    let why = "line 1: the name \"amount\" is there twice";
    refused("key,amount,amount\na,1,2\n", why);
    read("key,note,note\na,1,2\n").unwrap();
}

#[test]
fn a_ragged_row_is_refused() {
    let why = "line 3: the row has 1 cells, the header 2";
    refused("key,amount\na,1\nb\n", why);
    refused("key,amount\r\na,1\r\nb\r\n", why);
    let why = "line 2: the row has 3 cells, the header 2";
    refused("key,amount\na,1,\n", why);
}

#[test]
fn a_key_that_can_never_match_is_refused() {
    let why = "line 2: the key is empty; 1 to 255 bytes of visible ASCII are needed";
    refused("key,amount\n,1\n", why);
    refused("key\n\"\"\n", why);
    let why = "line 3: the key byte 2 is 0x20; only visible ASCII (0x21 to 0x7e) is allowed";
    refused("key\na\na b\n", why);
    let why = "line 2: the key byte 1 is 0xc3; only visible ASCII (0x21 to 0x7e) is allowed";
    refused("key\n\u{e9}\n", why);
    let told = read(format!("key\n{}\n", "k".repeat(256))).unwrap_err();
    assert!(
        told.starts_with("line 2: the key is 256 bytes long"),
        "{told}"
    );
    // Also where the row was not applied.
    assert!(read("key,status\n,pending\n").is_err());
}

#[test]
fn amounts_are_plain_decimals_and_nothing_else() {
    for amount in [
        "\"1,000.00\"",
        "1.000.00",
        "€5",
        "$5",
        "5 EUR",
        "1e3",
        "+5",
        " 5",
        "5 ",
        ".5",
        "5.",
        "NaN",
        "-",
    ] {
        let told = read(format!("key,amount\na,1\nb,{amount}\n")).unwrap_err();
        assert!(
            told.starts_with("line 3: the amount is not a plain decimal"),
            "{amount}: {told}"
        );
    }
    let long = "123456789012345678901234567890.123456789";
    let export = read(format!("key,amount\na,-5\nb,\nc,{long}\n")).unwrap();
    assert_eq!(row(&export, "a"), "2 -5 - -");
    assert_eq!(row(&export, "b"), "3 - - -");
    assert_eq!(row(&export, "c"), format!("4 {long} - -"));
}

#[test]
fn currencies_are_codes_in_any_case() {
    let export = read("key,currency\na,eur\nb,EuR\nc,\n").unwrap();
    assert_eq!(row(&export, "a"), "2 - EUR -");
    assert_eq!(row(&export, "b"), "3 - EUR -");
    assert_eq!(row(&export, "c"), "4 - - -");
    for currency in ["€", "Euro!", "E", " EUR"] {
        let told = read(format!("key,currency\na,{currency}\n")).unwrap_err();
        assert!(
            told.starts_with("line 2: the currency is not a currency code"),
            "{told}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_wherever_they_are() {
    refused(b"key,note\na,1\nb,caf\xe9\n", "line 3: it is not UTF-8");
    refused(b"key,caf\xe9\na,1\n", "line 1: it is not UTF-8");
    let utf_16: Vec<u8> = "\u{feff}key\na\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(read(utf_16).is_err());
}

#[test]
fn a_quote_that_is_not_closed_in_time_hides_no_row() {
    let why = "line 2: a quote that begins here is never closed";
    refused("key,note\na,\"x\nb,y\nc,z\n", why);
    refused("key,note\na,\"x", why);
    // Closed by the quote that should have opened another cell: without a look at it, b would be gone.
    let why = "line 3: there is text behind a closing quote";
    refused("key,note\na,\"x\nb,\"y\"\nc,z\n", why);
    refused(
        "key,note\na,\"x\" \n",
        "line 2: there is text behind a closing quote",
    );
    let export = read("key,note\na,12\" vinyl\nb,\"12\"\" vinyl\"\n").unwrap();
    assert_eq!(export.len(), 2, "within a bare cell a quote is a quote");
}

#[test]
fn a_row_of_endless_length_is_refused() {
    let long = "x".repeat(4 * 1024 * 1024 + 1);
    let told = read(format!("key,note\na,{long}\n")).unwrap_err();
    assert_eq!(told, "line 2: the row is longer than 4194304 bytes");
}

#[test]
fn it_does_not_matter_in_what_pieces_it_comes() {
    struct Bytes<'a>(&'a [u8]);
    impl std::io::Read for Bytes<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }
    let text = "\u{feff}key,reference\r\na,\"x\"\"\r\ny\"\r\nb,z";
    let whole = read(text).unwrap();
    let pieces = usual().read(Format::Csv, Bytes(text.as_bytes())).unwrap();
    assert_eq!(whole, pieces);
    assert_eq!(row(&whole, "b"), "4 - - z");
}

#[test]
fn a_source_that_cannot_be_read_is_told_as_such() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("torn"))
        }
    }
    let source = std::io::Read::chain("key\na\n".as_bytes(), Broken);
    let told = usual().read(Format::Csv, source).unwrap_err();
    assert_eq!(told.to_string(), "torn");
}

#[test]
fn the_ending_tells_the_format() {
    for (name, format) in [
        ("a.csv", Some(Format::Csv)),
        ("x/a.b.CSV", Some(Format::Csv)),
        ("a.jsonl", Some(Format::JsonLines)),
        ("a.ndjson", Some(Format::JsonLines)),
        ("a.json", None),
        ("csv", None),
        ("a.csv/export", None),
        ("-", None),
    ] {
        assert_eq!(Format::by_ending(name), format, "{name}");
    }
}

#[test]
fn a_row_without_an_end_is_given_up_before_it_fills_the_memory() {
    const MIB: u64 = 1024 * 1024;
    for beginning in ["key\n\"", "key\n", "\""] {
        let mut endless = std::io::repeat(b'a').take(64 * MIB);
        let source = beginning.as_bytes().chain(&mut endless);
        let told = usual().read(Format::Csv, source).unwrap_err().to_string();
        assert!(
            told.ends_with(": the row is longer than 4194304 bytes"),
            "{told}"
        );
        let taken = 64 * MIB - endless.limit();
        assert!(taken < 5 * MIB, "{taken} bytes were read");
    }
}
