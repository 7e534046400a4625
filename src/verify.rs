//! What must be true of every receipt and its history, whatever store keeps them. Pure.

use crate::receipt::{EventKind, HistoryRow, Receipt, State, Timestamp};

/// Every way in which a receipt and its history do not fit together, each a sentence.
pub fn findings(receipt: &Receipt, history: &[HistoryRow]) -> Vec<String> {
    let mut findings = Vec::new();
    of_the_row(receipt, &mut |finding| findings.push(finding.to_owned()));
    let mut told = Told::default();
    for (index, row) in history.iter().enumerate() {
        if let Err(finding) = told.tell(row) {
            findings.push(format!("row {} of the history: {finding}", index + 1));
        }
    }
    of_the_end(receipt, &told, history.first(), &mut |finding| {
        findings.push(finding.to_owned())
    });
    findings
}

/// The row alone.
fn of_the_row(receipt: &Receipt, found: &mut dyn FnMut(&str)) {
    let state = receipt.stored_state;
    if (receipt.attempt == 0) != (state == State::Recorded) {
        found("attempt 0 and the state recorded do not go together");
    }
    if receipt.lease_expires_at.is_some() && state != State::Reserved {
        found("there is a lease, but the state is not reserved");
    }
    if receipt.settled_at.is_some() != state.is_settled()
        || receipt.settled_by.is_some() != state.is_settled()
    {
        found("when and by whom it was settled does not go with its state");
    }
    if receipt.result.is_some() && state != State::Succeeded {
        found("there is a result, but it has not succeeded");
    }
    if receipt.first_reserved_at.is_some() && receipt.attempt == 0 {
        found("a first attempt is on record, but no attempt");
    }
    if receipt.attempt_started_at.is_none() && state == State::Reserved {
        found("it is reserved, but no attempt began");
    }
}

/// What the history has told so far.
#[derive(Debug, Default)]
struct Told {
    state: Option<State>,
    attempt: u32,
    late_success: bool,
    contested: bool,
    settled_at: Option<Timestamp>,
    attempt_started_at: Option<Timestamp>,
}

impl Told {
    fn tell(&mut self, row: &HistoryRow) -> Result<(), &'static str> {
        let attempt = row.event.attempt;
        let before = self.state;
        match row.event.kind {
            EventKind::Recorded => {
                let first = before.is_none() && attempt == 0;
                self.now(State::Recorded, attempt);
                first
                    .then_some(())
                    .ok_or("a recording that is not the beginning")
            }
            EventKind::Reserved => {
                let next = match before {
                    // After a prune the history begins anew, with whatever attempt came next.
                    None => attempt >= 1,
                    Some(State::Succeeded) => false,
                    Some(State::Recorded | State::Reserved | State::Failed | State::Unknown) => {
                        self.attempt.checked_add(1) == Some(attempt)
                    }
                };
                self.now(State::Reserved, attempt);
                (self.settled_at, self.attempt_started_at) = (None, Some(row.at));
                next.then_some(())
                    .ok_or("an attempt that does not follow the one before")
            }
            EventKind::Renewed => {
                let same = before == Some(State::Reserved) && attempt == self.attempt;
                same.then_some(())
                    .ok_or("a renewal of what was not reserved")
            }
            EventKind::Succeeded => {
                let may = before != Some(State::Succeeded) && self.is_current(attempt);
                self.now(State::Succeeded, attempt);
                self.settled_at = Some(row.at);
                may.then_some(())
                    .ok_or("a success that does not follow what stands before it")
            }
            EventKind::Failed => {
                let may = before != Some(State::Succeeded) && self.is_current(attempt);
                self.now(State::Failed, attempt);
                self.settled_at = Some(row.at);
                may.then_some(())
                    .ok_or("a failure that does not follow what stands before it")
            }
            EventKind::Unknown => {
                let may = before == Some(State::Reserved) && attempt == self.attempt;
                self.now(State::Unknown, attempt);
                may.then_some(())
                    .ok_or("a declaration of what was not reserved")
            }
            EventKind::LateSucceeded | EventKind::LateFailed | EventKind::LateUnknown => {
                if row.event.kind == EventKind::LateSucceeded {
                    self.late_success = true;
                    self.contested = before == Some(State::Failed);
                }
                let late = before.is_some() && attempt <= self.attempt;
                late.then_some(())
                    .ok_or("a late word on an attempt that was not")
            }
            EventKind::Conflict => {
                let known = before.is_some() && attempt == self.attempt;
                known
                    .then_some(())
                    .ok_or("a conflict with an attempt that was not")
            }
        }
    }

    /// Evidence makes an attempt of what was only recorded, or never on record.
    fn is_current(&self, attempt: u32) -> bool {
        match self.state {
            None => attempt >= 1,
            Some(_) => attempt == self.attempt.max(1),
        }
    }

    fn now(&mut self, state: State, attempt: u32) {
        (self.state, self.attempt, self.contested) = (Some(state), attempt, false);
    }
}

/// Where the history ends must be where the receipt stands.
fn of_the_end(
    receipt: &Receipt,
    told: &Told,
    first: Option<&HistoryRow>,
    found: &mut dyn FnMut(&str),
) {
    if told.state != Some(receipt.stored_state) {
        found("its history does not end in its state");
    }
    if told.attempt != receipt.attempt {
        found("its history does not end in its attempt");
    }
    if (told.late_success, told.contested) != (receipt.late_success, receipt.contested) {
        found("its history and its mark of a late success differ");
    }
    if told.settled_at != receipt.settled_at {
        found("its history does not say when it was settled");
    }
    if told.attempt_started_at != receipt.attempt_started_at {
        found("its history does not say when its attempt began");
    }
    if first.map(|row| row.at) != Some(receipt.created_at) {
        found("its history does not begin when it came on record");
    }
}
