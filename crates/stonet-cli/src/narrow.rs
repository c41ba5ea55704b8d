//! Tables of results in at most 80 columns, for terminals; files keep their Markdown tables as they are.

/// The width of a terminal that nobody has widened.
const COLUMNS: usize = 80;

/// The text with every Markdown table that is wider than a terminal set anew: headings in several lines first, then the
/// columns in several blocks, each with the first column in front.
pub fn narrow(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut block: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with('|') {
            block.push(line);
            continue;
        }
        flush(&mut block, &mut out);
        out.push_str(line);
    }
    flush(&mut block, &mut out);
    out
}

fn flush(block: &mut Vec<&str>, out: &mut String) {
    let wide = block.iter().any(|line| width(line.trim_end()) > COLUMNS);
    match wide.then(|| Grid::parse(block)).flatten() {
        Some(grid) => out.push_str(&grid.set()),
        None => block.iter().for_each(|line| out.push_str(line)),
    }
    block.clear();
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A table of text: headings, and rows with as many cells.
struct Grid<'a> {
    header: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Grid<'a> {
    /// None where the lines are no table, or where a cell holds a `|` of its own.
    fn parse(lines: &[&'a str]) -> Option<Self> {
        let cells = |line: &&'a str| -> Option<Vec<&'a str>> {
            let inner = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
            Some(inner.split('|').map(str::trim).collect())
        };
        let mut all = lines.iter().map(cells).collect::<Option<Vec<_>>>()?;
        let rule = all.get(1)?.iter().all(|cell| cell.contains("--"));
        let same = all.iter().all(|row| row.len() == all[0].len());
        if !rule || !same {
            return None;
        }
        all.remove(1);
        let header = all.remove(0);
        Some(Grid { header, rows: all })
    }

    fn set(&self) -> String {
        let least = |c: usize| {
            let cells = self.rows.iter().map(|row| width(row[c]));
            cells.chain(self.header[c].split(' ').map(width)).max().unwrap_or(0).max(3)
        };
        let mut widths: Vec<usize> = (0..self.header.len()).map(least).collect();
        self.widen(&mut widths);
        let mut blocks: Vec<Vec<usize>> = vec![vec![0]];
        let mut used = widths[0] + 4;
        for (c, w) in widths.iter().enumerate().skip(1) {
            if used + w + 3 > COLUMNS && blocks.last().is_some_and(|b| b.len() > 1) {
                blocks.push(vec![0]);
                used = widths[0] + 4;
            }
            used += w + 3;
            if let Some(block) = blocks.last_mut() {
                block.push(c);
            }
        }
        blocks.iter().map(|block| self.block(block, &widths)).collect::<Vec<_>>().join("\n")
    }

    /// Gives room that is left to the columns whose headings need most lines.
    fn widen(&self, widths: &mut [usize]) {
        while widths.iter().sum::<usize>() + 3 * widths.len() + 1 < COLUMNS {
            let lines = |c: usize| wrapped(self.header[c], widths[c]).len();
            match (0..widths.len()).max_by_key(|&c| lines(c)) {
                Some(c) if lines(c) > 1 => widths[c] += 1,
                _ => break,
            }
        }
    }

    fn block(&self, columns: &[usize], widths: &[usize]) -> String {
        let line = |cells: Vec<&str>| {
            let one = |(&c, cell): (&usize, &str)| {
                let w = widths[c];
                if c == 0 { format!("| {cell:<w$} ") } else { format!("| {cell:>w$} ") }
            };
            columns.iter().zip(cells).map(one).collect::<String>() + "|\n"
        };
        let headings: Vec<Vec<String>> = columns.iter().map(|&c| wrapped(self.header[c], widths[c])).collect();
        let height = headings.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for h in 0..height {
            text += &line(headings.iter().map(|lines| lines.get(h).map_or("", String::as_str)).collect());
        }
        let rules: Vec<String> = columns.iter().map(|&c| "-".repeat(widths[c])).collect();
        text += &line(rules.iter().map(String::as_str).collect());
        self.rows.iter().for_each(|row| text += &line(columns.iter().map(|&c| row[c]).collect()));
        text
    }
}

/// Words in lines of at most this width.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use stonet_compare::table::Table;

    fn table(columns: usize, heading: &str) -> String {
        let names: Vec<String> = (0..columns).map(|c| format!("{heading} {c}")).collect();
        let mut t = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        t.row((0..columns).map(|c| format!("1.{c}")).collect());
        t.to_string()
    }

    #[test]
    fn tables_that_fit_are_left_alone() {
        let text = format!("Results:\n\n{}\nthe end\n", table(4, "mean length"));
        assert_eq!(narrow(&text), text);
    }

    #[test]
    fn headings_are_wrapped_before_columns_are_divided() {
        let few = narrow(&table(6, "coverage of the widest"));
        assert!(few.lines().all(|l| width(l) <= COLUMNS), "{few}");
        assert_eq!(few.lines().filter(|l| l.contains("--")).count(), 1, "one block: {few}");
        let many = narrow(&table(30, "coverage"));
        assert!(many.lines().all(|l| width(l) <= COLUMNS), "{many}");
        for c in 0..30 {
            assert!(many.contains(&format!("1.{c} ")), "{many}");
        }
    }

    #[test]
    fn lines_that_only_look_like_a_table_are_kept() {
        let text = format!("|{}|\n|a|b|\n", "x".repeat(100));
        assert_eq!(narrow(&text), text);
    }
}
