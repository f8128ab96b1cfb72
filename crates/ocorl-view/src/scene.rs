//! Drawings of systems to scale: the parts of a system at a state, and the stage on which trajectories move.
//!
//! A scene turns a state into polylines in metres (or lengths of the pendulum), seen from the front, from above, or obliquely. A part
//! always has the same number of points, so that a page can move it by interpolating between stored frames.

use crate::ink::{num, polyline};
use crate::text::{FONTS, escape};
use crate::theme::Theme;
use ocorl::simulate::Trajectory;
use ocorl::system::Task;
use serde::Serialize;
use std::f64::consts::{PI, TAU};
use std::fmt::Write;

type Point = [f64; 2];

/// Margin around the scene, in pixels.
const MARGIN: f64 = 22.0;
/// Largest number of frames of a moving system.
const FRAMES: usize = 121;

/// One part of a system: a line, or a disc if it is a single point.
struct Part {
    points: Vec<Point>,
    /// Width of the line in pixels.
    width: f64,
    ink: Ink,
}

/// Role of a part, which decides its colour.
#[derive(Clone, Copy, PartialEq)]
enum Ink {
    /// The colour of the moving system.
    Own,
    /// Parts that only support it.
    Quiet,
    /// Shadows and the ground.
    Faint,
}

fn part(points: impl Into<Vec<Point>>, width: f64, ink: Ink) -> Part {
    Part { points: points.into(), width, ink }
}

/// How a system is drawn.
pub(crate) struct Scene {
    /// The point whose path is drawn as a trail.
    tip: fn(&[f64]) -> Point,
    parts: fn(&[f64], &[f64]) -> Vec<Part>,
    ground: fn(Point, Point) -> Vec<Part>,
    /// The state to reach.
    goal: &'static [f64],
    /// The smallest part of the plane to show: left, bottom, right, top.
    frame: Option<[f64; 4]>,
}

/// The drawing of a system; `None` if it has none.
#[expect(clippy::too_many_lines, reason = "a table with one entry for each system")]
pub(crate) fn scene(system: &str) -> Option<Scene> {
    let nothing = |_: Point, _: Point| Vec::new();
    let scene = match system {
        "pendulum" => Scene {
            tip: |x| [x[0].sin(), x[0].cos()],
            parts: |x, _| {
                let bob = [x[0].sin(), x[0].cos()];
                vec![
                    part([[0.0, 0.0], bob], 5.0, Ink::Own),
                    part([bob], 20.0, Ink::Own),
                    part([[0.0, 0.0]], 9.0, Ink::Quiet),
                ]
            },
            ground: nothing,
            goal: &[0.0, 0.0],
            frame: Some([-1.2, -1.2, 1.2, 1.2]),
        },
        "cart-pole" => Scene {
            tip: pole,
            parts: |x, _| {
                let (at, tip) = (x[2], pole(x));
                vec![
                    part([[at - 0.13, 0.0], [at + 0.13, 0.0]], 16.0, Ink::Quiet),
                    part([[at, 0.0], tip], 5.0, Ink::Own),
                    part([tip], 16.0, Ink::Own),
                ]
            },
            ground: |low, high| vec![part([[low[0], -0.06], [high[0], -0.06]], 1.5, Ink::Faint)],
            goal: &[0.0; 4],
            frame: Some([-0.7, -0.6, 0.7, 0.6]),
        },
        "furuta-pendulum" => Scene {
            tip: arm_tip,
            parts: |x, _| {
                let arm = oblique([x[0].cos(), x[0].sin(), 0.0]);
                vec![
                    part([oblique([0.0; 3]), arm], 6.0, Ink::Quiet),
                    part([arm, arm_tip(x)], 4.0, Ink::Own),
                    part([arm_tip(x)], 15.0, Ink::Own),
                ]
            },
            ground: |_, _| {
                let ring = |i: u8| {
                    oblique([(f64::from(i) * PI / 32.0).cos(), (f64::from(i) * PI / 32.0).sin(), 0.0])
                };
                let post = [oblique([0.0, 0.0, -1.0]), oblique([0.0; 3])];
                vec![
                    part((0..65).map(ring).collect::<Vec<_>>(), 1.2, Ink::Faint),
                    part(post, 7.0, Ink::Faint),
                ]
            },
            goal: &[0.0; 4],
            frame: Some([-1.7, -1.4, 1.7, 1.5]),
        },
        "bicycle" => Scene {
            tip: |x| [x[0], x[1]],
            parts: |x, u| {
                let steer = u.first().copied().unwrap_or(0.0).atan();
                let place = |p: Point| moved(p, x[2], [x[0], x[1]]);
                let wheel = |at: Point, angle: f64| {
                    [[-0.13, 0.0], [0.13, 0.0]].map(|end| place(moved(end, angle, at)))
                };
                vec![
                    part([place([0.0, 0.0]), place([0.5, 0.0])], 3.0, Ink::Own),
                    part(wheel([0.0, 0.0], 0.0), 7.0, Ink::Own),
                    part(wheel([0.5, 0.0], steer), 7.0, Ink::Quiet),
                ]
            },
            ground: nothing,
            goal: &[2.0, 1.0, PI / 6.0, 0.0],
            frame: Some([-0.4, -0.4, 2.6, 1.6]),
        },
        "quadrotor-2d" => Scene {
            tip: |x| [x[1], -x[0]],
            parts: |x, _| {
                let place = |p: Point| moved(p, -x[2], [x[1], -x[0]]);
                let rotor = |side: f64| [[side - 0.14, 0.09], [side + 0.14, 0.09]].map(place);
                vec![
                    part([place([-0.28, 0.0]), place([0.28, 0.0])], 5.0, Ink::Own),
                    part(rotor(-0.28), 3.0, Ink::Quiet),
                    part(rotor(0.28), 3.0, Ink::Quiet),
                    part([place([0.0, 0.0])], 11.0, Ink::Own),
                ]
            },
            ground: nothing,
            goal: &[0.0; 6],
            frame: Some([-1.4, -0.5, 0.5, 1.4]),
        },
        "quadrotor-3d" => Scene {
            tip: |x| oblique([x[0], x[1], x[2]]),
            parts: flying,
            ground: |_, _| {
                let line = |k: i32, turned: bool| {
                    let k = f64::from(k) * 0.5 - 0.5;
                    let ends = [[k, -0.5, -0.4], [k, 1.5, -0.4]];
                    let ends = ends.map(|[a, b, c]| oblique(if turned { [b, a, c] } else { [a, b, c] }));
                    part(ends, 1.0, Ink::Faint)
                };
                (0..5).flat_map(|k| [line(k, false), line(k, true)]).collect()
            },
            goal: &[0.0; 12],
            frame: Some([-0.9, -0.7, 1.2, 1.6]),
        },
        "mountain-car" => Scene {
            tip: |x| hill(x[0]),
            parts: |x, _| {
                let at = |p: Point| moved(p, (0.96 * (3.0 * x[0]).cos()).atan(), hill(x[0]));
                vec![
                    part([at([-0.07, 0.08]), at([0.07, 0.08])], 15.0, Ink::Own),
                    part([at([-0.06, 0.03])], 8.0, Ink::Quiet),
                    part([at([0.06, 0.03])], 8.0, Ink::Quiet),
                ]
            },
            ground: |low, high| {
                let at = |i: u8| hill(low[0] + (high[0] - low[0]) * f64::from(i) / 100.0);
                vec![part((0..=100).map(at).collect::<Vec<_>>(), 2.0, Ink::Faint)]
            },
            goal: &[PI / 6.0, 0.0],
            frame: Some([-1.2, -0.4, 0.9, 0.5]),
        },
        _ => return None,
    };
    Some(scene)
}

fn pole(x: &[f64]) -> Point {
    [x[2] - 0.5 * x[0].sin(), 0.5 * x[0].cos()]
}

fn arm_tip(x: &[f64]) -> Point {
    let (phi, theta) = (x[0], x[2]);
    oblique([phi.cos() - theta.sin() * phi.sin(), phi.sin() + theta.sin() * phi.cos(), theta.cos()])
}

fn hill(x: f64) -> Point {
    [x, 0.32 * (3.0 * x).sin()]
}

/// Oblique projection of a point in space.
fn oblique([x, y, z]: [f64; 3]) -> Point {
    let (turn, tilt) = (0.6_f64, 0.42_f64);
    let (a, b) = (x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos());
    [a, z * tilt.cos() + b * tilt.sin()]
}

/// A point turned by an angle, then moved.
fn moved([x, y]: Point, angle: f64, [dx, dy]: Point) -> Point {
    [dx + x * angle.cos() - y * angle.sin(), dy + x * angle.sin() + y * angle.cos()]
}

/// The quadrotor in space: its arms, rotors and shadow, with attitude Rz(ψ) Rx(φ) Ry(θ).
fn flying(x: &[f64], _: &[f64]) -> Vec<Part> {
    let (phi, theta, psi) = (x[6], x[7], x[8]);
    let place = |[a, b, c]: [f64; 3]| {
        let [a, b, c] = [a * theta.cos() + c * theta.sin(), b, c * theta.cos() - a * theta.sin()];
        let [a, b, c] = [a, b * phi.cos() - c * phi.sin(), b * phi.sin() + c * phi.cos()];
        let [a, b] = moved([a, b], psi, [0.0, 0.0]);
        oblique([x[0] + a, x[1] + b, x[2] + c])
    };
    let ground = oblique([x[0], x[1], -0.4]);
    let mut parts = vec![
        part([ground, oblique([x[0], x[1], x[2]])], 1.0, Ink::Faint),
        part([ground], 8.0, Ink::Faint),
        part([place([-0.2, 0.0, 0.0]), place([0.2, 0.0, 0.0])], 4.0, Ink::Own),
        part([place([0.0, -0.2, 0.0]), place([0.0, 0.2, 0.0])], 4.0, Ink::Own),
    ];
    for (a, b) in [(0.2, 0.0), (-0.2, 0.0), (0.0, 0.2), (0.0, -0.2)] {
        let rim = |i: u8| {
            place([
                a + 0.09 * (f64::from(i) * TAU / 8.0).cos(),
                b + 0.09 * (f64::from(i) * TAU / 8.0).sin(),
                0.03,
            ])
        };
        parts.push(part(
            (0..=8).map(rim).collect::<Vec<_>>(),
            1.6,
            if a > 0.0 { Ink::Own } else { Ink::Quiet },
        ));
    }
    parts
}

/// A system that moves on the stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Moving {
    /// Name of its group in the drawing: `executed`, `planned`, `optimal`.
    pub name: &'static str,
    /// Times of the frames.
    pub times: Vec<f64>,
    /// For each frame the coordinates of all points of all parts, in the units of the drawing.
    pub frames: Vec<Vec<f64>>,
    /// Number of points of each part.
    pub parts: Vec<usize>,
}

/// A drawing, and the systems that move on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stage {
    /// The drawing as SVG, with every moving system at its first frame.
    pub svg: String,
    /// The systems that move.
    pub moving: Vec<Moving>,
}

/// What a stage shows.
#[derive(Default)]
pub(crate) struct Shown<'a> {
    pub(crate) executed: Option<&'a Trajectory>,
    pub(crate) planned: Option<&'a Trajectory>,
    pub(crate) optimal: Option<&'a Trajectory>,
    /// Trajectories that the model considered possible.
    pub(crate) draws: Vec<Vec<Vec<f64>>>,
    /// Trajectories of earlier episodes, the latest last.
    pub(crate) earlier: Vec<&'a Trajectory>,
    /// Measured states.
    pub(crate) measured: Vec<&'a [f64]>,
}

/// From the plane of the scene to a drawing.
struct Camera {
    scale: f64,
    width: f64,
    height: f64,
    middle: Point,
}

impl Camera {
    /// Shows all points, with equal scales in both directions.
    fn new(points: impl Iterator<Item = Point>, frame: Option<[f64; 4]>, width: f64, height: f64) -> Self {
        let [mut left, mut bottom, mut right, mut top] = frame.unwrap_or([-0.1, -0.1, 0.1, 0.1]);
        // A run that was aborted far away must not make everything else invisible.
        let reach = 3.0 * (right - left).max(top - bottom);
        for [x, y] in points.filter(|[x, y]| x.abs() < reach && y.abs() < reach) {
            (left, right) = (left.min(x), right.max(x));
            (bottom, top) = (bottom.min(y), top.max(y));
        }
        let scale = ((width - 2.0 * MARGIN) / (right - left)).min((height - 2.0 * MARGIN) / (top - bottom));
        Camera { scale, width, height, middle: [0.5 * (left + right), 0.5 * (bottom + top)] }
    }

    fn to(&self, [x, y]: Point) -> (f64, f64) {
        let tenth = |v: f64| (10.0 * v.clamp(-1e4, 1e4)).round() / 10.0;
        (
            tenth(0.5 * self.width + self.scale * (x - self.middle[0])),
            tenth(0.5 * self.height - self.scale * (y - self.middle[1])),
        )
    }

    fn path(&self, points: impl Iterator<Item = Point>) -> String {
        polyline(&points.map(|p| self.to(p)).collect::<Vec<_>>())
    }

    /// Both corners of the drawing, in the plane.
    fn corners(&self) -> (Point, Point) {
        let half = [0.5 * self.width / self.scale, 0.5 * self.height / self.scale];
        (
            [self.middle[0] - half[0], self.middle[1] - half[1]],
            [self.middle[0] + half[0], self.middle[1] + half[1]],
        )
    }
}

fn line(path: &str, color: &str, width: f64, more: &str) -> String {
    format!(
        "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\" stroke-linecap=\"round\" \
         stroke-linejoin=\"round\"{more} d=\"{path}\"/>\n",
        num(width)
    )
}

fn drawn(parts: &[Part], camera: &Camera, theme: &Theme, own: &str) -> String {
    let each = parts.iter().map(|part| {
        let color = match part.ink {
            Ink::Own => own,
            Ink::Quiet => theme.quiet,
            Ink::Faint => theme.muted,
        };
        line(&camera.path(part.points.iter().copied()), color, part.width, "")
    });
    each.collect()
}

fn states(path: &Trajectory) -> impl Iterator<Item = &[f64]> {
    path.states.iter()
}

impl Scene {
    /// The stage of one episode, `width` × `height`; `name` is its accessible name.
    pub(crate) fn stage(
        &self,
        shown: &Shown<'_>,
        theme: &Theme,
        (width, height): (f64, f64),
        name: &str,
    ) -> Stage {
        let tip = self.tip;
        let paths = [shown.executed, shown.planned, shown.optimal];
        let seen = paths.iter().flatten().flat_map(|path| states(path).map(tip));
        let goal = (self.parts)(self.goal, &[]);
        let camera = Camera::new(
            seen.chain(goal.iter().flat_map(|part| part.points.iter().copied())),
            self.frame,
            width,
            height,
        );
        let (low, high) = camera.corners();
        let mut body = drawn(&(self.ground)(low, high), &camera, theme, theme.muted);
        let _ = write!(
            body,
            "<g opacity=\"0.22\" class=\"goal\">\n{}</g>\n",
            drawn(&goal, &camera, theme, theme.ink)
        );
        let count = shown.earlier.len();
        for (i, path) in shown.earlier.iter().enumerate() {
            let opacity = 0.10 + 0.25 * (i + 1) as f64 / count as f64;
            let more = format!(" class=\"earlier\" opacity=\"{}\"", num(opacity));
            body += &line(&camera.path(states(path).map(tip)), theme.muted, 1.4, &more);
        }
        for draw in &shown.draws {
            let path = camera.path(draw.iter().map(|x| tip(x)));
            body += &line(&path, theme.series[1], 5.0, " class=\"sample\" opacity=\"0.10\"");
        }
        let looks = [
            ("optimal", shown.optimal, theme.series[2], " stroke-dasharray=\"0.1 5\"", 0.55),
            ("planned", shown.planned, theme.series[1], " stroke-dasharray=\"7 5\"", 0.55),
            ("executed", shown.executed, theme.series[0], "", 1.0),
        ];
        for (_, path, color, dash, opacity) in &looks {
            let Some(path) = path else { continue };
            let more = format!("{dash} opacity=\"{}\"", num(0.8 * opacity));
            body += &line(&camera.path(states(path).map(tip)), color, 2.0, &more);
        }
        for state in &shown.measured {
            let (x, y) = camera.to(tip(state));
            body += &line(
                &crate::ink::glyph(crate::Marker::Cross, x, y),
                theme.series[3],
                2.0,
                " class=\"measured\"",
            );
        }
        let mut moving = Vec::new();
        for (name, path, color, _, opacity) in looks {
            let Some(path) = path.filter(|path| !path.is_empty()) else { continue };
            let parts = self.at(path, 0);
            let _ = write!(
                body,
                "<g class=\"moving {name}\" opacity=\"{}\">\n{}</g>\n",
                num(opacity),
                drawn(&parts, &camera, theme, color)
            );
            moving.push(self.moving(name, path, &camera));
        }
        Stage { svg: page(&body, width, height, theme, name), moving }
    }

    /// The system at sample `i` of a trajectory.
    fn at(&self, path: &Trajectory, i: usize) -> Vec<Part> {
        let last = path.controls.len().saturating_sub(1);
        let u = if path.controls.is_empty() { &[] } else { path.controls.at(i.min(last)) };
        (self.parts)(path.states.at(i), u)
    }

    fn moving(&self, name: &'static str, path: &Trajectory, camera: &Camera) -> Moving {
        let last = path.states.len() - 1;
        let stride = last.div_ceil(FRAMES - 1).max(1);
        let chosen: Vec<usize> = (0..=last).filter(|i| i.is_multiple_of(stride) || *i == last).collect();
        let frame = |i: &usize| {
            let points = self.at(path, *i).into_iter().flat_map(|part| part.points);
            points.flat_map(|p| <[f64; 2]>::from(camera.to(p))).collect()
        };
        Moving {
            name,
            times: chosen.iter().map(|i| path.times[*i]).collect(),
            frames: chosen.iter().map(frame).collect(),
            parts: self.at(path, 0).iter().map(|part| part.points.len()).collect(),
        }
    }

    /// One trajectory as a strobe picture: the system at even intervals, later ones stronger, with the path of its tip.
    pub(crate) fn strobe(
        &self,
        path: &Trajectory,
        theme: &Theme,
        (width, height): (f64, f64),
        name: &str,
    ) -> String {
        const FLASHES: usize = 9;
        if path.is_empty() {
            return page("", width, height, theme, name);
        }
        let tip = self.tip;
        let goal = (self.parts)(self.goal, &[]);
        let camera = Camera::new(
            states(path).map(tip).chain(goal.iter().flat_map(|part| part.points.iter().copied())),
            self.frame,
            width,
            height,
        );
        let (low, high) = camera.corners();
        let mut body = drawn(&(self.ground)(low, high), &camera, theme, theme.muted);
        body += &line(&camera.path(states(path).map(tip)), theme.series[1], 1.6, " opacity=\"0.7\"");
        let last = path.states.len() - 1;
        for flash in 0..FLASHES {
            let share = flash as f64 / (FLASHES - 1) as f64;
            let parts = self.at(path, last * flash / (FLASHES - 1));
            let _ = write!(
                body,
                "<g opacity=\"{}\">\n{}</g>\n",
                num(0.10 + 0.9 * share.powi(3)),
                drawn(&parts, &camera, theme, theme.series[0])
            );
        }
        page(&body, width, height, theme, name)
    }
}

fn page(body: &str, width: f64, height: f64, theme: &Theme, name: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" role=\"img\" font-family=\"{FONTS}\">\n\
         <title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n{body}</svg>\n",
        escape(name),
        theme.background,
        w = num(width),
        h = num(height),
    )
}

/// The planes in which trajectories of a task are naturally seen, best first, as (horizontal, vertical) states; `None` is time. Positions
/// in metres span planes; other states are drawn against their rates, found by unit and order.
pub fn views(task: &Task) -> Vec<(Option<usize>, usize)> {
    let with = |unit: &str| -> Vec<usize> {
        (0..task.states.len()).filter(|i| task.states[*i].unit == unit).collect()
    };
    let (places, angles, rates, speeds) = (with("m"), with("rad"), with("rad/s"), with("m/s"));
    let rated = |values: &[usize], rates: &[usize]| -> Vec<(Option<usize>, usize)> {
        let even = values.len() == rates.len();
        values.iter().zip(rates).filter(|_| even).map(|(a, b)| (Some(*a), *b)).collect()
    };
    let mut found: Vec<(Option<usize>, usize)> = match places.as_slice() {
        // The vertical axis of the planar quadrotor comes first in its state.
        [a, b] if task.states[*a].name == "z" => vec![(Some(*b), *a)],
        [a, b] => vec![(Some(*a), *b)],
        [a, b, c] => vec![(Some(*a), *c), (Some(*a), *b)],
        _ => Vec::new(),
    };
    found.extend(rated(&angles, &rates));
    found.extend(rated(&places, &speeds));
    // Furuta's arm comes before its pendulum, which is what has to be balanced.
    if places.is_empty() && angles.len() == 2 {
        found.reverse();
    }
    if found.is_empty() {
        found = match task.states.len() {
            1 => vec![(None, 0)],
            n if n <= 4 => (0..n).flat_map(|a| (a + 1..n).map(move |b| (Some(a), b))).collect(),
            n => (0..n / 2).map(|a| (Some(a), a + n / 2)).collect(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl::system::Benchmark;

    #[test]
    fn states_are_seen_with_their_rates_and_positions_in_their_plane() {
        for (name, first) in [
            ("pendulum", (Some("theta"), "omega")),
            ("cart-pole", (Some("theta"), "omega")),
            ("furuta-pendulum", (Some("theta"), "theta_rate")),
            ("bicycle", (Some("x"), "y")),
            ("quadrotor-2d", (Some("y"), "z")),
            ("quadrotor-3d", (Some("x"), "z")),
        ] {
            let task = &Benchmark::find(name).expect("it exists").task;
            let named = |i: usize| task.states[i].name.as_str();
            let (a, b) = views(task)[0];
            assert_eq!((a.map(named), named(b)), first, "{name}");
        }
    }

    #[test]
    fn the_frames_of_a_system_have_equal_parts() {
        for name in [
            "pendulum",
            "cart-pole",
            "furuta-pendulum",
            "bicycle",
            "quadrotor-2d",
            "quadrotor-3d",
            "mountain-car",
        ] {
            let task = &Benchmark::find(name).expect("it exists").task;
            let mut path = Trajectory::empty(task.dims());
            for i in 0..300 {
                let state: Vec<f64> = task.initial_state.iter().map(|x| x + 0.001 * f64::from(i)).collect();
                path.push(0.01 * f64::from(i), &state, &task.safe_control);
            }
            let shown = Shown { executed: Some(&path), ..Shown::default() };
            let stage = scene(name).expect("it is drawn").stage(&shown, &Theme::LIGHT, (400.0, 300.0), name);
            let moving = &stage.moving[0];
            assert!(moving.frames.len() <= FRAMES + 1 && moving.times.len() == moving.frames.len());
            assert!(moving.frames.iter().all(|frame| frame.len() == 2 * moving.parts.iter().sum::<usize>()));
            assert_eq!(stage.svg.matches("<path").count(), stage.svg.matches("/>").count() - 1);
        }
    }
}
