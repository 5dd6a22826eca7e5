//! Text in columns, for people.

use std::{fmt, time::Duration};

use crate::error::Grouped;

/// Rows under a heading, each column as wide as its widest cell.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|&name| name.to_owned()).collect()] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |at: usize| {
            self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
        };
        let is_number =
            |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(' ');
        let numeric = |at: usize| {
            self.rows.len() > 1
                && self.rows[1..].iter().filter_map(|row| row.get(at)).all(is_number)
        };
        let layout: Vec<_> = (0..columns).map(|at| (width(at).unwrap_or(0), numeric(at))).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, &(width, right)) in row.iter().zip(&layout) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                line += &if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// With the thousands apart, as `12,000`.
pub(crate) fn grouped(number: u64) -> String {
    Grouped(number).to_string()
}

/// As `42s`, `3m`, `5h` or `2d`.
pub(crate) fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..=119 => format!("{seconds}s"),
        seconds @ 120..=7_199 => format!("{}m", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let ages = [0, 119, 120, 7_199, 7_200, 172_800].map(|s| age(Duration::from_secs(s)));
        assert_eq!(ages, ["0s", "119s", "2m", "119m", "2h", "2d"]);
    }

    #[test]
    fn numbers_stand_under_each_other_and_text_begins_together() {
        let mut table = Table::new(&["NAME", "COUNT", "NOTE"]);
        table.row(["pods".into(), "12,000".into(), String::new()]);
        table.row(["deployments.apps".into(), "7".into(), "é".into()]);
        let expected = "NAME               COUNT  NOTE\n\
                        pods              12,000\n\
                        deployments.apps       7  é\n";
        assert_eq!(table.to_string(), expected);
    }
}
