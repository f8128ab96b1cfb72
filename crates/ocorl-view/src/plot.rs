//! Draws one panel: decides the range of its axes, and stacks its layers.

use crate::axes::{XLabels, ticks_beside};
use crate::csv::Row;
use crate::figure::{Axis, Panel};
use crate::ink::num;
use crate::mark::{Mark, Shape};
use crate::scale::{Span, Ticks};
use crate::shapes::{ArrowScale, Canvas};
use crate::text::{TEXT, text};
use crate::theme::Theme;

/// Size of a panel: the area inside the axes, and the space left of them for labels.
pub(crate) struct Frame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) gutter: f64,
}

/// A panel whose axis ranges and ticks are decided.
pub(crate) struct Plot<'a> {
    pub(crate) panel: &'a Panel,
    pub(crate) theme: &'a Theme,
    pub(crate) x: Span,
    pub(crate) y: Span,
    pub(crate) y_ticks: Ticks,
    /// Range and ticks of the colour bar, if any mark is coloured by a value.
    pub(crate) color: Option<(Span, Ticks)>,
}

impl<'a> Plot<'a> {
    /// Decides ranges and ticks of a panel of this height.
    pub(crate) fn new(panel: &'a Panel, theme: &'a Theme, height: f64) -> Self {
        let drawn: Vec<_> = panel.marks.iter().flat_map(Mark::places).filter(Row::is_finite).collect();
        let filled = panel.marks.iter().any(is_heat); // a heat map reaches the frame
        let touching = filled || panel.marks.iter().all(over_time);
        let x = drawn.iter().filter_map(|row| row.x);
        let y = drawn.iter().filter_map(|row| row.y);
        let x = Span::new(&panel.x, x, if touching { 0.0 } else { 0.03 });
        let y = Span::new(&panel.y, y, if filled { 0.0 } else { 0.05 });
        let y = if panel.y.categories.is_empty() { y } else { y.reversed() }; // the first category at the top
        let y_ticks = ticks_beside(&y, &panel.y.categories, height);

        let values = panel.marks.iter().flat_map(Mark::rows).filter(Row::is_finite);
        let values: Vec<f64> = values.filter_map(|row| row.value).collect();
        let color = Span::new(&panel.color, values.iter().copied(), 0.0);
        let seen = values.iter().any(|&value| color.place(value).is_some());
        let color = seen.then(|| {
            let ticks = ticks_beside(&color, &[], height);
            (color, ticks)
        });
        Self { panel, theme, x, y, y_ticks, color }
    }

    /// Attributes for pages that link their plots: what each axis shows, its ends, and whether it is logarithmic. Empty if unknown.
    pub(crate) fn axes(&self) -> String {
        let axis = |name: &str, axis: &Axis, span: &Span| {
            let (low, high, kind) = span.ends();
            (!axis.shows.is_empty()).then(|| format!(" data-{name}=\"{} {low} {high} {kind}\"", axis.shows))
        };
        let both = [axis("x", &self.panel.x, &self.x), axis("y", &self.panel.y, &self.y)];
        both.into_iter().flatten().collect()
    }

    /// Draws the panel in coordinates whose origin is the upper left corner of the axes.
    pub(crate) fn draw(&self, frame: &Frame, below: &XLabels) -> String {
        let (w, h) = (frame.width, frame.height);
        let mut canvas = Canvas {
            theme: self.theme,
            width: w,
            height: h,
            x: &self.x,
            y: &self.y,
            color: self.color.as_ref().map(|(span, _)| span),
            on_heat: self.panel.marks.iter().any(is_heat),
            arrows: ArrowScale::default(),
        };
        canvas.arrows = canvas.arrow_scale(&self.panel.marks);
        let [mut heat, mut bands, mut curves, mut points, mut notes] = [const { String::new() }; 5];
        for mark in &self.panel.marks {
            let layer = match mark.shape {
                Shape::Heat { .. } => &mut heat,
                Shape::Band { .. } => &mut bands,
                Shape::Points { .. } | Shape::ColoredPoints { .. } => &mut points,
                Shape::Note { .. } => &mut notes,
                _ => &mut curves,
            };
            *layer += &canvas.draw(mark);
        }
        let empty = [&heat, &bands, &curves, &points, &notes].iter().all(|layer| layer.is_empty());
        let style = format!("text-anchor=\"middle\" fill=\"{}\"", self.theme.muted);
        let notice =
            if empty { text(0.5 * w, 0.5 * h + 4.0, TEXT, &style, "no data") } else { String::new() };
        let grid = self.grid(below, w, h);
        let labels = self.labels(below, w, h);
        let bar = self.color_bar(w, h);
        // A nested `svg` element clips at its borders and, unlike a clip path, needs no id. Points may overlap the frame.
        format!(
            "{grid}<svg class=\"marks\" width=\"{w}\" height=\"{h}\">\n{heat}{bands}{curves}</svg>\n\
             <path d=\"M0 0V{h}H{w}\" fill=\"none\" stroke=\"{frame}\"/>\n{points}{notes}{notice}{labels}{bar}",
            w = num(w),
            h = num(h),
            frame = self.theme.quiet,
        )
    }
}

fn is_heat(mark: &Mark) -> bool {
    matches!(mark.shape, Shape::Heat { .. })
}

/// Whether a mark is a curve with increasing x. Such curves may touch the frame; loops and points keep a margin.
fn over_time(mark: &Mark) -> bool {
    match &mark.shape {
        Shape::Line { x, .. }
        | Shape::Step { x, .. }
        | Shape::Band { x, .. }
        | Shape::ColoredLine { x, .. } => x.is_sorted(),
        Shape::Horizontal { .. } | Shape::Vertical { .. } | Shape::Note { .. } => true,
        _ => false,
    }
}
