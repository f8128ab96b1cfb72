//! The live display of a run: a pure function from the state of the run to lines of text.

use crate::terminal::{Line, Look};
use ocorl_study::estimate::duration;
use ocorl_study::known::Known;
use ocorl_study::run::numbers::{cost, percent_more};

/// Number of lines of the chart.
const ROWS: usize = 4;
/// Block characters from one eighth to a full line.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of the phase portrait beside the chart.
const PORTRAIT: usize = 26;
/// Columns left of the chart.
const MARGIN: usize = 12;
/// Largest number of columns per episode.
const WIDEST: usize = 3;

/// Everything that the display shows. Costs are in the units of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Title of the run.
    pub(super) title: String,
    /// Total number of episodes.
    pub(super) of: usize,
    /// Costs with known dynamics, once computed.
    pub(super) known: Option<Known>,
    /// Cost of every episode so far.
    pub(super) costs: Vec<f64>,
    /// Present phase.
    pub(super) phase: String,
    /// Seconds since the phase began.
    pub(super) phase_seconds: f64,
    /// Number of measurements so far.
    pub(super) measurements: usize,
    /// The last trajectory in the plane in which it is naturally seen.
    pub(super) portrait: Vec<(f64, f64)>,
    /// Model uncertainty of the last episode.
    pub(super) uncertainty: Option<f64>,
    /// Seconds since the program started.
    pub(super) seconds: f64,
    /// Estimated seconds until the end.
    pub(super) left: Option<f64>,
}

/// The display as lines of at most `width` columns.
pub(super) fn lines(state: &State, width: usize) -> Vec<Line> {
    let mut lines = vec![head(state, width)];
    lines.extend(chart(state, width));
    let mut now = vec![format!("{}, {:.1} s", state.phase, state.phase_seconds)];
    if !state.costs.is_empty() {
        now.push(format!("{} measurements", state.measurements));
    }
    now.extend(state.uncertainty.map(|value| format!("uncertainty {value:.4}")));
    lines.extend(packed(&now, width));
    if let (Some(last), Some(known)) = (state.costs.last(), &state.known) {
        let against = |of: f64, name: &str| format!("{} {name} {}", percent_more(*last, of), cost(of));
        let costs = [
            format!("cost {}", cost(*last)),
            against(
                known.continuous,
                if known.search.is_none() { "from optimum" } else { "from best known" },
            ),
            against(known.held, "from optimal zero-order hold"),
        ];
        // Colour goes with the words: near the optimum, on the way, or far from it.
        let look = match known.percent_above(*last) {
            above if above <= 2.0 => Look::Good,
            above if above <= 50.0 => Look::Plain,
            _ => Look::Bad,
        };
        lines.extend(packed_as(look, &costs, width));
    }
    lines
}

/// The title, and the elapsed time at the right end.
fn head(state: &State, width: usize) -> Line {
    let left = state.left.map_or(String::new(), |left| format!(", about {} left", duration(left)));
    let clock = format!("{:.1} s{left}", state.seconds);
    let room = width.saturating_sub(clock.chars().count() + 2);
    let title: String = state.title.chars().take(room).collect();
    let blanks = " ".repeat(width.saturating_sub(title.chars().count() + clock.chars().count()));
    Line::new().add(Look::Strong, title).add(Look::Plain, blanks).add(Look::Plain, clock)
}

fn packed(items: &[String], width: usize) -> Vec<Line> {
    packed_as(Look::Plain, items, width)
}

/// Items side by side, in as many lines as they need.
fn packed_as(look: Look, items: &[String], width: usize) -> Vec<Line> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 4 + item.chars().count() <= width => {
                line.push_str("    ");
                line.push_str(item);
            }
            _ => lines.push(item.clone()),
        }
    }
    lines.into_iter().map(|line| Line::new().add(look, line)).collect()
}

/// Cost above the optimum by episode, on a logarithmic scale. Future episodes are dots; with more episodes than columns the last
/// ones are shown.
fn chart(state: &State, width: usize) -> Vec<Line> {
    let Some(known) = state.known.filter(|_| width > MARGIN + 10) else { return Vec::new() };
    let beside = !state.portrait.is_empty() && width >= MARGIN + 2 * PORTRAIT;
    let portrait = braille(&state.portrait, PORTRAIT, ROWS);
    let room = width - MARGIN - if beside { PORTRAIT + 3 } else { 0 };
    let all = state.of.max(state.costs.len()).max(1);
    let wide = (room / all).clamp(1, WIDEST);
    let shown = all.min(room / wide);
    // The window follows the last episode.
    let first = state.costs.len().saturating_sub(shown.saturating_sub(1)).min(all - shown);
    // A value that is not above the optimum has no logarithm, and one that is not finite no height.
    let least = (1e-6 * known.continuous.abs()).max(f64::MIN_POSITIVE);
    let above: Vec<f64> = state.costs.iter().map(|cost| (cost - known.continuous).max(least)).collect();
    let seen = above[first.min(above.len())..].iter().copied().filter(|value| value.is_finite());
    let (low, high) = seen.fold((f64::INFINITY, 0.0_f64), |(l, h), value| (l.min(value), h.max(value)));
    let heights: Vec<usize> = above.iter().map(|value| height(*value, low, high)).collect();

    let mut lines = Vec::new();
    for row in (0..ROWS).rev() {
        let label = match row {
            _ if !high.is_normal() => String::new(),
            _ if row + 1 == ROWS => short(high),
            0 => short(low),
            _ => String::new(),
        };
        let bars: String =
            (first..first + shown).map(|episode| bar(heights.get(episode), row, wide)).collect();
        let bars = bars.trim_end().to_owned();
        let (left, bars_wide) = (MARGIN - 2, shown * wide + 3);
        let line = Line::new().add(Look::Dim, format!("{label:>left$} │"));
        lines.push(match portrait.get(ROWS - 1 - row).filter(|_| beside) {
            Some(dots) => line.add(Look::Bars, format!("{bars:<bars_wide$}")).add(Look::Plain, dots.clone()),
            None => line.add(Look::Bars, bars),
        });
    }
    let axis = format!("{:>MARGIN$} cost above the optimum {}, log scale", "└", cost(known.continuous));
    let hold = format!(", optimal zero-order hold {}", short(known.held - known.continuous));
    let both = axis.chars().count() + hold.chars().count() <= width;
    lines.push(Line::new().add(Look::Dim, if both { axis + &hold } else { axis }));
    lines
}

/// Points as a picture of braille characters, `columns` wide and `rows` high: each character has two by four dots.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the picture")]
fn braille(points: &[(f64, f64)], columns: usize, rows: usize) -> Vec<String> {
    // Bits of the dots of a character, by row and column.
    const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let range = |of: fn(&(f64, f64)) -> f64| {
        let finite = points.iter().map(of).filter(|v| v.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((left, right), (bottom, top)) = (range(|p| p.0), range(|p| p.1));
    let place = |v: f64, low: f64, high: f64, count: usize| {
        let share = if high > low { (v - low) / (high - low) } else { 0.5 };
        (share * (count - 1) as f64).round().clamp(0.0, (count - 1) as f64) as usize
    };
    let mut picture = vec![vec![0_u32; columns]; rows];
    for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let (x, y) = (place(*x, left, right, 2 * columns), 4 * rows - 1 - place(*y, bottom, top, 4 * rows));
        picture[y / 4][x / 2] |= DOTS[y % 4][x % 2];
    }
    let line = |row: Vec<u32>| row.into_iter().filter_map(|dots| char::from_u32(0x2800 + dots)).collect();
    picture.into_iter().map(line).collect()
}

/// The characters of an episode's bar in one row of the chart.
fn bar(height: Option<&usize>, row: usize, wide: usize) -> String {
    let sign = match height.map(|height| height.saturating_sub(8 * row)) {
        None if row == 0 => return format!("{:<wide$}", '·'),
        None | Some(0) => ' ',
        Some(eighths) => BLOCKS[eighths.min(8) - 1],
    };
    // A gap between bars that are wide enough.
    let gap = usize::from(wide > 1);
    sign.to_string().repeat(wide - gap) + &" ".repeat(gap)
}

/// Height of a bar in eighths of a line, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the chart's height"
)]
fn height(value: f64, low: f64, high: f64) -> usize {
    let most = 8 * ROWS;
    if !value.is_finite() || !(high > low) {
        return if value.is_finite() { most / 2 } else { most };
    }
    let share = (value.ln() - low.ln()) / (high.ln() - low.ln());
    1 + (share.clamp(0.0, 1.0) * (most - 1) as f64).round() as usize
}

/// A number with three digits.
fn short(value: f64) -> String {
    match value.abs() {
        a if (100.0..1e5).contains(&a) => format!("{value:.0}"),
        a if (1.0..100.0).contains(&a) => format!("{value:.1}"),
        a if (1e-3..1.0).contains(&a) => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            title: "pendulum, max-determinant, seed 0".into(),
            of: 10,
            known: Some(Known {
                continuous: 20.0,
                tracked: 20.0,
                held_as_printed: Some(20.6),
                held: 20.5,
                holds: 9,
                search: None,
            }),
            costs: vec![370.0, 21.0, 20.1, 20.01],
            phase: "episode 4 of 10: planning".into(),
            phase_seconds: 0.84,
            measurements: 40,
            portrait: Vec::new(),
            uncertainty: Some(0.0123),
            seconds: 12.34,
            left: Some(25.0),
        }
    }

    fn plain(state: &State, width: usize) -> Vec<String> {
        let lines: Vec<String> = lines(state, width).iter().map(|line| line.text(width, false)).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn sixty_columns() {
        // 1 is ln 100/ln 35000 = 0.44 of the way from 0.01 to 350: 15 of 32 eighths; 0.1 is 0.22 of it: 8.
        let expected = [
            "pendulum, max-determinant, seed 0   12.3 s, about 25 s left",
            "       350 │██",
            "           │██",
            "           │██ ▇▇",
            "    0.0100 │██ ██ ██ ▁▁ ·  ·  ·  ·  ·  ·",
            "           └ cost above the optimum 20.0000, log scale",
            "episode 4 of 10: planning, 0.8 s    40 measurements",
            "uncertainty 0.0123",
            "cost 20.0100    +0.05 % from optimum 20.0000",
            "-2.39 % from optimal zero-order hold 20.5000",
        ];
        assert_eq!(plain(&state(), 59).join("\n"), expected.join("\n"));
    }

    #[test]
    fn a_hundred_columns() {
        let lines = plain(&state(), 99);
        assert_eq!(lines.len(), 8, "{lines:#?}");
        assert!(
            lines[0].ends_with("12.3 s, about 25 s left") && lines[0].chars().count() == 99,
            "{lines:#?}"
        );
        assert_eq!(
            lines[5].trim(),
            "└ cost above the optimum 20.0000, log scale, optimal zero-order hold 0.5000"
        );
        assert_eq!(lines[6], "episode 4 of 10: planning, 0.8 s    40 measurements    uncertainty 0.0123");
        let costs =
            "cost 20.0100    +0.05 % from optimum 20.0000    -2.39 % from optimal zero-order hold 20.5000";
        assert_eq!(lines[7], costs);
    }

    #[test]
    fn the_phase_portrait_stands_beside_the_chart() {
        // A falling diagonal over two characters: the first half in the upper one.
        assert_eq!(braille(&[(0.0, 1.0), (1.0, 0.0)], 1, 1), ["\u{2881}"]);
        let portrait = (0..100).map(|i| f64::from(i) / 15.0).map(|t| (t.cos(), t.sin())).collect();
        let drawn = plain(&State { portrait, ..state() }, 79);
        assert!(
            (1..=4).all(|row| drawn[row].contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c))),
            "{drawn:#?}"
        );
        assert!(plain(&State { portrait: vec![(0.0, 0.0)], ..state() }, 59)[1].ends_with("██"));
        assert_eq!(braille(&[(f64::NAN, 0.0)], 2, 1), ["\u{2800}\u{2800}"]);
    }

    #[test]
    fn two_hundred_columns_and_more_episodes_than_fit() {
        let mut state = state();
        assert_eq!(plain(&state, 199).len(), 8);
        state.of = 1000;
        state.costs = (0..900).map(|n| 20.0 + 100.0 / f64::from(n + 1)).collect();
        let lines = plain(&state, 199);
        // The last episode is visible, and one future episode.
        assert!(lines[4].ends_with('·') && lines[4].chars().count() == 199, "{lines:#?}");
        assert!(lines[4].contains("▁▁·") || lines[4].contains("▁·"), "{lines:#?}");
    }

    #[test]
    fn before_anything_is_known_and_with_odd_numbers() {
        let begin = State { phase: "computing the optimum".into(), of: 3, ..State::default() };
        assert_eq!(plain(&begin, 59)[1..], ["computing the optimum, 0.0 s"]);
        let known = State { known: state().known, ..begin.clone() };
        assert!(plain(&known, 59)[4].ends_with("│·  ·  ·"));
        for costs in [vec![f64::NAN], vec![f64::INFINITY, 20.0], vec![19.0, 20.0], vec![1e300, 20.0]] {
            let odd = State { costs, ..known.clone() };
            for width in [1, 2, 20, 23, 59, 200] {
                assert!(!lines(&odd, width).is_empty());
                let _ = lines(&odd, width).iter().map(|line| line.text(width, true)).collect::<String>();
            }
        }
    }

    #[test]
    fn colours_go_with_no_color() {
        let lines = lines(&state(), 99);
        let colored: String = lines.iter().map(|line| line.text(99, true)).collect();
        assert!(colored.contains("\x1b[36m") && colored.ends_with("\x1b[0m"), "{colored:?}");
        assert!(lines.iter().all(|line| !line.text(99, false).contains('\x1b')));
    }
}
