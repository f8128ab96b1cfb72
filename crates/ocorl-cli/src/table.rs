//! Text tables with aligned columns.

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text table; columns are as wide as their widest cell and two spaces apart.
pub(crate) struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Headings above several columns: first column, heading.
    groups: Vec<(usize, &'static str)>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: impl Into<Vec<Align>>) -> Self {
        Table { columns: columns.into(), rows: Vec::new(), groups: Vec::new() }
    }

    /// Adds a heading that begins above column `first`.
    pub(crate) fn group(&mut self, first: usize, title: &'static str) {
        self.groups.push((first, title));
    }

    /// Appends a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(
            cells.len(),
            self.columns.len(),
            "{} cells for {} columns",
            cells.len(),
            self.columns.len()
        );
        self.rows.push(cells);
    }

    /// The table as text; no line has trailing spaces, every line ends with a line break.
    pub(crate) fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|c| self.rows.iter().map(|row| width(&row[c])).max().unwrap_or(0))
            .collect();
        let mut lines = Vec::new();
        if !self.groups.is_empty() {
            let mut line = String::new();
            for (first, title) in &self.groups {
                let start: usize = widths[..*first].iter().map(|w| w + 2).sum();
                line += &" ".repeat(start.saturating_sub(width(&line)));
                line += title;
            }
            lines.push(line);
        }
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, align), room) in row.iter().zip(&self.columns).zip(&widths) {
                let blanks = " ".repeat(room - width(cell));
                let [before, after] = if *align == Align::Left { ["", &blanks] } else { [&blanks, ""] };
                line.extend([before, cell, after, "  "]);
            }
            lines.push(line);
        }
        lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// Number of characters, which equals the number of terminal columns for the texts used here.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// `items` separated by commas, in lines of at most `room` characters.
pub(crate) fn wrap(items: &[String], room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (i, item) in items.iter().enumerate() {
        let item = if i + 1 < items.len() { format!("{item},") } else { item.clone() };
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = item,
            Some(line) if width(line) + 1 + width(&item) <= room => *line = format!("{line} {item}"),
            _ => lines.push(item),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lean_to_their_side_and_lines_end_without_blanks() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
        table.group(1, "numbers");
        table.row(["name", "x", ""]);
        table.row(["Lotka–Volterra", "10.5", "a"]);
        assert_eq!(table.text(), "                numbers\nname               x\nLotka–Volterra  10.5  a\n");
    }

    #[test]
    fn lists_break_between_items() {
        let items: Vec<String> = ["alpha", "beta", "gamma"].map(String::from).into();
        assert_eq!(wrap(&items, 12), ["alpha, beta,", "gamma"]);
        assert_eq!(wrap(&items, 1), ["alpha,", "beta,", "gamma"]);
        assert_eq!(wrap(&[], 10), [""]);
    }
}
