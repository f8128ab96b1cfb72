//! Lines in, lines out: what `ocorl control` speaks, without files and without waiting.

use super::clock::Clock;
use super::controller::{Controller, Status, Why};
use super::leg;
use super::lines::State;
use crate::mistake::Mistake;
use crate::plan_file::PlanFile;
use ocorl::select::{Purpose, Schedule};
use ocorl::track::Rung;
use std::fmt::Write;
use std::time::Duration;

/// Requests of a strategy at one time.
const MOST_AT_ONCE: usize = 16;

/// A run of one leg, in lines.
///
/// Each line is answered by one line. If none comes for a while, the safe control is given once (more often if the rate limit does not
/// allow it at once), and then nothing until the next line.
pub struct Session<'a, C> {
    plan: &'a PlanFile,
    controller: Controller,
    clock: C,
    watchdog: Duration,
    /// Planned measurement times, in order, and how many of them are over.
    measure_at: Vec<f64>,
    measured: usize,
    /// Decides on further times on the way.
    online: Option<Box<dyn Schedule>>,
    lines: usize,
    malformed: usize,
    silences: usize,
    /// Time of the last line, on the plan's clock and on ours.
    last: Option<(f64, Duration)>,
    /// When to speak without being asked.
    wake: Option<Duration>,
    silent: bool,
    control: Vec<f64>,
    state: Vec<f64>,
    event: Event,
}

/// What the last line of output was about, for a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// t
    pub time: f64,
    /// How the step went.
    pub status: Status,
    /// What the step took.
    pub took: Duration,
}

impl<'a, C: Clock> Session<'a, C> {
    /// Runs leg `number` of `plan`. Without a word for `watchdog` the control becomes the safe one.
    pub fn new(
        plan: &'a PlanFile,
        number: usize,
        controller: Controller,
        clock: C,
        watchdog: Duration,
    ) -> Result<Self, Mistake> {
        let mut measure_at = leg(plan, number)?.measure_at.clone();
        measure_at.sort_by(f64::total_cmp);
        let status = Status { rung: Rung::Safe, age: 0.0, missed: false, why: None };
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
            control: controller.safe_control().to_vec(),
            state: Vec::with_capacity(plan.states.len()),
            controller,
            event: Event { time: 0.0, status, took: Duration::ZERO },
        })
    }

    /// With measurement times that are decided on the way; asking may take as long as the strategy thinks.
    #[must_use]
    pub fn deciding(mut self, schedule: Option<Box<dyn Schedule>>) -> Self {
        self.online = schedule;
        self
    }

    /// Answers a line: appends one line to `out`.
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
                let due = self.due(time, status) | self.decided(time, &state, status);
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

    /// Answers a line that cannot be read, with the safe control.
    fn complain(&mut self, cause: &str, out: &mut String) {
        let begin = self.clock.now();
        let time = self.time(begin);
        let status = self.controller.safe(time, &mut self.control);
        self.malformed += 1;
        let error = serde_json::Value::from(format!("line {}: {cause}", self.lines));
        self.answer(time, status, out);
        let _ = writeln!(out, ",\"error\":{error}}}");
        self.note(time, status, begin);
    }

    /// A line that was too long to keep.
    pub fn too_long(&mut self, out: &mut String) {
        self.lines += 1;
        self.complain("it is too long", out);
        self.silent = false;
        self.wake = Some(self.clock.now().saturating_add(self.watchdog));
    }

    /// How long it may be left alone; none: for good.
    pub fn wait(&self) -> Option<Duration> {
        self.wake.map(|wake| wake.saturating_sub(self.clock.now()))
    }

    /// Says something without being asked if it is time to: the safe control. True if it did.
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

    /// One line with the safe control, as far as the rate limit allows. True if it is reached.
    pub fn stop(&mut self, out: &mut String) -> bool {
        self.make_safe("stopped", out)
    }

    /// The plan's period.
    pub fn period(&self) -> Duration {
        Duration::try_from_secs_f64(self.plan.period).unwrap_or(Duration::MAX)
    }

    /// The controller, for its counts.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// What the last line of output was about.
    pub fn event(&self) -> Event {
        self.event
    }

    /// The control of the last line of output.
    pub fn control(&self) -> &[f64] {
        &self.control
    }

    /// The state of the last line that said one; empty before.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// What happened, in one line.
    pub fn summary(&self) -> String {
        let counts = self.controller.counts();
        let [fresh, shifted, planned, safe] = counts.rungs;
        let mut text = format!(
            "{} lines: {fresh} fresh, {shifted} shifted, {planned} planned, {safe} safe; {} late, {} malformed, \
             {} silences",
            self.lines, counts.missed, self.malformed, self.silences
        );
        if self.controller.gave_up() {
            let _ =
                write!(text, "; gave up ({})", self.controller.last_error().unwrap_or("the solver was late"));
        }
        text + "\n"
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

    /// The plan's time at `now` on our clock: as the last line said, and what has passed since.
    fn time(&self, now: Duration) -> f64 {
        self.last.map_or(self.controller.begin(), |(time, at)| time + now.saturating_sub(at).as_secs_f64())
    }

    /// Whether the strategy that decides on the way wants a measurement now. A look at the state alone it has had already.
    fn decided(&mut self, time: f64, state: &[f64], status: Status) -> bool {
        let sound =
            time.is_finite() && state.iter().all(|x| x.is_finite()) && status.why != Some(Why::Backwards);
        let Some(schedule) = self.online.as_mut().filter(|_| sound) else { return false };
        let mut due = false;
        // It asks for a few at one time at most; whoever asks for more is not waited for.
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

    /// Whether a measurement planned for about now is to be taken: at the state that is nearest to its time. One state serves all that are
    /// due.
    fn due(&mut self, time: f64, status: Status) -> bool {
        if matches!(status.why, Some(Why::BadState | Why::BadTime | Why::Backwards)) {
            return false;
        }
        let over = self.measure_at.partition_point(|m| *m - 0.5 * self.plan.period <= time);
        let due = over > self.measured;
        self.measured = self.measured.max(over);
        due
    }

    /// `{"t":…,"u":[…],"rung":…,"late":…` without the end.
    fn answer(&self, time: f64, status: Status, out: &mut String) {
        let _ = write!(out, "{{\"t\":{time:?},\"u\":[");
        for (i, u) in self.control.iter().enumerate() {
            let _ = write!(out, "{}{u:?}", if i > 0 { "," } else { "" });
        }
        let _ = write!(out, "],\"rung\":\"{}\",\"late\":{}", status.name(), status.missed);
        if let Some(why) = status.why.filter(|why| *why != Why::Asked) {
            let _ = write!(out, ",\"why\":\"{}\"", why.text());
        }
        if self.controller.gave_up() {
            out.push_str(",\"gave_up\":true");
        }
    }

    fn note(&mut self, time: f64, status: Status, begin: Duration) {
        self.event = Event { time, status, took: self.clock.now().saturating_sub(begin) };
    }
}
