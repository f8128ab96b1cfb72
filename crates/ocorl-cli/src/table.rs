//! Text tables with aligned columns.

use crate::terminal::hanging;

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
        // A line break in a cell would break the table.
        let line = |cell: S| cell.into().replace(['\n', '\r'], " ");
        let cells: Vec<String> = cells.into_iter().map(line).collect();
        assert_eq!(
            cells.len(),
            self.columns.len(),
            "{} cells for {} columns",
            cells.len(),
            self.columns.len()
        );
        self.rows.push(cells);
    }

    /// The table as text; no line has trailing spaces, every line ends with a line break. If it is wider than `width`, a last column
    /// of text is broken into lines, and columns of numbers are continued below, beside the first columns.
    pub(crate) fn text(&self, width: Option<usize>) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|c| self.rows.iter().map(|row| characters(&row[c])).max().unwrap_or(0))
            .collect();
        let all: Vec<usize> = (0..self.columns.len()).collect();
        // Headings count too: one may be longer than the columns below it.
        let fits = |columns: &[usize], width: usize| {
            self.block(columns, &widths).lines().all(|line| characters(line) <= width)
        };
        let Some(width) = width.filter(|&width| !fits(&all, width)) else { return self.block(&all, &widths) };
        let titles = self.columns.iter().take_while(|align| **align == Align::Left).count();
        if titles == self.columns.len() {
            return self.broken(&widths, width);
        }
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for column in titles..self.columns.len() {
            match blocks.last_mut() {
                Some(block) if fits(&[&block[..], &[column]].concat(), width) => block.push(column),
                _ => blocks.push((0..titles).chain([column]).collect()),
            }
        }
        blocks.iter().map(|block| self.block(block, &widths)).collect::<Vec<_>>().join("\n")
    }

    /// The lines of some columns.
    fn block(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut lines = Vec::new();
        if !self.groups.is_empty() {
            let (mut line, mut start, mut shown) = (String::new(), 0_usize, None);
            for &column in columns {
                // The heading above a column is the last one that begins at it or before it.
                let heading = self.groups.iter().rev().find(|(first, _)| *first <= column);
                if let Some((first, title)) = heading.filter(|(first, _)| shown != Some(*first)) {
                    shown = Some(*first);
                    let blanks = start.saturating_sub(characters(&line));
                    line += &" ".repeat(blanks.max(usize::from(!line.is_empty())));
                    line += title;
                }
                start += widths[column] + 2;
            }
            lines.push(line);
        }
        for row in &self.rows {
            let mut line = String::new();
            for &column in columns {
                let blanks = " ".repeat(widths[column] - characters(&row[column]));
                let left = self.columns[column] == Align::Left;
                let [before, after] = if left { ["", &blanks] } else { [&blanks, ""] };
                line.extend([before, &row[column], after, "  "]);
            }
            lines.push(line);
        }
        lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// A table of text, its last column broken into lines.
    fn broken(&self, widths: &[usize], width: usize) -> String {
        let (last, first) = widths.split_last().map_or((0, &[][..]), |(_, first)| (first.len(), first));
        let indent = first.iter().map(|w| w + 2).sum::<usize>().min(width / 2);
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, room) in row.iter().zip(first) {
                line.extend([cell, &*" ".repeat(room + 2 - characters(cell))]);
            }
            text += hanging(&(line + &row[last]), indent, width).trim_end();
            text.push('\n');
        }
        text
    }
}

/// Number of characters, which equals the number of terminal columns for the texts used here.
fn characters(text: &str) -> usize {
    text.chars().count()
}

/// `items` separated by commas, in lines of at most `room` characters.
pub(crate) fn wrap(items: &[String], room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (i, item) in items.iter().enumerate() {
        let item = if i + 1 < items.len() { format!("{item},") } else { item.clone() };
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = item,
            Some(line) if characters(line) + 1 + characters(&item) <= room => {
                *line = format!("{line} {item}");
            }
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
        assert_eq!(
            table.text(None),
            "                numbers\nname               x\nLotka–Volterra  10.5  a\n"
        );
    }

    #[test]
    fn tables_fit_their_width() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right]);
        table.group(1, "paper");
        table.group(3, "ours");
        table.row(["", "mean", "std", "mean"]);
        table.row(["Pendulum", "20.20", "0.02", "20.16"]);
        let expected = "          paper\n           mean   std\nPendulum  20.20  0.02\n\n          ours\n           mean\nPendulum  20.16\n";
        assert_eq!(table.text(Some(22)), expected);
        let mut table = Table::new([Align::Left, Align::Left]);
        table.row(["phase", "one run in detail"]);
        table.row(["cost", "costs"]);
        assert_eq!(table.text(Some(16)), "phase  one run\n       in detail\ncost   costs\n");
    }

    #[test]
    fn lists_break_between_items() {
        let items: Vec<String> = ["alpha", "beta", "gamma"].map(String::from).into();
        assert_eq!(wrap(&items, 12), ["alpha, beta,", "gamma"]);
        assert_eq!(wrap(&items, 1), ["alpha,", "beta,", "gamma"]);
        assert_eq!(wrap(&[], 10), [""]);
    }
}
