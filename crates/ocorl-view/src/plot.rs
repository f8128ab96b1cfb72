//! One panel: grid, axes, marks.

use crate::figure::{Mark, Panel, Shape};
use crate::ink::{
    GRID, INK, MUTED, QUIET, SMALL, TEXT, fit, glyph, num, number, polyline, runs, stroke, text, width,
};
use crate::scale::{Span, Ticks};

/// Farther outside the panel than this a point is moved closer; SVG readers compute in single precision.
const FAR: f64 = 1e6;

/// The room of a panel: inside the axes, and left of them for labels.
pub(crate) struct Frame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) gutter: f64,
}

/// A panel with its axes decided.
pub(crate) struct Plot<'a> {
    pub(crate) panel: &'a Panel,
    x: Span,
    y: Span,
    y_ticks: Ticks,
}

impl<'a> Plot<'a> {
    /// Decides the axes of a panel of this height.
    pub(crate) fn new(panel: &'a Panel, height: f64) -> Self {
        let rows: Vec<_> = panel.marks.iter().flat_map(Mark::rows).collect();
        let drawn = |other: Option<f64>| other.is_none_or(f64::is_finite);
        let x = rows.iter().filter(|row| drawn(row.2)).filter_map(|row| row.1);
        let y = rows.iter().filter(|row| drawn(row.1)).filter_map(|row| row.2);
        let x = Span::new(&panel.x, x, if panel.marks.iter().all(over_time) { 0.0 } else { 0.03 });
        let y = Span::new(&panel.y, y, 0.05);
        let y_ticks = y.ticks(height, whole(height / 28.0), |_| 20.0);
        Self { panel, x, y, y_ticks }
    }

    /// The room its labels need left of the axes.
    pub(crate) fn gutter(&self) -> f64 {
        let labels = self.y_ticks.major.iter().map(|(_, label)| label).chain(&self.y_ticks.factor);
        let widest = labels.map(|label| width(label, SMALL)).fold(0.0, f64::max);
        widest + 12.0 + if self.panel.y.text().is_empty() { 0.0 } else { TEXT + 6.0 }
    }

    /// In coordinates whose origin is the upper left corner of the axes.
    pub(crate) fn draw(&self, frame: &Frame) -> String {
        let (w, h) = (frame.width, frame.height);
        let x_ticks = self.x.ticks(w, whole(w / 56.0), |label| width(label, SMALL) + 14.0);
        let [mut bands, mut curves, mut points] = [const { String::new() }; 3];
        for mark in &self.panel.marks {
            let layer = match mark.shape {
                Shape::Band { .. } => &mut bands,
                Shape::Points { .. } => &mut points,
                _ => &mut curves,
            };
            *layer += &stroke(mark, "mark", &self.path(mark, w, h));
        }
        let style = format!("text-anchor=\"middle\" fill=\"{MUTED}\"");
        let empty = bands.is_empty() && curves.is_empty() && points.is_empty();
        let notice =
            if empty { text(0.5 * w, 0.5 * h + 4.0, TEXT, &style, "no data") } else { String::new() };
        let grid = self.grid(&x_ticks, w, h);
        let labels = self.labels(&x_ticks, w, h);
        // A nested picture cuts at its borders, and unlike a clip path it needs no id. Points may stand on the frame.
        format!(
            "{grid}<svg class=\"marks\" width=\"{w}\" height=\"{h}\">\n{bands}{curves}</svg>\n\
             <path d=\"M0 0V{h}H{w}\" fill=\"none\" stroke=\"{QUIET}\"/>\n{points}{notice}{labels}",
            w = num(w),
            h = num(h),
        )
    }

    fn grid(&self, x_ticks: &Ticks, w: f64, h: f64) -> String {
        let upright = |at: f64| format!("M{} 0V{}", num(at * w), num(h));
        let level = |at: f64| format!("M0 {}H{}", num((1.0 - at) * h), num(w));
        let places = |ticks: &Ticks| ticks.major.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        let lines = |x: &[f64], y: &[f64], thick: &str| -> String {
            let path: String = x.iter().map(|&at| upright(at)).chain(y.iter().map(|&at| level(at))).collect();
            format!("<path class=\"grid\" stroke=\"{GRID}\" stroke-width=\"{thick}\" d=\"{path}\"/>\n")
        };
        lines(&x_ticks.minor, &self.y_ticks.minor, "0.5")
            + &lines(&places(x_ticks), &places(&self.y_ticks), "1")
    }

    fn labels(&self, x_ticks: &Ticks, w: f64, h: f64) -> String {
        let middle = format!("text-anchor=\"middle\" fill=\"{QUIET}\"");
        let end = format!("text-anchor=\"end\" fill=\"{QUIET}\"");
        let x = x_ticks.major.iter().map(|(at, label)| number(at * w, h + 17.0, &middle, label));
        let y = self.y_ticks.major.iter().map(|(at, label)| number(-7.0, (1.0 - at) * h + 4.0, &end, label));
        let x_factor = x_ticks.factor.iter().map(|factor| number(w, h + 34.0, &end, factor));
        let y_factor = self.y_ticks.factor.iter().map(|factor| number(-7.0, -9.0, &end, factor));

        let style = format!("text-anchor=\"middle\" fill=\"{INK}\"");
        let turned = format!("{style} transform=\"rotate(-90)\"");
        let x_text = fit(&self.panel.x.text(), TEXT, 0.8 * w);
        let y_text = fit(&self.panel.y.text(), TEXT, h + 10.0);
        x.chain(y).chain(x_factor).chain(y_factor).collect::<String>()
            + &text(0.5 * w, h + 34.0, TEXT, &style, &x_text)
            + &text(-0.5 * h, TEXT - self.gutter() - 1.0, TEXT, &turned, &y_text)
    }

    /// Path data of one mark; empty if nothing of it has a place.
    fn path(&self, mark: &Mark, w: f64, h: f64) -> String {
        let to_x = |x: f64| self.x.place(x).map(|at| (at * w).clamp(-FAR, FAR));
        let to_y = |y: f64| self.y.place(y).map(|at| ((1.0 - at) * h).clamp(-FAR, FAR));
        let to = |x: f64, y: f64| Some((to_x(x)?, to_y(y)?));
        match &mark.shape {
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
                let inside =
                    |&(x, y): &(f64, f64)| (-0.5..=w + 0.5).contains(&x) && (-0.5..=h + 0.5).contains(&y);
                let places = x.iter().zip(y).filter_map(|(&x, &y)| to(x, y)).filter(inside);
                places.map(|(x, y)| glyph(*marker, x, y)).collect()
            }
            Shape::Horizontal { y } => {
                to_y(*y).map_or(String::new(), |y| format!("M0 {}H{}", num(y), num(w)))
            }
            Shape::Vertical { x } => to_x(*x).map_or(String::new(), |x| format!("M{} 0V{}", num(x), num(h))),
        }
    }
}

/// Curves that go only forward may touch the frame; loops and points keep clear of it.
fn over_time(mark: &Mark) -> bool {
    match &mark.shape {
        Shape::Line { x, .. } | Shape::Step { x, .. } | Shape::Band { x, .. } => x.is_sorted(),
        Shape::Points { .. } => false,
        Shape::Horizontal { .. } | Shape::Vertical { .. } => true,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few ticks")]
fn whole(count: f64) -> usize {
    count.clamp(2.0, 9.0) as usize
}
