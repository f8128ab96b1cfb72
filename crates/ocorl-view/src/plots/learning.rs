//! The first episodes of a run, one panel each: planned and executed trajectory of the first state, measurements, cost. As a figure
//! ([`learning`]) and as an animated SVG ([`learning_animated`]), in which the episodes run one after the other.

use super::phase::{thin, time_axis};
use crate::ink::{glyph, group, num, polyline};
use crate::text::{FONTS, SMALL, TEXT, escape, text};
use crate::{Axis, Figure, Mark, Marker, Panel, Theme};
use ocorl::plant::Reading;
use ocorl::simulate::Trajectory;
use ocorl_study::run_snapshot::RunSnapshot;
use std::f64::consts::{PI, TAU};
use std::fmt::Write;

/// Seconds in which an episode is shown, pause after each, and pause after the last.
const SHOWN: f64 = 3.4;
const PAUSE: f64 = 0.9;
const END: f64 = 2.5;
/// Number of positions of a moving part per episode.
const POSITIONS: usize = 60;

/// Layout of the animated SVG: page width, margin, panel width and gap.
const WIDTH: f64 = 900.0;
const MARGIN: f64 = 18.0;
const GAP: f64 = 48.0;
/// Vertical positions: centre of the pendulum, and top and bottom of the axes.
const PIVOT: f64 = 142.0;
const TOP: f64 = 226.0;
const BOTTOM: f64 = 336.0;
const HEIGHT: f64 = 378.0;
/// Length of the pendulum's rod, in SVG units.
const ROD: f64 = 54.0;

/// One episode as it is shown.
struct Shown<'a> {
    episode: usize,
    /// Cost, in the units of the paper's table if the system has them.
    cost: f64,
    /// Number of measurements before the episode.
    known: usize,
    executed: &'a Trajectory,
    readings: &'a [Reading],
    planned: Option<&'a Trajectory>,
}

impl Shown<'_> {
    fn basis(&self) -> String {
        if self.known == 0 {
            "excitation, nothing known yet".into()
        } else {
            format!("planned from {} measurements", self.known)
        }
    }
}

/// The chosen episodes, as far as their trajectories are known.
fn shown<'a>(run: &'a RunSnapshot, episodes: &[usize]) -> Vec<Shown<'a>> {
    let units = |cost: f64| run.subject.truth.as_ref().map_or(cost, |b| b.table_units().cost(cost));
    let chosen = run.snapshots.iter().filter(|s| episodes.contains(&s.episode.record.episode));
    let view = |snapshot: &'a ocorl_study::run_snapshot::Snapshot| {
        let episode = &snapshot.episode;
        let result = episode.executed.first().filter(|result| !result.trajectory.states.is_empty())?;
        Some(Shown {
            episode: episode.record.episode,
            cost: units(episode.record.cost),
            known: run.readings(episode.record.episode).count(),
            executed: &result.trajectory,
            readings: &result.readings,
            planned: episode.plans.first().and_then(Option::as_ref).map(|rollout| &*rollout.plan),
        })
    };
    chosen.filter_map(view).collect()
}

fn title(run: &RunSnapshot, shown: &[Shown<'_>]) -> String {
    let numbers: Vec<String> = shown.iter().map(|s| s.episode.to_string()).collect();
    if shown.iter().enumerate().all(|(i, s)| s.episode == i) {
        format!("{}: the first {} episodes of learning", run.subject.title, shown.len())
    } else {
        format!("{}: episodes {} of learning", run.subject.title, numbers.join(", "))
    }
}

/// The first state over time in some episodes: plan, executed trajectory, measurements; the cost in the title of each panel.
pub fn learning(run: &RunSnapshot, episodes: &[usize]) -> Figure {
    let (task, shown) = (&run.subject.task, shown(run, episodes));
    let row = |path: &Trajectory| path.states.iter().map(|x| x[0]).collect::<Vec<f64>>();
    let mut figure = Figure::new(title(run, &shown)).columns(shown.len().max(1)).tall();
    for s in &shown {
        let name = format!("Episode {}: cost {:.2}", s.episode, s.cost);
        let mut panel =
            Panel::new(name, time_axis(task), Axis::new(&task.states[0].name, &task.states[0].unit));
        if let Some(plan) = s.planned {
            panel = panel.mark(Mark::line(plan.times.clone(), row(plan)).muted().dashed().label("planned"));
        }
        let (times, states) = s.readings.iter().map(|r| (r.time, r.state[0])).unzip::<_, _, Vec<_>, Vec<_>>();
        figure = figure.panel(
            panel
                .mark(Mark::line(thin(&s.executed.times), thin(&row(s.executed))).label("executed"))
                .mark(Mark::points(times, states, Marker::Cross).series(1).label("measured")),
        );
    }
    figure
}

/// The same as an SVG, animated for planar pendulums (two states, the first an angle): the pendulum moves above its trajectory.
pub fn learning_animated(run: &RunSnapshot, episodes: &[usize]) -> String {
    let (task, shown, theme) = (&run.subject.task, shown(run, episodes), &Theme::LIGHT);
    if task.states.len() != 2 || !task.angles.contains(&0) {
        return crate::svg(&learning(run, episodes));
    }
    let count = shown.len().max(1) as f64;
    let width = (WIDTH - 2.0 * MARGIN - GAP * count) / count;
    let scene = Scene {
        theme,
        width,
        horizon: task.horizon,
        range: range(&shown),
        total: count * (SHOWN + PAUSE) + END,
    };
    let mut body = String::new();
    for (i, s) in shown.iter().enumerate() {
        let left = MARGIN + GAP - 8.0 + i as f64 * (width + GAP);
        body += &group("episode", left, 0.0, &scene.episode(s, i as f64 * (SHOWN + PAUSE)));
    }
    let name = &task.states[0];
    let quiet = format!("fill=\"{}\"", theme.quiet);
    let label =
        if name.unit.is_empty() { name.name.clone() } else { format!("{} [{}]", name.name, name.unit) };
    body += &text(MARGIN, TOP - 9.0, SMALL, &quiet, &label);
    let legend = format!("time [{}]    × measured    - - planned    — executed", task.time_unit());
    let middle = format!("text-anchor=\"middle\" {quiet} xml:space=\"preserve\"");
    body += &text(0.5 * WIDTH, HEIGHT - 8.0, SMALL, &middle, &legend);
    let bold = format!("font-weight=\"600\" fill=\"{}\"", theme.ink);
    let title = title(run, &shown);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" font-family=\"{FONTS}\">\n<title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{}\"/>\n{}{body}</svg>\n",
        escape(&title),
        theme.background,
        text(MARGIN, 28.0, 17.0, &bold, &title),
    )
}

/// Smallest and largest first state over all trajectories.
fn range(shown: &[Shown<'_>]) -> (f64, f64) {
    let paths = shown.iter().flat_map(|s| [Some(s.executed), s.planned]).flatten();
    let values = paths.flat_map(|path| path.states.iter().map(|x| x[0])).filter(|x| x.is_finite());
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    if low < high { (low, high) } else { (low - 1.0, low + 1.0) }
}

/// What all episodes share.
struct Scene<'a> {
    theme: &'a Theme,
    /// Width of the axes.
    width: f64,
    horizon: f64,
    range: (f64, f64),
    /// Seconds of one repetition.
    total: f64,
}

impl Scene<'_> {
    fn x(&self, time: f64) -> f64 {
        self.width * time / self.horizon
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        BOTTOM - 4.0 - (value - low) / (high - low) * (BOTTOM - TOP - 8.0)
    }

    /// An episode that begins to move at `start` seconds.
    fn episode(&self, s: &Shown<'_>, start: f64) -> String {
        let (theme, end) = (self.theme, start + SHOWN);
        let [planned, executed, measured] = [theme.muted, theme.series[0], theme.series[1]];
        let line = |path: &Trajectory| {
            let at = |i: usize| (self.x(path.times[i]), self.y(path.states.at(i)[0]));
            let stride = path.len().div_ceil(160).max(1);
            polyline(&(0..path.len()).step_by(stride).chain([path.len() - 1]).map(at).collect::<Vec<_>>())
        };
        let mut out = self.axes();
        if let Some(plan) = s.planned {
            let _ = writeln!(
                out,
                "<path fill=\"none\" stroke=\"{planned}\" stroke-width=\"1.6\" stroke-dasharray=\"6 4\" d=\"{}\">{}</path>",
                line(plan),
                self.appears(start),
            );
        }
        // The executed trajectory and its measurements are uncovered from left to right, in proportion to time.
        let crosses: String =
            s.readings.iter().map(|r| glyph(Marker::Cross, self.x(r.time), self.y(r.state[0]))).collect();
        let _ = write!(
            out,
            "<clipPath id=\"run-{n}\"><rect x=\"-6\" y=\"{y}\" width=\"{full}\" height=\"{height}\">{grow}</rect></clipPath>\n\
             <g clip-path=\"url(#run-{n})\" fill=\"none\" stroke-linejoin=\"round\">\n\
             <path stroke=\"{executed}\" stroke-width=\"2.2\" d=\"{path}\"/>\n\
             <path stroke=\"{measured}\" stroke-width=\"1.8\" d=\"{crosses}\"/>\n</g>\n",
            n = s.episode,
            y = num(TOP - 8.0),
            full = num(self.width + 12.0),
            height = num(BOTTOM - TOP + 16.0),
            grow = self.animate("width", start, &[6.0, self.width + 12.0]),
            path = line(s.executed),
        );
        let bold = format!("font-weight=\"600\" fill=\"{}\"", theme.ink);
        let quiet = format!("fill=\"{}\"", theme.quiet);
        out += &text(0.0, 56.0, 13.0, &bold, &format!("Episode {}", s.episode));
        out += &text(0.0, 73.0, TEXT, &quiet, &s.basis());
        let last = format!("text-anchor=\"end\" {bold}");
        let cost = text(self.width, 56.0, 13.0, &last, &format!("cost {:.2}", s.cost));
        out + &format!("<g>{cost}{}</g>\n", self.appears(end)) + &self.body(s, start)
    }

    /// The pendulum itself: θ = 0 is upright, positive angles turn clockwise.
    fn body(&self, s: &Shown<'_>, start: f64) -> String {
        let (theme, middle) = (self.theme, num(0.5 * self.width));
        let last = s.executed.len() - 1;
        // The recorded samples need not be equidistant, but the positions of the animation are.
        let at = |i: usize| {
            let time = self.horizon * i as f64 / (POSITIONS - 1) as f64;
            let after = s.executed.times.partition_point(|t| *t < time).min(last);
            s.executed.states.at(after)[0].to_degrees()
        };
        let angles: Vec<f64> = (0..POSITIONS).map(at).collect();
        let (pivot, bob) = (num(PIVOT), num(PIVOT - ROD));
        let still = format!("{} {middle} {pivot}", num(angles[POSITIONS - 1]));
        format!(
            "<circle cx=\"{middle}\" cy=\"{bob}\" r=\"11\" fill=\"none\" stroke=\"{target}\" stroke-dasharray=\"3 3\"/>\n\
             <g transform=\"rotate({still})\">\n\
             <path stroke=\"{ink}\" stroke-width=\"4\" stroke-linecap=\"round\" d=\"M{middle} {pivot}V{bob}\"/>\n\
             <circle cx=\"{middle}\" cy=\"{bob}\" r=\"8\" fill=\"{moving}\"/>\n{turn}</g>\n\
             <circle cx=\"{middle}\" cy=\"{pivot}\" r=\"4\" fill=\"{ink}\"/>\n",
            target = theme.muted,
            ink = theme.ink,
            moving = theme.series[0],
            turn = self.rotate(start, &angles, &format!("{middle} {pivot}")),
        )
    }

    /// Frame, target and ticks of the axes.
    fn axes(&self) -> String {
        let (theme, (low, high)) = (self.theme, self.range);
        let quiet = format!("fill=\"{}\"", theme.quiet);
        let mut out = format!(
            "<rect x=\"0\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n",
            num(self.width),
            num(BOTTOM - TOP),
            theme.grid,
        );
        let mut tick = |y: f64, label: &str| {
            let _ = writeln!(
                out,
                "<path stroke=\"{}\" d=\"M0 {y}H{}\"/>",
                theme.grid,
                num(self.width),
                y = num(self.y(y))
            );
            out += &text(-6.0, self.y(y) + 4.0, SMALL, &format!("text-anchor=\"end\" {quiet}"), label);
        };
        for (value, label) in
            [(-TAU, "−2π"), (-PI, "−π"), (0.0, "0"), (PI, "π"), (TAU, "2π"), (3.0 * PI, "3π")]
        {
            if low - 0.01 <= value && value <= high + 0.01 {
                tick(value, label);
            }
        }
        for time in [0.0, 0.5 * self.horizon, self.horizon] {
            let place = format!("text-anchor=\"middle\" {quiet}");
            out += &text(self.x(time), BOTTOM + 15.0, SMALL, &place, &num(time));
        }
        out
    }

    /// An element that is hidden until `time`.
    fn appears(&self, time: f64) -> String {
        let share = time / self.total;
        if share < 0.001 {
            return String::new();
        }
        format!(
            "<animate attributeName=\"opacity\" values=\"0;1;1\" keyTimes=\"0;{share:.4};1\" calcMode=\"discrete\" {}/>",
            self.clock()
        )
    }

    /// An attribute that runs through `values` while the episode moves, and stays before and after.
    fn animate(&self, attribute: &str, start: f64, values: &[f64]) -> String {
        let (values, times) = self.keys(start, values);
        let values: Vec<String> = values.into_iter().map(num).collect();
        format!(
            "<animate attributeName=\"{attribute}\" values=\"{}\" keyTimes=\"{times}\" {}/>",
            values.join(";"),
            self.clock()
        )
    }

    /// A rotation through `angles`, in degrees, about `centre`.
    fn rotate(&self, start: f64, angles: &[f64], centre: &str) -> String {
        let (angles, times) = self.keys(start, angles);
        let angles: Vec<String> =
            angles.into_iter().map(|angle| format!("{} {centre}", num(angle))).collect();
        format!(
            "<animateTransform attributeName=\"transform\" type=\"rotate\" values=\"{}\" keyTimes=\"{times}\" {}/>\n",
            angles.join(";"),
            self.clock()
        )
    }

    /// Values with their times as shares of a repetition, extended to its beginning and its end.
    fn keys(&self, start: f64, values: &[f64]) -> (Vec<f64>, String) {
        let last = values.len() - 1;
        let mut times: Vec<f64> =
            (0..=last).map(|i| (start + SHOWN * i as f64 / last as f64) / self.total).collect();
        let mut all = values.to_vec();
        if start > 0.0 {
            times.insert(0, 0.0);
            all.insert(0, values[0]);
        }
        times.push(1.0);
        all.push(values[last]);
        (all, times.iter().map(|time| format!("{time:.4}")).collect::<Vec<_>>().join(";"))
    }

    fn clock(&self) -> String {
        format!("dur=\"{}s\" repeatCount=\"indefinite\"", num(self.total))
    }
}
