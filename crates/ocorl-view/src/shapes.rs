//! Draws marks as SVG inside the axes of a panel.

use crate::colormap::{self, LEVELS, level};
use crate::ink::{arrow, glyph, interval_x, interval_y, marker_looks, num, polyline, runs, stroke};
use crate::mark::{Color, Mark, Marker, Shape};
use crate::scale::Span;
use crate::text::{SMALL, fit, text, width};
use crate::theme::Theme;
use std::collections::BTreeMap;

/// Points farther than this outside the panel are moved closer, because SVG readers compute in single precision.
const FAR: f64 = 1e6;

type Point = (f64, f64);

/// The area inside the axes, with its origin in the upper left corner, and the maps from values to positions.
pub(crate) struct Canvas<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: &'a Span,
    pub(crate) y: &'a Span,
    /// Range of the colour bar, if any mark is coloured by a value that can be drawn.
    pub(crate) color: Option<&'a Span>,
    /// Whether the panel has a heat map; marks on it are outlined, because no single colour contrasts with all of it.
    pub(crate) on_heat: bool,
    /// Common scale of the arrows of all marks.
    pub(crate) arrows: ArrowScale,
}

/// Scale of arrow lengths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArrowScale {
    /// Length of the longest arrow in its data, in pixels.
    longest: f64,
    /// Length at which that arrow is drawn, in pixels.
    reach: f64,
}

impl Canvas<'_> {
    /// Draws the mark; empty if none of its points has a position.
    pub(crate) fn draw(&self, mark: &Mark) -> String {
        match &mark.shape {
            Shape::ColoredLine { x, y, value } => self.colored_line(x, y, value),
            Shape::ColoredPoints { x, y, value, marker } => self.colored_points(x, y, value, *marker),
            Shape::Heat { x_edges, y_edges, values } => self.heat(x_edges, y_edges, values),
            Shape::Note { x, y, text } => self.note(mark.color, *x, *y, text),
            Shape::Arrows { .. } if self.on_heat => {
                let path = self.path(&mark.shape);
                self.halo(&path) + &stroke(self.theme, mark, "mark", &path)
            }
            shape => stroke(self.theme, mark, "mark", &self.path(shape)),
        }
    }

    fn to_x(&self, x: f64) -> Option<f64> {
        self.x.place(x).map(|at| (at * self.width).clamp(-FAR, FAR))
    }

    fn to_y(&self, y: f64) -> Option<f64> {
        self.y.place(y).map(|at| ((1.0 - at) * self.height).clamp(-FAR, FAR))
    }

    fn to(&self, x: f64, y: f64) -> Option<Point> {
        Some((self.to_x(x)?, self.to_y(y)?))
    }

    /// Position of a point that is inside the panel or on its frame, else `None`.
    fn inside(&self, x: f64, y: f64) -> Option<Point> {
        let (w, h) = (self.width, self.height);
        self.to(x, y).filter(|(x, y)| (-0.5..=w + 0.5).contains(x) && (-0.5..=h + 0.5).contains(y))
    }

    /// Path data of a mark in one colour.
    fn path(&self, shape: &Shape) -> String {
        let to = |x: f64, y: f64| self.to(x, y);
        match shape {
            Shape::Line { x, y } => {
                runs(x.iter().zip(y).map(|(&x, &y)| to(x, y))).iter().map(|run| polyline(run)).collect()
            }
            Shape::Step { x, y } => {
                let ends = x.iter().skip(1).chain(x.last());
                let pieces = x.iter().zip(ends).zip(y);
                let pieces = pieces.map(|((&start, &end), &y)| Some([to(start, y)?, to(end, y)?]));
                runs(pieces).iter().map(|run| polyline(run.as_flattened())).collect()
            }
            Shape::Band { x, lower, upper } => {
                let slices = x.iter().zip(lower.iter().zip(upper));
                let slices = slices.map(|(&x, (&low, &high))| Some((to(x, low)?, to(x, high)?)));
                let outline = |run: &Vec<_>| {
                    let there = run.iter().map(|&(low, _)| low);
                    let back = run.iter().rev().map(|&(_, high)| high);
                    polyline(&there.chain(back).collect::<Vec<_>>()) + "Z"
                };
                runs(slices).iter().map(outline).collect()
            }
            Shape::Points { x, y, marker } => {
                let places = x.iter().zip(y).filter_map(|(&x, &y)| self.inside(x, y));
                places.map(|(x, y)| glyph(*marker, x, y)).collect()
            }
            Shape::Arrows { .. } => self.arrow_path(shape),
            Shape::IntervalY { x, low, high } => {
                let bars = x.iter().zip(low.iter().zip(high));
                let bars = bars.filter_map(|(&x, (&low, &high))| {
                    Some(interval_y(self.to_x(x)?, self.to_y(low)?, self.to_y(high)?))
                });
                bars.collect()
            }
            Shape::IntervalX { y, low, high } => {
                let bars = y.iter().zip(low.iter().zip(high));
                let bars = bars.filter_map(|(&y, (&low, &high))| {
                    Some(interval_x(self.to_y(y)?, self.to_x(low)?, self.to_x(high)?))
                });
                bars.collect()
            }
            Shape::Horizontal { y } => {
                self.to_y(*y).map_or(String::new(), |y| format!("M0 {}H{}", num(y), num(self.width)))
            }
            Shape::Vertical { x } => {
                self.to_x(*x).map_or(String::new(), |x| format!("M{} 0V{}", num(x), num(self.height)))
            }
            Shape::ColoredLine { .. }
            | Shape::ColoredPoints { .. }
            | Shape::Heat { .. }
            | Shape::Note { .. } => String::new(), // these have several colours, or no path
        }
    }

    /// The scale of the arrows of these marks: one for all, so that lengths can be compared.
    pub(crate) fn arrow_scale(&self, marks: &[Mark]) -> ArrowScale {
        let arrows = marks.iter().map(|mark| self.arrow_vectors(&mark.shape)).collect::<Vec<_>>();
        let longest = arrows.iter().flatten().map(|(_, (dx, dy))| dx.hypot(*dy)).fold(0.0, f64::max);
        let count = arrows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let share = (0.9 / (count as f64).sqrt()).clamp(0.02, 0.12);
        ArrowScale { longest, reach: share * (self.width * self.height).sqrt() }
    }

    /// Position of each arrow, and its displacement at true length, in pixels.
    fn arrow_vectors(&self, shape: &Shape) -> Vec<(Point, Point)> {
        let Shape::Arrows { x, y, dx, dy } = shape else { return Vec::new() };
        let arrows = x.iter().zip(y).zip(dx.iter().zip(dy));
        let arrows = arrows.filter_map(|((&x, &y), (&dx, &dy))| {
            let right = dx * self.x.slope(x)? * self.width;
            let down = -dy * self.y.slope(y)? * self.height;
            right.hypot(down).is_finite().then_some((self.inside(x, y)?, (right, down)))
        });
        arrows.collect()
    }

    fn arrow_path(&self, shape: &Shape) -> String {
        let ArrowScale { longest, reach } = self.arrows;
        let draw = |((x, y), (dx, dy)): (Point, Point)| {
            // Divide first: the reciprocal of a very small `longest` would overflow.
            let scaled = |v: f64| if longest > 0.0 { v / longest * reach } else { 0.0 };
            arrow(x, y, scaled(dx), scaled(dy))
        };
        self.arrow_vectors(shape).into_iter().map(draw).collect()
    }

    /// An outline in the background colour that separates thin lines from a heat map.
    fn halo(&self, path: &str) -> String {
        if path.is_empty() {
            return String::new();
        }
        format!(
            "<path class=\"halo\" fill=\"none\" stroke=\"{}\" stroke-width=\"3\" stroke-linecap=\"round\" \
             stroke-linejoin=\"round\" opacity=\"0.75\" d=\"{path}\"/>\n",
            self.theme.background
        )
    }

    /// Position of a value between the ends of the colour bar.
    fn shade(&self, value: f64) -> Option<f64> {
        self.color?.place(value).map(|share| share.clamp(0.0, 1.0))
    }

    /// Draws a line whose colour changes linearly with the value between two points: one piece for each colour level.
    fn colored_line(&self, x: &[f64], y: &[f64], value: &[f64]) -> String {
        let points = x.iter().zip(y).zip(value);
        let points = points.map(|((&x, &y), &value)| Some((self.to(x, y)?, self.shade(value)?)));
        let (mut pieces, mut below) = (Vec::new(), String::new());
        for run in runs(points) {
            below += &polyline(&run.iter().map(|(point, _)| *point).collect::<Vec<_>>());
            pieces.extend(levels_along(&run).iter().map(|(level, points)| (*level, polyline(points))));
        }
        if pieces.is_empty() {
            return String::new();
        }
        // The light end of the colour map needs an edge to be visible on white.
        let casing = format!(
            "<path stroke=\"{}\" stroke-width=\"3.4\" opacity=\"0.4\" d=\"{below}\"/>\n",
            self.theme.quiet
        );
        let colored = in_levels(&pieces, |color| format!("stroke=\"{color}\" stroke-width=\"2.2\""));
        format!(
            "<g class=\"mark\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\n\
             {casing}{colored}</g>\n"
        )
    }

    fn colored_points(&self, x: &[f64], y: &[f64], value: &[f64], marker: Marker) -> String {
        let points = x.iter().zip(y).zip(value).filter_map(|((&x, &y), &value)| {
            let (x, y) = self.inside(x, y)?;
            Some((level(self.shade(value)?), glyph(marker, x, y)))
        });
        let looks = |color: &str| marker_looks(self.theme, marker, color, self.theme.quiet);
        let drawn = in_levels(&points.collect::<Vec<_>>(), looks);
        if drawn.is_empty() { drawn } else { format!("<g class=\"mark\">\n{drawn}</g>\n") }
    }

    /// Draws a heat map: all cells of one level form one path, neighbours in a row one rectangle of it.
    fn heat(&self, x_edges: &[f64], y_edges: &[f64], values: &[f64]) -> String {
        let mut levels: BTreeMap<u8, String> = BTreeMap::new();
        let columns = x_edges.len().saturating_sub(1).max(1);
        for (row, edges) in values.chunks(columns).zip(y_edges.windows(2)) {
            let (Some(low), Some(high)) = (self.to_y(edges[0]), self.to_y(edges[1])) else { continue };
            let cells = row.iter().zip(x_edges.windows(2)).map(|(&value, edges)| {
                Some((level(self.shade(value)?), self.to_x(edges[0])?, self.to_x(edges[1])?))
            });
            for run in runs(cells) {
                for same in run.chunk_by(|a, b| a.0 == b.0) {
                    let (level, left, right) = (same[0].0, same[0].1, same[same.len() - 1].2);
                    let [left, right, low, high] = [left, right, low, high].map(num);
                    let cells = format!("M{left} {low}H{right}V{high}H{left}Z");
                    levels.entry(level).or_default().push_str(&cells);
                }
            }
        }
        if levels.is_empty() {
            return String::new();
        }
        let drawn = in_levels(&levels.into_iter().collect::<Vec<_>>(), |color| format!("fill=\"{color}\""));
        format!("<g class=\"mark\" shape-rendering=\"crispEdges\">\n{drawn}</g>\n")
    }

    /// Draws a text to the upper right of its point; left or below where there is no room.
    fn note(&self, color: Color, x: f64, y: f64, note: &str) -> String {
        let Some((x, y)) = self.inside(x, y) else { return String::new() };
        let note = fit(note, SMALL, self.width - 8.0);
        let (wide, away, edge) = (width(&note, SMALL), 6.0, 4.0);
        let (anchor, x) = if x + away + wide + edge <= self.width {
            ("start", x + away)
        } else if x - away - wide >= edge {
            ("end", x - away)
        } else {
            ("middle", 0.5 * self.width)
        };
        let above = y - away;
        let y = if above - SMALL >= 0.0 { above } else { y + away + 0.8 * SMALL };
        let color = match color {
            Color::Series(index) => self.theme.series[index % self.theme.series.len()],
            Color::Muted => self.theme.ink,
        };
        let style = format!(
            "class=\"note\" text-anchor=\"{anchor}\" fill=\"{color}\" stroke=\"{}\" stroke-width=\"3\" \
             stroke-linejoin=\"round\" paint-order=\"stroke\"",
            self.theme.background
        );
        text(x, y, SMALL, &style, &note)
    }
}

/// Splits a line between points with colour positions into pieces of one level each.
fn levels_along(run: &[(Point, f64)]) -> Vec<(u8, Vec<Point>)> {
    let mut pieces: Vec<(u8, Vec<Point>)> = Vec::new();
    if let [(point, share)] = run {
        pieces.push((level(*share), vec![*point]));
    }
    for pair in run.windows(2) {
        let [(p, a), (q, b)] = pair else { continue };
        let count = ((b - a).abs() * f64::from(LEVELS)).ceil().max(1.0);
        let at = |share: f64| (p.0 + share * (q.0 - p.0), p.1 + share * (q.1 - p.1));
        for k in 0..level_count(count) {
            let (from, to) = (f64::from(k) / count, f64::from(k + 1) / count);
            let level = level(a + 0.5 * (from + to) * (b - a));
            match pieces.last_mut() {
                Some((known, points)) if *known == level => points.push(at(to)),
                _ => pieces.push((level, vec![at(from), at(to)])),
            }
        }
    }
    pieces
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most LEVELS")]
fn level_count(count: f64) -> u8 {
    count as u8
}

/// Draws paths in the colours of their levels; neighbours of one level become one element.
fn in_levels(paths: &[(u8, String)], looks: impl Fn(&str) -> String) -> String {
    let same = paths.chunk_by(|a, b| a.0 == b.0);
    let draw = |same: &[(u8, String)]| {
        let path: String = same.iter().map(|(_, path)| path.as_str()).collect();
        format!("<path {} d=\"{path}\"/>\n", looks(&colormap::color(same[0].0)))
    };
    same.map(draw).collect()
}
