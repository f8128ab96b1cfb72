//! `cargo xtask graph`: draws the dependencies between the crates and between the modules of `ocorl` as `docs/figures/modules.svg`.
//!
//! A layered drawing: each box is one row below the lowest box it depends on. Transitive dependencies (a uses b, b uses c, so a uses c) are
//! not drawn. Lines that cross rows have a slot in each of them, and slots are sorted by the average of their neighbours' positions, which
//! keeps the number of crossings low.

use crate::run::root;
use crate::shape::{Uses, crate_uses, module_uses};
use crate::tell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const FILE: &str = "docs/figures/modules.svg";

/// Height of a box in pixels.
const BOX: f64 = 30.0;
const ROW: f64 = 66.0;
const GAP: f64 = 22.0;
const MARGIN: f64 = 24.0;
const LETTER: f64 = 8.2;
/// Width in pixels that a line occupies in a row it crosses.
const LANE: f64 = 8.0;

/// Draws the graph and writes the file.
pub(crate) fn write() -> Result<(), String> {
    std::fs::write(root().join(FILE), drawn()?).map_err(|error| format!("{FILE}: {error}"))?;
    tell(&format!("wrote {FILE}\n"));
    Ok(())
}

fn drawn() -> Result<String, String> {
    let (crates, modules) = (Drawing::new(&crate_uses()?), Drawing::new(&module_uses()?));
    let width = crates.width().max(modules.width()) + 2.0 * MARGIN;
    let below = 2.0 * MARGIN + crates.height() + 62.0;
    let height = below + modules.height() + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"14\">\n\
         <title>The crates, and the modules of ocorl</title>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\n"
    );
    for (drawing, top, title) in [(&crates, 2.0 * MARGIN, "Crates"), (&modules, below, "Modules of ocorl")] {
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{:.0}\" font-weight=\"600\" fill=\"#1b1f23\">{title}</text>",
            top - 16.0
        );
        let left = 0.5 * (width - drawing.width());
        let _ = writeln!(svg, "<g transform=\"translate({left:.1} {top:.1})\">\n{}</g>", drawing.svg());
    }
    let caption = "Each box uses those it is connected to above. Indirect dependencies are not drawn.";
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.0}\" font-size=\"12\" fill=\"#57606a\">{caption}</text>",
        height - 16.0
    );
    Ok(svg + "</svg>\n")
}

/// A slot in a row: a box with a name, or a crossing line.
struct Place {
    name: Option<String>,
    row: usize,
    /// Horizontal position of the centre.
    x: f64,
}

impl Place {
    fn width(&self) -> f64 {
        self.name.as_ref().map_or(LANE, |name| LETTER * name.chars().count() as f64 + 22.0)
    }
}

struct Drawing {
    places: Vec<Place>,
    /// Lines from a slot to one in the next row.
    lines: Vec<(usize, usize)>,
    rows: Vec<Vec<usize>>,
}

impl Drawing {
    fn new(uses: &Uses) -> Self {
        let uses = reduced(uses);
        let mut drawing = Drawing { places: Vec::new(), lines: Vec::new(), rows: Vec::new() };
        let mut boxes: BTreeMap<&str, usize> = BTreeMap::new();
        for name in uses.keys() {
            boxes.insert(name, drawing.place(Some(name.clone()), depth(&uses, name)));
        }
        for (name, used) in &uses {
            for other in used {
                let (mut from, to) = (boxes[other.as_str()], boxes[name.as_str()]);
                for row in drawing.places[from].row + 1..drawing.places[to].row {
                    let lane = drawing.place(None, row);
                    drawing.lines.push((from, lane));
                    from = lane;
                }
                drawing.lines.push((from, to));
            }
        }
        drawing.sort();
        drawing
    }

    fn place(&mut self, name: Option<String>, row: usize) -> usize {
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        self.places.push(Place { name, row, x: 0.0 });
        self.rows[row].push(self.places.len() - 1);
        self.places.len() - 1
    }

    /// Sorts rows by the average position of neighbours, downwards and upwards, and keeps the order with the fewest crossings.
    fn sort(&mut self) {
        self.spread();
        let mut best = (self.crossings(), self.rows.clone());
        for sweep in 0..40 {
            let rows: Vec<usize> = if sweep % 2 == 0 {
                (0..self.rows.len()).collect()
            } else {
                (0..self.rows.len()).rev().collect()
            };
            for row in rows {
                let mut keyed: Vec<(f64, usize)> =
                    self.rows[row].iter().map(|&place| (self.pull(place, sweep % 2 == 0), place)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.rows[row] = keyed.into_iter().map(|(_, place)| place).collect();
                self.pack(row);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
        self.spread();
        // Boxes move towards their neighbours as far as adjacent boxes allow.
        for sweep in 0..60 {
            for row in 0..self.rows.len() {
                self.relax(row, sweep % 3);
            }
        }
        let left =
            self.places.iter().map(|place| place.x - 0.5 * place.width()).fold(f64::INFINITY, f64::min);
        for place in &mut self.places {
            place.x -= left;
        }
    }

    fn neighbours(&self, place: usize) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.lines.iter().filter_map(move |&(upper, lower)| match place {
            _ if place == lower => Some((upper, true)),
            _ if place == upper => Some((lower, false)),
            _ => None,
        })
    }

    /// Average position of the neighbours in the row above or below; the slot's own position if there are none.
    fn pull(&self, place: usize, above: bool) -> f64 {
        let wanted: Vec<f64> = self
            .neighbours(place)
            .filter(|(_, up)| *up == above)
            .map(|(other, _)| self.places[other].x)
            .collect();
        if wanted.is_empty() {
            self.places[place].x
        } else {
            wanted.iter().sum::<f64>() / wanted.len() as f64
        }
    }

    fn spread(&mut self) {
        for row in 0..self.rows.len() {
            self.pack(row);
        }
    }

    /// Places the slots of a row side by side, centred.
    fn pack(&mut self, row: usize) {
        let total: f64 = self.rows[row].iter().map(|&place| self.places[place].width() + GAP).sum();
        let mut x = -0.5 * total;
        for &place in &self.rows[row] {
            let width = self.places[place].width();
            self.places[place].x = x + 0.5 * (width + GAP);
            x += width + GAP;
        }
    }

    fn relax(&mut self, row: usize, towards: usize) {
        let order = self.rows[row].clone();
        for (i, &place) in order.iter().enumerate() {
            let wanted = match towards {
                0 => self.pull(place, true),
                1 => self.pull(place, false),
                _ => 0.5 * (self.pull(place, true) + self.pull(place, false)),
            };
            let room = |a: usize, b: usize| 0.5 * (self.places[a].width() + self.places[b].width()) + GAP;
            let low = i
                .checked_sub(1)
                .map_or(f64::NEG_INFINITY, |i| self.places[order[i]].x + room(order[i], place));
            let high =
                order.get(i + 1).map_or(f64::INFINITY, |&next| self.places[next].x - room(place, next));
            self.places[place].x = wanted.clamp(low, high.max(low));
        }
    }

    fn crossings(&self) -> usize {
        let crossed = |a: &(usize, usize), b: &(usize, usize)| {
            let x = |place: usize| self.places[place].x;
            self.places[a.0].row == self.places[b.0].row && (x(a.0) - x(b.0)) * (x(a.1) - x(b.1)) < 0.0
        };
        let pairs = self
            .lines
            .iter()
            .enumerate()
            .map(|(i, a)| self.lines[..i].iter().filter(|b| crossed(a, b)).count());
        pairs.sum()
    }

    fn width(&self) -> f64 {
        self.places.iter().map(|place| place.x + 0.5 * place.width()).fold(0.0, f64::max)
    }

    fn height(&self) -> f64 {
        ROW * self.rows.len().saturating_sub(1) as f64 + BOX
    }

    fn svg(&self) -> String {
        let mut out = String::new();
        let top = |place: &Place| ROW * place.row as f64;
        for &(upper, lower) in &self.lines {
            let (a, b) = (&self.places[upper], &self.places[lower]);
            let (from, to) = (top(a) + BOX, top(b));
            let middle = 0.5 * (from + to);
            let _ = write!(
                out,
                "<path fill=\"none\" stroke=\"#6a737d\" stroke-width=\"1.2\" d=\"M{:.1} {from:.1}C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {to:.1}",
                a.x, a.x, b.x, b.x
            );
            // A line crosses a row vertically.
            if b.name.is_none() {
                let _ = write!(out, "V{:.1}", to + BOX);
            }
            out += "\"/>\n";
        }
        for place in &self.places {
            let Some(name) = &place.name else { continue };
            let (width, top) = (place.width(), top(place));
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"5\" fill=\"#eef4fb\" stroke=\"#0072b2\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#1b1f23\">{name}</text>",
                place.x - 0.5 * width,
                place.x,
                top + 0.5 * BOX + 5.0
            );
        }
        out
    }
}

/// The dependencies without the transitive ones.
fn reduced(uses: &Uses) -> Uses {
    let needed = |name: &String, other: &String| {
        let others = uses[name].iter().filter(|between| *between != other);
        !others.into_iter().any(|between| reached(uses, between).contains(other))
    };
    let keep = |(name, used): (&String, &BTreeSet<String>)| {
        (name.clone(), used.iter().filter(|other| needed(name, other)).cloned().collect())
    };
    uses.iter().map(keep).collect()
}

/// All direct and indirect dependencies of `from`.
fn reached(uses: &Uses, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = open.pop() {
        for other in uses.get(&name).into_iter().flatten() {
            if found.insert(other.clone()) {
                open.push(other.clone());
            }
        }
    }
    found
}

/// Row of a module: one below the lowest module it depends on. A cycle, which `shape` forbids, is cut at its start.
fn depth(uses: &Uses, name: &str) -> usize {
    fn below(uses: &Uses, name: &str, way: &mut Vec<String>) -> usize {
        if way.iter().any(|passed| passed == name) {
            return 0;
        }
        way.push(name.to_owned());
        let depth = uses[name].iter().map(|other| below(uses, other, way) + 1).max().unwrap_or(0);
        way.pop();
        depth
    }
    below(uses, name, &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(edges: &[(&str, &[&str])]) -> Uses {
        edges
            .iter()
            .map(|(name, used)| ((*name).into(), used.iter().map(|u| (*u).into()).collect()))
            .collect()
    }

    #[test]
    fn what_follows_is_left_out_and_rows_go_down() {
        let uses = uses(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"]), ("d", &["a"])]);
        assert_eq!(reduced(&uses), self::uses(&[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"])]));
        assert_eq!(["a", "b", "c", "d"].map(|name| depth(&uses, name)), [0, 1, 2, 1]);
    }

    #[test]
    fn places_of_a_row_do_not_overlap() {
        let drawing = Drawing::new(&module_uses().unwrap());
        for row in &drawing.rows {
            for pair in row.windows(2) {
                let (a, b) = (&drawing.places[pair[0]], &drawing.places[pair[1]]);
                assert!(a.x + 0.5 * a.width() < b.x - 0.5 * b.width(), "{:?} and {:?}", a.name, b.name);
            }
        }
    }

    #[test]
    fn the_drawing_is_of_the_code_as_it_is() {
        let there = std::fs::read_to_string(root().join(FILE)).unwrap_or_default();
        assert!(there == drawn().unwrap(), "{FILE} is outdated; draw it with: cargo xtask graph");
    }
}
