"""The same decision by a script: one transaction, FULL, then the line."""
import sqlite3
import sys
import time

path, key = sys.argv[1:]
connection = sqlite3.connect(path, timeout=20, isolation_level=None)
connection.execute("PRAGMA synchronous = FULL")
connection.execute("BEGIN IMMEDIATE")
row = connection.execute(
    "SELECT fingerprint, state, attempt FROM receipt_ledger_receipt WHERE key = ?", (key,)
).fetchone()
if row is None:
    now = time.time_ns() // 1_000_000
    cursor = connection.execute(
        "INSERT INTO receipt_ledger_receipt (key, fingerprint, state, attempt, created_at_ms, updated_at_ms,"
        " first_reserved_at_ms, attempt_started_at_ms, late_success, contested)"
        " VALUES (?, 'send-v1', 'reserved', 1, ?, ?, ?, ?, 0, 0)",
        (key, now, now, now, now),
    )
    connection.execute(
        "INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt)"
        " VALUES (?, 1, ?, 'reserved', 1)",
        (cursor.lastrowid, now),
    )
    decision, state, attempt = "EXECUTE", "reserved", 1
else:
    fingerprint, state, attempt = row
    decision = "CONFLICT" if fingerprint != "send-v1" else "SKIP"
connection.execute("COMMIT")
print(f"decision={decision} state={state} attempt={attempt}", flush=True)
connection.close()
