//! Comparing the whole ledger with a provider's export, and settling by it.

use std::ops::ControlFlow;

use super::Ledger;
use crate::error::Error;
use crate::receipt::{Entry, Key};
use crate::reconcile::{
    Drift, Export, Proof, Reconcile, ReconcileAnswer, Report, Rows, compare, settle,
};
use crate::store::{Filter, Store};

/// What is done with each key in drift.
pub type EachDrift<'a> = dyn FnMut(Drift) -> ControlFlow<()> + 'a;

impl<S: Store> Ledger<S> {
    /// Compares the ledger with a provider's export (contract §9.2) and hands out what is in drift: first the receipts,
    /// in the order in which they came on record, then the export's other keys in its order, then what was to be settled
    /// and could not be. Settles as the request says, each key in its own transaction. Once `each` says `Break`, nothing
    /// more is compared or settled.
    ///
    /// The export is held in memory, the receipts are streamed; what is to be settled is held until all are seen.
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer; what was settled until then stays.
    pub fn reconcile(
        &mut self,
        request: &Reconcile,
        mut export: Export,
        each: &mut EachDrift<'_>,
    ) -> Result<ReconcileAnswer, Error> {
        if request.scope.complete && !self.window_is_over(request, &export)? {
            return Ok(ReconcileAnswer::WindowNotOver);
        }
        if let Some(prefix) = &request.prefix {
            export.retain(|key, _| key.as_str().starts_with(prefix));
        }
        let mut comparing = Comparing {
            request,
            each,
            report: Report::default(),
            proofs: Vec::new(),
        };
        let mut flow = comparing.receipts(self, &mut export)?;
        if flow.is_continue() {
            flow = comparing.other_keys(self, export)?;
        }
        if flow.is_continue() {
            comparing.settle(self)?;
        }
        Ok(ReconcileAnswer::Compared(comparing.report))
    }

    /// By the store's own clock, which comes with any look at it.
    fn window_is_over(&mut self, request: &Reconcile, export: &Export) -> Result<bool, Error> {
        match export.keys().next() {
            Some(key) => {
                let reading = self.store.read(key, false)?;
                Ok(request.scope.is_over(reading.now))
            }
            None => Ok(true),
        }
    }
}

/// A comparison under way.
struct Comparing<'a, 'e> {
    request: &'a Reconcile,
    each: &'a mut EachDrift<'e>,
    report: Report,
    /// What is to be settled.
    proofs: Vec<Proof>,
}

impl Comparing<'_, '_> {
    /// Compares every receipt, and takes its rows out of the export.
    fn receipts<S: Store>(
        &mut self,
        ledger: &mut Ledger<S>,
        export: &mut Export,
    ) -> Result<ControlFlow<()>, Error> {
        let filter = Filter {
            prefix: self.request.prefix.clone(),
            ..Filter::default()
        };
        let mut flow = ControlFlow::Continue(());
        ledger.store.scan(&filter, &mut |receipt, now| {
            let key = receipt.key.clone();
            let rows = export.remove(&key);
            let entry = Entry::Whole(Box::new(receipt));
            flow = self.look(&key, Some(&entry), rows, now);
            flow
        })?;
        Ok(flow)
    }

    /// Compares the keys that no receipt was found for: they are pruned, came on record just now, or never.
    fn other_keys<S: Store>(
        &mut self,
        ledger: &mut Ledger<S>,
        export: Export,
    ) -> Result<ControlFlow<()>, Error> {
        let mut others: Vec<(Key, Rows)> = export.into_iter().collect();
        others.sort_unstable_by(|(a_key, a), (b_key, b)| {
            let line = |rows: &Rows| rows.applied.first().map(|row| row.line);
            line(a).cmp(&line(b)).then_with(|| a_key.cmp(b_key))
        });
        for (key, rows) in others {
            let reading = ledger.store.read(&key, false)?;
            if let ControlFlow::Break(()) =
                self.look(&key, reading.entry.as_ref(), Some(rows), reading.now)
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn look(
        &mut self,
        key: &Key,
        entry: Option<&Entry>,
        mut rows: Option<Rows>,
        now: crate::receipt::Timestamp,
    ) -> ControlFlow<()> {
        let found = compare(entry, rows.as_ref(), &self.request.scope, now);
        if let Some(proof) = Proof::of(self.request, found, key, entry, &mut rows) {
            self.proofs.push(proof);
            return ControlFlow::Continue(());
        }
        match self.report.count(found, key, entry, rows.as_ref(), now) {
            Some(drift) => (self.each)(drift),
            None => ControlFlow::Continue(()),
        }
    }

    /// Settles what there is proof for. What has changed since it was looked at is compared again as it is now.
    fn settle<S: Store>(&mut self, ledger: &mut Ledger<S>) -> Result<(), Error> {
        for proof in std::mem::take(&mut self.proofs) {
            let rows = proof.rows.as_ref();
            let (report, drift) = ledger.decide(&proof.key, |existing, now| {
                let (found, change) = settle(existing, &proof, self.request, now);
                let entry = change.entry.as_ref().or(existing);
                // The rule may run again: what it counts is kept only of the last run.
                let mut report = self.report.clone();
                let drift = report.count(found, &proof.key, entry, rows, now);
                ((report, drift), change)
            })?;
            self.report = report;
            if let Some(drift) = drift
                && (self.each)(drift).is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }
}
