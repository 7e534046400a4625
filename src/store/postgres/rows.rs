//! Rows that a statement is given: values for columns of a table, one row or many.
//!
//! Only columns in which a row has a value are sent. One row goes as values, which the server plans in a fraction of the
//! time that arrays take; many go as an array for each column.

use super::array::Array;

/// A column's name and its type.
pub(super) type Column = (&'static str, &'static str);

/// Rows for a table.
#[derive(Debug)]
pub(super) struct Rows {
    columns: &'static [Column],
    values: Vec<Values>,
    count: u64,
}

/// A column's values.
#[derive(Debug, Clone, Default)]
struct Values {
    first: Option<String>,
    all: Array,
}

/// Rows as a statement takes them.
#[derive(Debug)]
pub(super) struct Given {
    /// What stands behind FROM; the rows are called `given`.
    pub(super) sql: String,
    /// The columns that are there.
    columns: Vec<&'static str>,
    /// Where each finds its value, or its values.
    places: Vec<String>,
    /// The values that `sql` speaks of, in its order.
    pub(super) values: Vec<Option<String>>,
}

impl Rows {
    pub(super) fn new(columns: &'static [Column]) -> Rows {
        Rows {
            columns,
            values: vec![Values::default(); columns.len()],
            count: 0,
        }
    }

    /// The next row, a value for each column.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Option<String>>) {
        for (values, value) in self.values.iter_mut().zip(row) {
            values.all.push(value.as_deref());
            if self.count == 0 {
                values.first = value;
            }
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether any row has a value in this column.
    fn is_given(&self, nth: usize) -> bool {
        !self.values[nth].all.is_empty()
    }

    /// The rows for a statement whose earlier values are so many.
    pub(super) fn given(&self, behind: usize) -> Given {
        let many = self.count != 1;
        let (mut places, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (nth, (name, kind)) in self.columns.iter().enumerate() {
            if !self.is_given(nth) {
                continue;
            }
            let (place, column) = (behind + values.len() + 1, &self.values[nth]);
            columns.push(*name);
            if many {
                places.push(format!("${place}::{kind}[]"));
                values.push(Some(column.all.clone().into()));
            } else {
                places.push(format!("${place}::{kind}"));
                values.push(column.first.clone());
            }
        }
        let all = places.join(", ");
        let from = if many {
            format!("unnest({all})")
        } else {
            format!("(VALUES ({all}))")
        };
        let sql = format!("{from} AS given ({})", columns.join(", "));
        Given {
            sql,
            columns,
            places,
            values,
        }
    }

    /// For UPDATE: every column becomes what is given, or NULL.
    pub(super) fn set(&self) -> String {
        let columns = self.columns.iter().enumerate();
        let parts = columns.map(|(nth, (name, _))| {
            if self.is_given(nth) {
                format!("{name} = given.{name}")
            } else {
                format!("{name} = NULL")
            }
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl Given {
    /// The columns' names, with commas between.
    pub(super) fn names(&self) -> String {
        self.columns.join(", ")
    }

    /// The same, each as a column of `given`.
    pub(super) fn qualified(&self) -> String {
        let of_given = self.columns.iter().map(|name| format!("given.{name}"));
        of_given.collect::<Vec<_>>().join(", ")
    }

    /// The values of the only row, where there is one, with commas between.
    pub(super) fn only(&self) -> String {
        self.places.join(", ")
    }

    /// Whether any row has a value in this column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[("a", "bigint"), ("b", "text"), ("c", "text")];

    fn row(values: [Option<&str>; 3]) -> impl Iterator<Item = Option<String>> {
        values.map(|value| value.map(str::to_owned)).into_iter()
    }

    #[test]
    fn one_row_goes_as_values_and_without_what_it_lacks() {
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), None, Some("x")]));
        let given = rows.given(1);
        assert_eq!(given.sql, "(VALUES ($2::bigint, $3::text)) AS given (a, c)");
        assert_eq!(
            (given.names(), given.only()),
            ("a, c".into(), "$2::bigint, $3::text".into())
        );
        assert_eq!(given.values, [Some("1".to_owned()), Some("x".to_owned())]);
        assert_eq!(given.qualified(), "given.a, given.c");
        assert!(given.has("c") && !given.has("b"));
        assert_eq!(rows.set(), "a = given.a, b = NULL, c = given.c");
    }

    #[test]
    fn many_rows_go_as_arrays_and_without_what_they_all_lack() {
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), None, Some("x")]));
        rows.push(row([Some("2"), None, None]));
        let given = rows.given(0);
        assert_eq!(
            given.sql,
            "unnest($1::bigint[], $2::text[]) AS given (a, c)"
        );
        assert_eq!(given.values[0].as_deref(), Some(r#"{"1","2"}"#));
        assert_eq!(given.values[1].as_deref(), Some(r#"{"x"}"#));
        assert_eq!(rows.count(), 2);
    }
}
