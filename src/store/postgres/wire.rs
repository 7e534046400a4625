//! A connection's messages: statements out, answers in, each answer with the tag and the warnings that came with it.
//!
//! Statements are unnamed and go out many at a time; the server takes them in order and stops at the first that fails.
//! Nothing of a session is relied on, so that a pooler may stand between.

use std::io::{self, Read, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

pub(super) use super::answer::{Answer, Fault, Row, ServerError, Statement, server_error};
use super::socket::Stream;
use super::value::Parameter;

/// Bytes asked for in one read.
const READ_BYTES: usize = 16 * 1024;

/// A connection whose messages go both ways.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    incoming: BytesMut,
    outgoing: BytesMut,
    /// What the server says of itself.
    parameters: Vec<(String, String)>,
    /// Whether it can still be spoken on.
    broken: bool,
    in_transaction: bool,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Wire {
        Wire {
            stream,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            parameters: Vec::new(),
            broken: false,
            in_transaction: false,
        }
    }

    /// Where messages are put before [`Wire::send`].
    pub(super) fn outgoing(&mut self) -> &mut BytesMut {
        &mut self.outgoing
    }

    /// What the server says of itself under this name.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether a transaction was begun and has not ended.
    pub(super) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Sends statements together and takes their answers, or the first fault. Without a deadline it waits for as long as
    /// the connection lives.
    pub(super) fn exchange(
        &mut self,
        statements: &[Statement<'_>],
        deadline: Option<Instant>,
    ) -> Result<Vec<Answer>, Fault> {
        if self.broken {
            return Err(Fault::Lost(io::ErrorKind::NotConnected.into()));
        }
        for statement in statements {
            self.put(statement)?;
        }
        frontend::sync(&mut self.outgoing);
        self.send(deadline)?;
        self.answers(statements.len(), deadline)
    }

    /// As [`Wire::exchange`] without a deadline, for as long as the server is never silent for longer than this.
    pub(super) fn exchange_while_it_speaks(
        &mut self,
        statements: &[Statement<'_>],
        silence: Duration,
    ) -> Result<Vec<Answer>, Fault> {
        self.stream.allow(Some(silence));
        let answers = self.exchange(statements, None);
        self.stream.allow(None);
        answers
    }

    /// Sends a script of many statements without values.
    pub(super) fn script(&mut self, sql: &str, deadline: Option<Instant>) -> Result<(), Fault> {
        frontend::query(sql, &mut self.outgoing)?;
        self.send(deadline)?;
        self.answers(1, deadline).map(|_| ())
    }

    fn put(&mut self, statement: &Statement<'_>) -> Result<(), Fault> {
        let out = &mut self.outgoing;
        frontend::parse("", &statement.sql, [], out)?;
        let formats = statement.values.iter().map(|value| match value {
            Some(parameter) => parameter.format(),
            None => 0,
        });
        let write = |value: &Option<Parameter>, out: &mut BytesMut| match value {
            Some(parameter) => {
                out.extend_from_slice(parameter.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        };
        frontend::bind("", "", formats, &statement.values, write, [], out).map_err(|error| {
            let error = match error {
                frontend::BindError::Conversion(error) => io::Error::other(error),
                frontend::BindError::Serialization(error) => error,
            };
            Fault::Lost(error)
        })?;
        frontend::describe(b'P', "", out)?;
        frontend::execute("", 0, out)?;
        Ok(())
    }

    /// Sends what was put together. A connection that this fails on is not used again.
    pub(super) fn send(&mut self, deadline: Option<Instant>) -> Result<(), Fault> {
        let outgoing = self.outgoing.split();
        self.stream.wait_until(deadline);
        self.stream
            .write_all(&outgoing)
            .and_then(|()| self.stream.flush())
            .map_err(|error| {
                self.broken = true;
                Fault::from(error)
            })
    }

    /// The next message that is not about the session. A connection that this fails on is not used again.
    pub(super) fn message(&mut self, deadline: Option<Instant>) -> Result<Message, Fault> {
        loop {
            match self.next_message(deadline) {
                Ok(Message::ParameterStatus(body)) => {
                    let named = |text: io::Result<&str>| text.unwrap_or_default().to_owned();
                    let (name, value) = (named(body.name()), named(body.value()));
                    self.parameters.push((name, value));
                }
                Ok(Message::NotificationResponse(_)) => {}
                Ok(message) => return Ok(message),
                Err(error) => {
                    self.broken = true;
                    return Err(error.into());
                }
            }
        }
    }

    fn next_message(&mut self, deadline: Option<Instant>) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.incoming)? {
                return Ok(message);
            }
            self.stream.wait_until(deadline);
            let filled = self.incoming.len();
            self.incoming.resize(filled + READ_BYTES, 0);
            let read = loop {
                match self.stream.read(&mut self.incoming[filled..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.incoming
                .truncate(filled + read.as_ref().map_or(0, |read| *read));
            if read? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                ));
            }
        }
    }

    fn answers(
        &mut self,
        expected: usize,
        deadline: Option<Instant>,
    ) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(expected);
        let mut answer = Answer::default();
        let mut columns: Rc<[String]> = Rc::new([]);
        let mut refused = None;
        loop {
            match self.message(deadline) {
                Ok(Message::RowDescription(body)) => {
                    let names = body.fields().map(|field| Ok(field.name().to_owned()));
                    columns = names.collect::<Vec<_>>()?.into();
                }
                Ok(Message::DataRow(body)) => {
                    let value = |range: Option<std::ops::Range<usize>>| {
                        Ok(range.map(|range| body.buffer_bytes().slice(range)))
                    };
                    let values = body.ranges().map(value).collect()?;
                    let columns = Rc::clone(&columns);
                    answer.rows.push(Row { columns, values });
                }
                Ok(Message::CommandComplete(body)) => {
                    body.tag()?.clone_into(&mut answer.tag);
                    answers.push(std::mem::take(&mut answer));
                }
                Ok(Message::EmptyQueryResponse) => answers.push(std::mem::take(&mut answer)),
                Ok(Message::NoticeResponse(body)) => {
                    let notice = server_error(body.fields(), answers.len())?;
                    if notice.1 == "WARNING" {
                        answer.warning.get_or_insert(notice.0.message);
                    }
                }
                Ok(Message::ErrorResponse(body)) => {
                    let (error, _) = server_error(body.fields(), answers.len())?;
                    self.broken |= error.fatal;
                    if error.fatal {
                        return Err(Fault::Server(error));
                    }
                    refused.get_or_insert(error);
                }
                Ok(Message::ReadyForQuery(body)) => {
                    self.in_transaction = body.status() != b'I';
                    break;
                }
                Ok(_) => {}
                Err(fault) => return Err(fault),
            }
        }
        match refused {
            Some(error) => Err(Fault::Server(error)),
            None => Ok(answers),
        }
    }

    /// Says good-bye.
    pub(super) fn terminate(mut self) {
        if !self.broken {
            frontend::terminate(&mut self.outgoing);
            // Every answer was given: that the server does not hear it changes nothing.
            let _ = self.send(Some(Instant::now() + Duration::from_secs(1)));
        }
    }
}
