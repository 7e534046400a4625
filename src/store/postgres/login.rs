//! Getting in: who we are, and the proof that the server asks for.

// The server may send any message of the protocol; whatever is not expected at a step is refused as such.
#![allow(clippy::wildcard_enum_match_arm)]

use std::io;
use std::time::Instant;

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use super::address::{Address, Host};
use super::connect::Refused;
use super::wire::{Fault, Wire, server_error};

/// What the session is called in the server's lists. Nothing of the ledger is in it.
const APPLICATION_NAME: &str = "receipt-ledger";

/// What a password exchange can be tied to.
#[derive(Debug)]
pub(super) struct Binding {
    /// Whether TLS is between.
    pub(super) encrypted: bool,
    /// The certificate, in the form that the exchange takes.
    pub(super) binding: Option<Vec<u8>>,
}

/// Introduces the session and proves who it is, until the server is ready for statements.
pub(super) fn log_in(
    wire: &mut Wire,
    address: &Address,
    host: &Host,
    binding: Binding,
    deadline: Instant,
) -> Result<(), Refused> {
    let introduction = [
        ("user", address.user.as_str()),
        ("database", &address.database),
        ("client_encoding", "UTF8"),
        ("application_name", APPLICATION_NAME),
    ];
    frontend::startup_message(introduction, wire.outgoing())?;
    wire.send(Some(deadline))?;
    let password = || {
        let none = "it asks for a password and none was given";
        address.password(host).ok_or(io::Error::other(none))
    };
    let mut bound = false;
    let mut binding = Some(binding);
    loop {
        match wire.message(Some(deadline))? {
            Message::AuthenticationOk => {
                if address.binding_required && !bound {
                    let unbound = "it does not tie the password to the TLS connection (channel_binding=require)";
                    return Err(io::Error::other(unbound).into());
                }
            }
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password()?.as_bytes(), wire.outgoing())?;
                wire.send(Some(deadline))?;
            }
            Message::AuthenticationMd5Password(body) => {
                let (user, password) = (address.user.as_bytes(), password()?);
                let hash = md5_hash(user, password.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), wire.outgoing())?;
                wire.send(Some(deadline))?;
            }
            Message::AuthenticationSasl(body) => {
                let binding = binding.take().ok_or_else(unexpected)?;
                bound = scram(wire, &body, password()?.as_bytes(), binding, deadline)?;
            }
            Message::ErrorResponse(body) => return Err(refused(body.fields())?),
            Message::ReadyForQuery(_) => return Ok(()),
            Message::BackendKeyData(_) | Message::NoticeResponse(_) => {}
            _ => {
                let unknown = "it asks for a proof that this program does not know";
                return Err(io::Error::other(unknown).into());
            }
        }
    }
}

/// SCRAM-SHA-256, tied to the TLS connection where both sides can. Returns whether it was.
fn scram(
    wire: &mut Wire,
    body: &AuthenticationSaslBody,
    password: &[u8],
    binding: Binding,
    deadline: Instant,
) -> Result<bool, Refused> {
    let offered: Vec<String> = body
        .mechanisms()
        .map(|mechanism| Ok(mechanism.to_owned()))
        .collect()?;
    let offers = |mechanism: &str| offered.iter().any(|offered| offered == mechanism);
    let (mechanism, binding) = match binding.binding {
        Some(certificate) if offers(SCRAM_SHA_256_PLUS) => (
            SCRAM_SHA_256_PLUS,
            ChannelBinding::tls_server_end_point(certificate),
        ),
        // The server learns that we could have: if it could too, somebody stands between.
        Some(_) if binding.encrypted => (SCRAM_SHA_256, ChannelBinding::unrequested()),
        Some(_) | None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
    };
    if !offers(mechanism) {
        let unknown = "it asks for a proof that this program does not know";
        return Err(io::Error::other(unknown).into());
    }
    let mut exchange = ScramSha256::new(password, binding);
    frontend::sasl_initial_response(mechanism, exchange.message(), wire.outgoing())?;
    wire.send(Some(deadline))?;
    match wire.message(Some(deadline))? {
        Message::AuthenticationSaslContinue(body) => exchange.update(body.data())?,
        Message::ErrorResponse(body) => return Err(refused(body.fields())?),
        _ => return Err(unexpected().into()),
    }
    frontend::sasl_response(exchange.message(), wire.outgoing())?;
    wire.send(Some(deadline))?;
    match wire.message(Some(deadline))? {
        Message::AuthenticationSaslFinal(body) => exchange.finish(body.data())?,
        Message::ErrorResponse(body) => return Err(refused(body.fields())?),
        _ => return Err(unexpected().into()),
    }
    Ok(mechanism == SCRAM_SHA_256_PLUS)
}

fn refused(fields: postgres_protocol::message::backend::ErrorFields<'_>) -> io::Result<Refused> {
    let (error, _) = server_error(fields, 0)?;
    Ok(Fault::Server(error).into())
}

fn unexpected() -> io::Error {
    io::Error::other("it does not keep to the protocol")
}
