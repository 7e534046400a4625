//! Tables written as they stand in the contract: a header row, then a row per case, cells between bars.
#![allow(dead_code, clippy::unwrap_used)]

/// Every cell of a table as (first column, header of the column, cell).
pub(crate) fn cells(table: &'static str) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut rows = rows(table).into_iter();
    let header = rows.next().unwrap();
    let mut cells = Vec::new();
    for row in rows {
        assert_eq!(row.len(), header.len(), "a ragged row: {row:?}");
        for (name, cell) in header.iter().zip(&row).skip(1) {
            cells.push((row[0], *name, *cell));
        }
    }
    cells
}

/// The rows of a table, the header first.
pub(crate) fn rows(table: &'static str) -> Vec<Vec<&'static str>> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let inner = line
                .strip_prefix('|')
                .and_then(|line| line.strip_suffix('|'));
            inner.unwrap().split('|').map(str::trim).collect()
        })
        .collect()
}
