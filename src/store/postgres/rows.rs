//! Rows that a statement is given: values for columns of a table, one row or many.
//!
//! Only columns in which a row has a value are sent. One row goes as values, which the server plans in a fraction of the
//! time that arrays take; many go as an array for each column, or as one value where all rows have the same.

use super::array::Array;
use super::value::{Parameter, Value};

/// A column's name and its type.
pub(super) type Column = (&'static str, &'static str);

/// Rows for a table.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<Column>,
    values: Vec<Values>,
    count: usize,
}

/// A column's values.
#[derive(Debug, Clone, Default)]
struct Values {
    first: Option<Value<'static>>,
    /// Whether some row has another than the first.
    differ: bool,
    /// All of them, as soon as they differ.
    all: Array,
}

/// Rows as a statement takes them.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// What stands behind FROM; the rows are called `given`.
    pub(super) sql: String,
    /// The columns that are there.
    columns: Vec<&'static str>,
    /// Where each finds its value, or its values.
    places: Vec<String>,
    /// The values that `sql` speaks of, in its order.
    pub(super) values: Vec<Option<Parameter>>,
}

impl Rows {
    /// None yet. No row may lack a value in the first column.
    pub(super) fn new<'a>(columns: impl IntoIterator<Item = &'a Column>) -> Rows {
        let columns: Vec<Column> = columns.into_iter().copied().collect();
        Rows {
            values: vec![Values::default(); columns.len()],
            columns,
            count: 0,
        }
    }

    /// The next row, a value for each column.
    pub(super) fn push<'a>(&mut self, row: impl IntoIterator<Item = Option<Value<'a>>>) {
        for (nth, (values, value)) in self.values.iter_mut().zip(row).enumerate() {
            values.push(value, self.count, nth == 0);
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether any row has a value in this column.
    fn is_given(&self, nth: usize) -> bool {
        let values = &self.values[nth];
        values.first.is_some() || values.differ
    }

    /// Whether this column goes as an array. The first does in any case: it says how many rows there are.
    fn is_many(&self, nth: usize) -> bool {
        self.count > 1 && (nth == 0 || self.values[nth].differ)
    }

    /// The rows for a statement whose earlier values are so many. No row lacks the first column.
    pub(super) fn given(&self, behind: usize) -> Given {
        let given = (0..self.columns.len()).filter(|nth| self.is_given(*nth));
        let (arrays, same): (Vec<_>, Vec<_>) = given.partition(|nth| self.is_many(*nth));
        let mut given = Given::default();
        for nth in &arrays {
            let all = self.values[*nth].all.clone();
            given.add(behind, self.columns[*nth], "[]", Some(all.into()));
        }
        let many = given.columns.join(", ");
        let unnest = format!("unnest({}) AS given ({many})", given.places.join(", "));
        for nth in same {
            given.add(behind, self.columns[nth], "", self.values[nth].first());
        }
        let (columns, places) = (
            &given.columns[arrays.len()..],
            &given.places[arrays.len()..],
        );
        given.sql = if arrays.is_empty() {
            format!(
                "(VALUES ({})) AS given ({})",
                places.join(", "),
                columns.join(", ")
            )
        } else if columns.is_empty() {
            unnest
        } else {
            let named = places.iter().zip(columns);
            let named = named.map(|(place, name)| format!("{place} AS {name}"));
            let named = named.collect::<Vec<_>>().join(", ");
            format!("(SELECT given.*, {named} FROM {unnest}) AS given")
        };
        given
    }

    /// What the rows hold beside their first column, if that is the same in all of them.
    pub(super) fn alike(&self, behind: usize) -> Option<Given> {
        let mut given = Given::default();
        for (nth, column) in self.columns.iter().enumerate().skip(1) {
            if self.values[nth].differ {
                return None;
            }
            if self.is_given(nth) {
                given.add(behind, *column, "", self.values[nth].first());
            }
        }
        Some(given)
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

impl Values {
    /// The next value, behind so many. Whether they differ or not, `each` has them go one by one.
    fn push(&mut self, value: Option<Value<'_>>, behind: usize, each: bool) {
        if behind == 0 {
            if each {
                self.all.push(value.as_ref());
            }
            self.first = value.map(Value::into_owned);
            return;
        }
        if !self.differ && !each && self.first != value {
            for _ in 0..behind {
                self.all.push(self.first.as_ref());
            }
        }
        self.differ |= self.first != value;
        if self.differ || each {
            self.all.push(value.as_ref());
        }
    }

    fn first(&self) -> Option<Parameter> {
        self.first.as_ref().map(Parameter::from)
    }
}

impl Given {
    fn add(&mut self, behind: usize, column: Column, of: &str, value: Option<Parameter>) {
        let (name, kind) = column;
        self.values.push(value);
        let nth = behind + self.values.len();
        self.places.push(format!("${nth}::{kind}{of}"));
        self.columns.push(name);
    }

    /// The columns' names, with commas between.
    pub(super) fn names(&self) -> String {
        self.columns.join(", ")
    }

    /// The same, each as a column of `given`.
    pub(super) fn qualified(&self) -> String {
        let of_given = self.columns.iter().map(|name| format!("given.{name}"));
        of_given.collect::<Vec<_>>().join(", ")
    }

    /// The places of the columns' values, with commas between; of one row.
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

    const COLUMNS: &[Column] = &[("a", "text"), ("b", "text"), ("c", "text")];

    fn row(values: [Option<&str>; 3]) -> impl Iterator<Item = Option<Value<'_>>> {
        values.map(|value| value.map(Value::text)).into_iter()
    }

    #[test]
    fn one_row_goes_as_values_and_without_what_it_lacks() {
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), None, Some("x")]));
        let given = rows.given(1);
        assert_eq!(given.sql, "(VALUES ($2::text, $3::text)) AS given (a, c)");
        assert_eq!(
            (given.names(), given.only()),
            ("a, c".into(), "$2::text, $3::text".into())
        );
        assert_eq!(given.values, [Some("1".into()), Some("x".into())]);
        assert_eq!(given.qualified(), "given.a, given.c");
        assert!(given.has("c") && !given.has("b"));
        assert_eq!(rows.set(), "a = given.a, b = NULL, c = given.c");
    }

    #[test]
    fn what_many_rows_have_in_common_goes_once() {
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), Some("y"), Some("x")]));
        rows.push(row([Some("2"), Some("y"), None]));
        let given = rows.given(1);
        let sql = "(SELECT given.*, $4::text AS b FROM unnest($2::text[], $3::text[]) AS given (a, c)) AS given";
        assert_eq!(given.sql, sql);
        assert_eq!(given.names(), "a, c, b");
        assert_eq!(given.values[2], Some("y".into()));
        assert!(rows.alike(1).is_none());
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), Some("y"), None]));
        rows.push(row([Some("2"), Some("y"), None]));
        let alike = rows.alike(4).map(|alike| (alike.names(), alike.only()));
        assert_eq!(alike, Some(("b".to_owned(), "$5::text".to_owned())));
    }

    #[test]
    fn many_rows_go_as_arrays_and_without_what_they_all_lack() {
        let mut rows = Rows::new(COLUMNS);
        rows.push(row([Some("1"), None, Some("x")]));
        rows.push(row([Some("2"), None, None]));
        let given = rows.given(0);
        assert_eq!(given.sql, "unnest($1::text[], $2::text[]) AS given (a, c)");
        let array = |values: &[&str]| values.iter().copied().map(Value::text).collect::<Array>();
        assert_eq!(given.values[0], Some(array(&["1", "2"]).into()));
        assert_eq!(given.values[1], Some(array(&["x"]).into()));
        assert_eq!(rows.count(), 2);
    }
}
