//! Plain tables: aligned for a terminal, and valid Markdown at the same time.

/// Columns by name, rows of cells as text; the first column is left-aligned, the others right-aligned.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(header: &[&str]) -> Self {
        Table { header: header.iter().map(|&h| h.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.header.len(), String::new());
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|r| &r[c]).chain([&self.header[c]]);
            cells.map(|s| s.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut line = |cells: &[String]| {
            for (c, (cell, &w)) in cells.iter().zip(&widths).enumerate() {
                if c == 0 { write!(f, "| {cell:<w$} ")? } else { write!(f, "| {cell:>w$} ")? }
            }
            writeln!(f, "|")
        };
        line(&self.header)?;
        let rule = |(c, &w): (usize, &usize)| if c == 0 { "-".repeat(w) } else { format!("{}:", "-".repeat(w - 1)) };
        line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|r| line(r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut t = Table::new(&["name", "ς²"]);
        t.row(vec!["a".into(), "1.25".into()]);
        t.row(vec!["long one".into()]);
        let expected = "| name     |   ς² |\n| -------- | ---: |\n| a        | 1.25 |\n| long one |      |\n";
        assert_eq!(t.to_string(), expected);
    }
}
