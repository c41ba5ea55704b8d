//! Short tables for the terminal.

/// Names first, numbers to the right.
pub struct Columns {
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// With these headings.
    pub fn new(headings: &[&str]) -> Self {
        Columns { rows: vec![headings.iter().map(|h| (*h).to_owned()).collect()] }
    }

    /// One more row; it has as many cells as there are headings.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Indented by two, the first column to the left.
    pub fn text(&self) -> String {
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::from("  ");
            for (c, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.chars().count());
                let (before, after) = if c == 0 { ("", gap.as_str()) } else { (gap.as_str(), "") };
                line += &format!("{}{before}{cell}{after}", if c == 0 { "" } else { "  " });
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let mut c = Columns::new(&["fifth", "rows"]);
        c.row(vec!["−∞ to 3".into(), "12".into()]);
        assert_eq!(c.text(), "  fifth    rows\n  −∞ to 3    12\n");
    }
}
