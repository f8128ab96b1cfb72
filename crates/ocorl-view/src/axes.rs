//! Draws what surrounds the marks of a panel: grid lines, tick labels, axis titles, category names and the colour bar. Marks
//! themselves are drawn in `shapes`.

use crate::colormap::{self, LEVELS};
use crate::ink::num;
use crate::plot::{Frame, Plot};
use crate::scale::{Span, Ticks};
use crate::text::{SMALL, TEXT, fit, number, number_width, text, width};

/// Gap between the axes and the colour bar, and width of the bar, in SVG units.
const APART: f64 = 12.0;
const BAR: f64 = 12.0;
/// Height of one line of tick labels, in SVG units.
const LINE: f64 = 13.0;
/// Width at which a category name beside or below an axis is cut, in SVG units.
const LONGEST: f64 = 190.0;
/// Angles at which long category names are drawn, in degrees. The second, steeper one is used where the first leaves too little
/// room.
const TURNS: [f64; 2] = [40.0, 60.0];

/// Tick labels of a horizontal axis, laid out.
pub(crate) struct XLabels {
    /// Position along the axis (0 to 1) and lines of text of each label. A number has one line, in which `^` starts a superscript.
    labels: Vec<(f64, Vec<String>)>,
    ticks: Ticks,
    /// Whether the labels are category names; otherwise they are numbers.
    is_text: bool,
    /// Rotation in degrees, if the labels are rotated.
    turned: Option<f64>,
    /// Height that the labels need beyond one line, in SVG units.
    pub(crate) extra: f64,
}

impl XLabels {
    pub(crate) fn new(plot: &Plot<'_>, frame: &Frame) -> Self {
        if plot.panel.x.categories.is_empty() {
            let w = frame.width;
            let ticks = plot.x.ticks(w, tick_count(w / 44.0), |label| width(label, SMALL) + 14.0);
            let labels = ticks.major.iter().map(|(at, label)| (*at, vec![label.clone()])).collect();
            return Self { labels, ticks, is_text: false, turned: None, extra: 0.0 };
        }
        Self::category_names(&plot.x, &plot.panel.x.categories, frame)
    }

    /// Lays out category names on one line if they fit, else on up to three lines, else rotated.
    fn category_names(span: &Span, categories: &[String], frame: &Frame) -> Self {
        let step = span.slope(0.0).map_or(frame.width, |slope| slope.abs() * frame.width);
        let all = span.categories(categories, 1);
        let wrapped = all.iter().map(|(at, word)| Some((*at, wrap(word, step - 8.0)?)));
        if let Some(labels) = wrapped.collect::<Option<Vec<_>>>() {
            let lines = labels.iter().map(|(_, lines)| lines.len()).max().unwrap_or(1);
            return Self::with_names(labels, None, LINE * (lines as f64 - 1.0));
        }
        // Rotated names end at their tick and must not cross the left edge of the panel.
        let room = |at: f64, cos: f64| ((at * frame.width + frame.gutter + 16.0) / cos).min(LONGEST);
        let fits = |turn: &&f64| {
            let cos = turn.to_radians().cos();
            all.iter().all(|(at, word)| width(word, SMALL) <= room(*at, cos))
        };
        let turn = *TURNS.iter().find(fits).unwrap_or(&TURNS[1]);
        let (sin, cos) = turn.to_radians().sin_cos();
        let some = span.categories(categories, stride(step, LINE / sin)).into_iter();
        let labels: Vec<_> = some.map(|(at, word)| (at, vec![fit(&word, SMALL, room(at, cos))])).collect();
        let widest = labels.iter().map(|(_, lines)| width(&lines[0], SMALL)).fold(0.0, f64::max);
        Self::with_names(labels, Some(turn), (widest * sin - 2.0).max(0.0))
    }

    fn with_names(labels: Vec<(f64, Vec<String>)>, turned: Option<f64>, extra: f64) -> Self {
        let major = labels.iter().map(|(at, _)| (*at, String::new())).collect();
        Self { labels, ticks: Ticks { major, ..Ticks::default() }, is_text: true, turned, extra }
    }

    fn draw(&self, style: &dyn Fn(&str) -> String, w: f64, h: f64) -> String {
        let draw = |(at, lines): &(f64, Vec<String>)| -> String {
            let (x, y) = (at * w, h + 17.0);
            if let Some(turn) = self.turned {
                let (x, y) = (x + 4.0, y - 3.0);
                let turn = format!(" transform=\"rotate({} {} {})\"", num(-turn), num(x), num(y));
                return text(x, y, SMALL, &(style("end") + &turn), &lines[0]);
            }
            let style = style("middle");
            let line = |(index, line): (usize, &String)| {
                if self.is_text {
                    text(x, y + LINE * index as f64, SMALL, &style, line)
                } else {
                    number(x, y, &style, line)
                }
            };
            lines.iter().enumerate().map(line).collect()
        };
        self.labels.iter().map(draw).collect()
    }
}

/// Breaks `name` into lines of at most `room`; `None` if that takes more than three lines.
fn wrap(name: &str, room: f64) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, SMALL) + width(" ", SMALL) + width(word, SMALL) <= room => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    (lines.len() <= 3 && lines.iter().all(|line| width(line, SMALL) <= room)).then_some(lines)
}

/// Draw every n-th label so that labels of size `room` fit on ticks that are `step` apart; returns n.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few labels")]
fn stride(step: f64, room: f64) -> usize {
    (room / step).ceil().clamp(1.0, 1e6) as usize
}

/// Ticks of a vertical axis: numbers, or category names.
pub(crate) fn ticks_beside(span: &Span, categories: &[String], height: f64) -> Ticks {
    if categories.is_empty() {
        return span.ticks(height, tick_count(height / 28.0), |_| 20.0);
    }
    let step = span.slope(0.0).map_or(height, |slope| slope.abs() * height);
    let names = span.categories(categories, stride(step, LINE)).into_iter();
    let major = names.map(|(at, word)| (at, fit(&word, SMALL, LONGEST))).collect();
    Ticks { major, ..Ticks::default() }
}

impl Plot<'_> {
    /// Space that labels and title need left of the axes, in SVG units.
    pub(crate) fn gutter(&self) -> f64 {
        widest(&self.y_ticks) + 12.0 + if self.panel.y.text().is_empty() { 0.0 } else { TEXT + 6.0 }
    }

    /// Space that the colour bar needs right of the axes, in SVG units; 0 without a bar.
    pub(crate) fn bar_room(&self) -> f64 {
        let Some((_, ticks)) = &self.color else { return 0.0 };
        let title = if self.panel.color.text().is_empty() { 0.0 } else { TEXT + 8.0 };
        let labels = ticks.major.iter().map(|(_, label)| BAR + 6.0 + number_width(label));
        let factor = ticks.factor.iter().map(|factor| number_width(factor)); // drawn above the bar
        APART + labels.chain(factor).fold(0.0, f64::max) + title + 2.0
    }

    pub(crate) fn grid(&self, below: &XLabels, w: f64, h: f64) -> String {
        let upright = |at: f64| format!("M{} 0V{}", num(at * w), num(h));
        let level = |at: f64| format!("M0 {}H{}", num((1.0 - at) * h), num(w));
        let places = |ticks: &Ticks| ticks.major.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        let color = self.theme.grid;
        let lines = |x: &[f64], y: &[f64], thick: &str| -> String {
            let path: String = x.iter().map(|&at| upright(at)).chain(y.iter().map(|&at| level(at))).collect();
            format!("<path class=\"grid\" stroke=\"{color}\" stroke-width=\"{thick}\" d=\"{path}\"/>\n")
        };
        lines(&below.ticks.minor, &self.y_ticks.minor, "0.5")
            + &lines(&places(&below.ticks), &places(&self.y_ticks), "1")
    }

    pub(crate) fn labels(&self, below: &XLabels, w: f64, h: f64) -> String {
        let quiet = |anchor: &str| format!("text-anchor=\"{anchor}\" fill=\"{}\"", self.theme.quiet);
        let end = quiet("end");
        let is_text = !self.panel.y.categories.is_empty();
        let y = self.y_ticks.major.iter().map(|(at, label)| {
            let y = (1.0 - at) * h + 4.0;
            if is_text { text(-7.0, y, SMALL, &end, label) } else { number(-7.0, y, &end, label) }
        });
        let x_factor = below.ticks.factor.iter().map(|factor| number(w, h + 34.0, &end, factor));
        let y_factor = self.y_ticks.factor.iter().map(|factor| number(-7.0, -9.0, &end, factor));

        let style = format!("text-anchor=\"middle\" fill=\"{}\"", self.theme.ink);
        let turned = format!("{style} transform=\"rotate(-90)\"");
        let x_text = fit(&self.panel.x.text(), TEXT, 0.8 * w);
        let y_text = fit(&self.panel.y.text(), TEXT, h + 10.0);
        below.draw(&quiet, w, h)
            + &y.chain(x_factor).chain(y_factor).collect::<String>()
            + &text(0.5 * w, h + 34.0 + below.extra, TEXT, &style, &x_text)
            + &text(-0.5 * h, TEXT - self.gutter() - 1.0, TEXT, &turned, &y_text)
    }

    /// Draws the colour bar right of the axes and as tall as they are: colours, ticks, and the title of the value.
    pub(crate) fn color_bar(&self, w: f64, h: f64) -> String {
        let Some((_, ticks)) = &self.color else { return String::new() };
        let (left, right) = (num(w + APART), num(w + APART + BAR));
        // Each colour reaches down to the bottom, below the colours drawn later: this leaves no seams.
        let shade = |level: u8| {
            let top = (1.0 - f64::from(level + 1) / f64::from(LEVELS)) * h;
            let path = format!("M{left} {}H{right}V{}H{left}Z", num(top), num(h));
            format!("<path fill=\"{}\" d=\"{path}\"/>\n", colormap::color(level))
        };
        let colors: String = (0..LEVELS).rev().map(shade).collect();
        let start = format!("text-anchor=\"start\" fill=\"{}\"", self.theme.quiet);
        let beside = w + APART + BAR + 6.0;
        let labels =
            ticks.major.iter().map(|(at, label)| number(beside, (1.0 - at) * h + 4.0, &start, label));
        let factor = ticks.factor.iter().map(|factor| number(w + APART, -9.0, &start, factor));
        let labels: String = labels.chain(factor).collect();
        let notches = ticks.major.iter().map(|(at, _)| format!("M{right} {}h3", num((1.0 - at) * h)));
        let notches: String = notches.collect();

        let turned = format!("text-anchor=\"middle\" fill=\"{}\" transform=\"rotate(-90)\"", self.theme.ink);
        let title = fit(&self.panel.color.text(), TEXT, h + 10.0);
        let title = text(-0.5 * h, w + self.bar_room() - 4.0, TEXT, &turned, &title);
        format!(
            "<g class=\"colors\">\n<g shape-rendering=\"crispEdges\">\n{colors}</g>\n\
             <path d=\"{notches}\" fill=\"none\" stroke=\"{}\"/>\n{labels}{title}</g>\n",
            self.theme.quiet
        )
    }
}

fn widest(ticks: &Ticks) -> f64 {
    let labels = ticks.major.iter().map(|(_, label)| label).chain(&ticks.factor);
    labels.map(|label| width(label, SMALL)).fold(0.0, f64::max)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few ticks")]
pub(crate) fn tick_count(count: f64) -> usize {
    count.clamp(2.0, 9.0) as usize
}
