//! One line of JSON to one request.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::cli::failure::Failure;
use receipt_ledger::decide::{
    Facts, PAYLOAD_BYTES_MAX, Record, Renew, Reserve, Resolve, Settle, Settlement, Verdict,
};
use receipt_ledger::fingerprint::{self, compact_json};
use receipt_ledger::ledger::Request;
use receipt_ledger::receipt::{
    Amount, Fingerprint, Key, Owner, ResultJson, RunId, Text, duration_ms,
};

/// A line's id, where one can be read, and its request or why it is none.
pub(crate) struct Parsed {
    pub(crate) id: Option<String>,
    pub(crate) request: Result<Request, Failure>,
}

/// Reads a line.
pub(crate) fn parse(line: &[u8]) -> Parsed {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let position = error.valid_up_to() + 1;
            return Parsed {
                id: None,
                request: Err(bad(format!("byte {position} is not UTF-8"))),
            };
        }
    };
    let members = match serde_json::from_str::<Members<'_>>(text) {
        Ok(members) => members,
        Err(error) => {
            let message = format!(
                "the line is not one JSON object, near byte {}",
                error.column()
            );
            return Parsed {
                id: None,
                request: Err(bad(message)),
            };
        }
    };
    let id = members
        .raw("id")
        .and_then(|id| compact_json(id.get().as_bytes(), usize::MAX).ok());
    Parsed {
        id,
        request: request(members),
    }
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new("invalid-input", message)
}

fn request(mut members: Members<'_>) -> Result<Request, Failure> {
    members.refuse_twice()?;
    members.take("id");
    if members.take("wait").is_some() {
        return Err(bad(
            "wait has no place in a batch: others' lines would wait with it",
        ));
    }
    let op = members.required("op", Members::text)?;
    let key = members.required("key", |raw| name(raw, |text| Key::parse(text)))?;
    let request = match &*op {
        "reserve" => Request::Reserve(reserve(key, &mut members)?),
        "record" => Request::Record(record(key, &mut members)?),
        "succeed" => {
            let result = members.optional("result", result)?;
            Request::Settle(settle(key, Settlement::Succeeded { result }, &mut members)?)
        }
        "fail" => {
            let reason = members.optional("reason", evidence)?;
            Request::Settle(settle(key, Settlement::Failed { reason }, &mut members)?)
        }
        "unknown" => {
            let reason = members.optional("reason", evidence)?;
            Request::Settle(settle(key, Settlement::Unknown { reason }, &mut members)?)
        }
        "renew" => Request::Renew(Renew {
            key,
            attempt: members.required("attempt", count)?,
            owner: members.optional("owner", |raw| name(raw, |text| Owner::parse(text)))?,
            lease_ms: members.required("lease", longer_than_zero)?,
        }),
        "resolve" => Request::Resolve(resolve(key, &mut members)?),
        "show" => {
            let history = members.optional("history", flag)?.unwrap_or(false);
            Request::Show(key, history)
        }
        _ => {
            return Err(bad(
                "op is none of reserve, succeed, fail, unknown, renew, resolve, record, show",
            ));
        }
    };
    members.refuse_rest()?;
    Ok(request)
}

fn reserve(key: Key, members: &mut Members<'_>) -> Result<Reserve, Failure> {
    Ok(Reserve {
        key,
        fingerprint: required_content(members)?.0,
        allow_failed_retry: members
            .optional("allow_failed_retry", flag)?
            .unwrap_or(false),
        retry_unknown_within_ms: members.optional("retry_unknown_within", longer_than_zero)?,
        max_attempts: members.optional("max_attempts", count)?,
        lease_ms: members.optional("lease", longer_than_zero)?,
        facts: facts(members)?,
    })
}

fn record(key: Key, members: &mut Members<'_>) -> Result<Record, Failure> {
    let (fingerprint, payload) = required_content(members)?;
    let payload = match (members.optional("keep_payload", flag)?, payload) {
        (Some(true), None) => return Err(bad("keep_payload needs a payload")),
        (Some(true), Some(payload)) if payload.len() > PAYLOAD_BYTES_MAX => {
            return Err(bad(format!(
                "payload is longer than {PAYLOAD_BYTES_MAX} bytes"
            )));
        }
        (Some(true), Some(payload)) => Some(Arc::from(payload.as_bytes())),
        (Some(false) | None, _) => None,
    };
    Ok(Record {
        key,
        fingerprint,
        facts: facts(members)?,
        payload,
    })
}

fn settle(key: Key, settlement: Settlement, members: &mut Members<'_>) -> Result<Settle, Failure> {
    let attempt = members.optional("attempt", count)?;
    let owner = members.optional("owner", |raw| name(raw, |text| Owner::parse(text)))?;
    Ok(Settle {
        key,
        attempt,
        owner,
        settlement,
    })
}

fn resolve(key: Key, members: &mut Members<'_>) -> Result<Resolve, Failure> {
    let result = members.optional("result", result)?;
    let verdict = match (&*members.required("as", Members::text)?, result) {
        ("succeeded", result) => Verdict::Succeeded { result },
        ("failed", None) => Verdict::Failed,
        ("failed", Some(_)) => return Err(bad("what did not happen has no result")),
        (_, _) => return Err(bad("as is neither succeeded nor failed")),
    };
    Ok(Resolve {
        key,
        fingerprint: content(members)?.map(|(fingerprint, _)| fingerprint),
        attempt: members.optional("attempt", count)?,
        owner: members.optional("owner", |raw| name(raw, |text| Owner::parse(text)))?,
        verdict,
        evidence: members.required("evidence", evidence)?,
    })
}

fn facts(members: &mut Members<'_>) -> Result<Facts, Failure> {
    let amount = members.optional("amount", amount)?;
    let currency = members.optional("currency", Members::text)?;
    let amount = match (amount, currency) {
        (None, None) => None,
        (Some(value), Some(currency)) => {
            let amount = Amount::parse(&value, &currency);
            Some(amount.map_err(|error| bad(format!("amount or currency {error}")))?)
        }
        (_, _) => return Err(bad("amount and currency go together")),
    };
    Ok(Facts {
        owner: members.optional("owner", |raw| name(raw, |text| Owner::parse(text)))?,
        run: members.optional("run", |raw| name(raw, |text| RunId::parse(text)))?,
        amount,
    })
}

/// The fingerprint of `fingerprint` or `payload`, and the payload's text.
fn content<'a>(
    members: &mut Members<'a>,
) -> Result<Option<(Fingerprint, Option<&'a str>)>, Failure> {
    let given = members.optional("fingerprint", |raw| {
        name(raw, |text| Fingerprint::parse(text))
    })?;
    match (given, members.take("payload")) {
        (Some(_), Some(_)) => Err(bad("fingerprint and payload exclude each other")),
        (Some(fingerprint), None) => Ok(Some((fingerprint, None))),
        (None, Some(payload)) => {
            let fingerprint = fingerprint::of_json(payload.get().as_bytes())
                .map_err(|why| bad(format!("payload: {why}")))?;
            Ok(Some((fingerprint, Some(payload.get()))))
        }
        (None, None) => Ok(None),
    }
}

fn required_content<'a>(
    members: &mut Members<'a>,
) -> Result<(Fingerprint, Option<&'a str>), Failure> {
    content(members)?.ok_or_else(|| bad("fingerprint or payload is missing"))
}

fn name<T, E: fmt::Display>(
    raw: &RawValue,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, String> {
    parse(&Members::text(raw)?).map_err(|error| error.to_string())
}

fn evidence(raw: &RawValue) -> Result<Text, String> {
    name(raw, Text::parse)
}

fn result(raw: &RawValue) -> Result<ResultJson, String> {
    ResultJson::parse(raw.get().as_bytes()).map_err(|why| why.to_string())
}

fn flag(raw: &RawValue) -> Result<bool, String> {
    raw.get()
        .parse()
        .map_err(|_| "is neither true nor false".to_owned())
}

fn count(raw: &RawValue) -> Result<u32, String> {
    let count = raw.get().parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "is not a whole number from 1 to 4294967295".to_owned())
}

fn longer_than_zero(raw: &RawValue) -> Result<i64, String> {
    match duration_ms(&Members::text(raw)?) {
        Ok(0) => Err("is zero, which has no meaning here".to_owned()),
        Ok(ms) => Ok(ms),
        Err(error) => Err(error.to_string()),
    }
}

/// A decimal as text, or as a number's literal: either way it never becomes a float.
fn amount(raw: &RawValue) -> Result<String, String> {
    match raw.get().as_bytes() {
        [b'-' | b'0'..=b'9', ..] => Ok(raw.get().to_owned()),
        _ => Members::text(raw).map(Cow::into_owned),
    }
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, raw)| *raw)
    }

    fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let index = self.0.iter().position(|(given, _)| given == name)?;
        Some(self.0.swap_remove(index).1)
    }

    fn optional<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&'a RawValue) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let parsed = self.take(name).map(parse).transpose();
        parsed.map_err(|why| bad(format!("{name} {why}")))
    }

    fn required<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&'a RawValue) -> Result<T, String>,
    ) -> Result<T, Failure> {
        self.optional(name, parse)?
            .ok_or_else(|| bad(format!("{name} is missing")))
    }

    fn text(raw: &'a RawValue) -> Result<Cow<'a, str>, String> {
        let inner = raw
            .get()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(inner) if !inner.contains('\\') => Ok(Cow::Borrowed(inner)),
            Some(_) => serde_json::from_str(raw.get())
                .map(Cow::Owned)
                .map_err(|_| "holds an escape that is no character".to_owned()),
            None => Err("is not a string".to_owned()),
        }
    }

    fn refuse_twice(&self) -> Result<(), Failure> {
        // A request has a dozen members at most; whoever sends more gets an error either way.
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(bad("a member is there twice"));
        }
        Ok(())
    }

    fn refuse_rest(&self) -> Result<(), Failure> {
        match self.0.iter().map(|(name, _)| name).next() {
            None => Ok(()),
            Some(name) => {
                let shown: String = name.chars().take(40).collect();
                Err(bad(format!("this op has no member {shown:?}")))
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(name) = map.next_key::<&RawValue>()? {
                    let name = Members::text(name).map_err(M::Error::custom)?;
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
