//! The line protocol of the controller, without input, output or waiting: the caller passes lines in and writes the answers.

use super::clock::Clock;
use super::controller::Controller;
use super::lines::State;
use super::rollout;
use crate::plan_file::PlanFile;
use crate::user_error::UserError;
use ocorl::select::{Purpose, Schedule};
use ocorl::track::{Crossing, FallbackLevel, FallbackReason, Finding, Status};
use std::fmt::Write;
use std::time::Duration;

/// Maximum number of measurement requests that a strategy may make at one time.
const MOST_AT_ONCE: usize = 16;

/// A run of one rollout over the line protocol.
///
/// Each input line is answered by one output line. If none arrives for the watchdog time, the session emits the safe control once
/// (repeatedly if the rate limit does not allow it in one step), and then nothing until the next line.
pub struct Session<'a, C> {
    plan: &'a PlanFile,
    controller: Controller,
    clock: C,
    watchdog: Duration,
    /// Planned measurement times in increasing order, and how many of them have passed.
    measure_at: Vec<f64>,
    measured: usize,
    /// Schedule that decides further measurement times during the run.
    online: Option<Box<dyn Schedule>>,
    lines: usize,
    malformed: usize,
    silences: usize,
    /// Time of the last line, on the plan's clock and on the local clock.
    last: Option<(f64, Duration)>,
    /// Local time at which the session emits a line without input.
    wake: Option<Duration>,
    silent: bool,
    /// Whether a crossing of limits or tube was reported.
    crossed: bool,
    control: Vec<f64>,
    state: Vec<f64>,
    event: Event,
}

/// Data about the last output line, for a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time t of the step.
    pub time: f64,
    /// Fallback level and flags of the step.
    pub status: Status,
    /// Computation time of the step.
    pub took: Duration,
}

impl<'a, C: Clock> Session<'a, C> {
    /// Runs rollout `number` of `plan`. After `watchdog` without input the control goes to the safe one.
    pub fn new(
        plan: &'a PlanFile,
        number: usize,
        controller: Controller,
        clock: C,
        watchdog: Duration,
    ) -> Result<Self, UserError> {
        let mut measure_at = rollout(plan, number)?.measure_at.clone();
        measure_at.sort_by(f64::total_cmp);
        let status = Status { level: FallbackLevel::Safe, age: 0.0, missed: false, reason: None };
        Ok(Session {
            plan,
            clock,
            watchdog,
            measure_at,
            measured: 0,
            online: None,
            lines: 0,
            malformed: 0,
            silences: 0,
            last: None,
            wake: None,
            silent: false,
            crossed: false,
            control: controller.safe_control().to_vec(),
            state: Vec::with_capacity(plan.states.len()),
            controller,
            event: Event { time: 0.0, status, took: Duration::ZERO },
        })
    }

    /// Adds a schedule that decides measurement times during the run; its computation time is not limited.
    #[must_use]
    pub fn deciding(mut self, schedule: Option<Box<dyn Schedule>>) -> Self {
        self.online = schedule;
        self
    }

    /// Answers an input line: appends one line to `out`.
    pub fn line(&mut self, text: &[u8], out: &mut String) {
        let begin = self.clock.now();
        self.lines += 1;
        let parsed = std::str::from_utf8(text)
            .map_err(|_| "it is not UTF-8".to_owned())
            .and_then(|text| State::parse(text, self.plan).map_err(|error| error.0));
        match parsed {
            Ok(State { time, state }) => {
                let time = time.unwrap_or_else(|| self.time(begin));
                let status = self.controller.step(time, &state, &mut self.control);
                let due = self.due(time, status) | self.decided(time, &state, status) | self.noticed(status);
                self.answer(time, status, out);
                out.push_str(if due { ",\"measure\":true}\n" } else { "}\n" });
                self.note(time, status, begin);
                self.last = Some((time, begin));
                self.state.clear();
                self.state.extend_from_slice(&state);
            }
            Err(cause) => self.complain(&cause, out),
        }
        self.silent = false;
        self.wake = Some(self.clock.now().saturating_add(self.watchdog));
    }

    /// Answers a line that cannot be read, which counts as a dropout.
    fn complain(&mut self, cause: &str, out: &mut String) {
        let begin = self.clock.now();
        let time = self.time(begin);
        let status = self.controller.dropout(time, &mut self.control);
        self.malformed += 1;
        let error = serde_json::Value::from(format!("line {}: {cause}", self.lines));
        self.answer(time, status, out);
        let _ = writeln!(out, ",\"error\":{error}}}");
        self.note(time, status, begin);
    }

    /// Answers a line that exceeds the maximum length.
    pub fn too_long(&mut self, out: &mut String) {
        self.lines += 1;
        self.complain("it is too long", out);
        self.silent = false;
        self.wake = Some(self.clock.now().saturating_add(self.watchdog));
    }

    /// Time until the session must be polled with [`idle`](Self::idle); `None` if that is not needed.
    pub fn wait(&self) -> Option<Duration> {
        self.wake.map(|wake| wake.saturating_sub(self.clock.now()))
    }

    /// Emits the safe control if the watchdog time has passed. Returns whether a line was written.
    pub fn idle(&mut self, out: &mut String) -> bool {
        let now = self.clock.now();
        if self.wake.is_none_or(|wake| wake > now) {
            return false;
        }
        if !self.silent {
            self.silences += 1;
            self.silent = true;
        }
        let reached = self.make_safe("watchdog", out);
        self.wake = if reached { None } else { Some(now.saturating_add(self.period())) };
        true
    }

    /// Appends one line with the safe control, as far as the rate limit allows. Returns whether the safe control is reached.
    pub fn stop(&mut self, out: &mut String) -> bool {
        self.make_safe("stopped", out)
    }

    /// Control period of the plan.
    pub fn period(&self) -> Duration {
        Duration::try_from_secs_f64(self.plan.period).unwrap_or(Duration::MAX)
    }

    /// The controller, for access to its counts.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Data about the last output line.
    pub fn event(&self) -> Event {
        self.event
    }

    /// The control of the last line of output.
    pub fn control(&self) -> &[f64] {
        &self.control
    }

    /// The state of the last line that contained one; empty before the first.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// Summary of the run in one line.
    pub fn summary(&self) -> String {
        let counts = self.controller.counts();
        let [fresh, shifted, planned, safe] = counts.levels;
        let mut text = format!(
            "{} lines: {fresh} fresh, {shifted} shifted, {planned} planned, {safe} safe; {} late, {} malformed, \
             {} silences",
            self.lines, counts.missed, self.malformed, self.silences
        );
        if let Some((what, name, at)) = self.crossing() {
            let _ = write!(text, "; '{name}' left the {what} at t = {:?} ({:?})", at.time, at.value);
        }
        if self.controller.gave_up() {
            let _ =
                write!(text, "; gave up ({})", self.controller.last_error().unwrap_or("the solver was late"));
        }
        text + "\n"
    }

    /// The crossing that ended the pursuit of the plan: of a limit or of the tube, and the name of the state.
    fn crossing(&self) -> Option<(&'static str, &str, Crossing)> {
        let (what, at) = match self.controller.crossing()? {
            Finding::Limit(at) => ("limit", at),
            Finding::Tube(at) => ("tube", at),
            Finding::Near(_) => return None,
        };
        Some((what, &self.plan.states[at.state].name, at))
    }

    fn make_safe(&mut self, word: &str, out: &mut String) -> bool {
        let now = self.clock.now();
        let time = self.time(now);
        let status = self.controller.safe(time, &mut self.control);
        self.answer(time, status, out);
        let _ = writeln!(out, ",\"{word}\":true}}");
        self.note(time, status, now);
        self.control == self.controller.safe_control()
    }

    /// The plan's time at local time `now`: the time of the last line plus the time elapsed since.
    fn time(&self, now: Duration) -> f64 {
        self.last.map_or(self.controller.begin(), |(time, at)| time + now.saturating_sub(at).as_secs_f64())
    }

    /// Whether the online strategy requests a measurement now. Readings of the state alone need no request: the strategy has already
    /// received the state.
    fn decided(&mut self, time: f64, state: &[f64], status: Status) -> bool {
        let sound = time.is_finite()
            && state.iter().all(|x| x.is_finite())
            && status.reason != Some(FallbackReason::Backwards);
        let Some(schedule) = self.online.as_mut().filter(|_| sound) else { return false };
        let mut due = false;
        // A strategy makes a few requests at one time at most; further ones are not waited for.
        for _ in 0..MOST_AT_ONCE {
            match schedule.next(time, state, &self.control) {
                Some(request) if request.time <= time + 1e-12 * (1.0 + time.abs()) => {
                    due |= request.purpose == Purpose::Learn;
                }
                _ => break,
            }
        }
        due
    }

    /// Whether the step has found a crossing, whose state is the most informative one: it is measured once.
    fn noticed(&mut self, status: Status) -> bool {
        let crossing = [FallbackReason::LimitCrossed, FallbackReason::LeftTube];
        let now = status.reason.is_some_and(|reason| crossing.contains(&reason));
        now && !std::mem::replace(&mut self.crossed, true)
    }

    /// Whether a planned measurement is due now: it is taken at the state nearest to its time. One state serves all measurements that are
    /// due.
    fn due(&mut self, time: f64, status: Status) -> bool {
        let unusable = [FallbackReason::BadState, FallbackReason::BadTime, FallbackReason::Backwards];
        if status.reason.is_some_and(|reason| unusable.contains(&reason)) {
            return false;
        }
        let over = self.measure_at.partition_point(|m| *m - 0.5 * self.plan.period <= time);
        let due = over > self.measured;
        self.measured = self.measured.max(over);
        due
    }

    /// Appends `{"t":…,"u":[…],"level":…,"late":…` without the closing brace.
    fn answer(&self, time: f64, status: Status, out: &mut String) {
        let _ = write!(out, "{{\"t\":{time:?},\"u\":[");
        for (i, u) in self.control.iter().enumerate() {
            let _ = write!(out, "{}{u:?}", if i > 0 { "," } else { "" });
        }
        let _ = write!(out, "],\"level\":\"{}\",\"late\":{}", status.level.name(), status.missed);
        if let Some(reason) = status.reason.filter(|reason| *reason != FallbackReason::Requested) {
            let _ = write!(out, ",\"why\":\"{}\"", reason.text());
        }
        if let Some((what, name, at)) = self.crossing() {
            let name = serde_json::Value::from(name);
            let _ = write!(
                out,
                ",\"crossed\":{{\"what\":\"{what}\",\"state\":{name},\"t\":{:?},\"value\":{:?},\"bound\":{:?}}}",
                at.time, at.value, at.bound
            );
        }
        if self.controller.gave_up() {
            out.push_str(",\"gave_up\":true");
        }
    }

    fn note(&mut self, time: f64, status: Status, begin: Duration) {
        self.event = Event { time, status, took: self.clock.now().saturating_sub(begin) };
    }
}
