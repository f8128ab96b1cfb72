//! Exports a rollout of a plan as C99 source: no allocation, no dependencies, constant time per step.

use crate::control;
use crate::plan_file::{BrakeTable, Named, PlanFile, RolloutTable};
use crate::user_error::UserError;
use ocorl::track::{FILTER, MAX_DROPOUTS, MAX_PERIODS, PATIENCE, RETURN, ROUNDING};
use std::fmt::Write;

/// The two source files, to be saved as `ocorl_controller.h` and `ocorl_controller.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The header, with the public interface.
    pub header: String,
    /// The implementation, with tables and code.
    pub code: String,
}

/// Rollout `number` of `plan` as C99 source.
///
/// Numbers are written in the shortest form that reads back as the same double. Names from the plan appear in comments and constants only,
/// reduced to letters and digits, so they cannot inject code.
pub fn c99(plan: &PlanFile, number: usize) -> Result<Source, UserError> {
    let reference = control::reference(plan, number)?;
    let rollout = control::rollout(plan, number)?;
    let begin = rollout.times[0];
    let end = reference.end().min(begin + plan.valid_for);
    Ok(Source { header: header(plan, number, begin, end), code: code(plan, rollout) })
}

fn header(plan: &PlanFile, number: usize, begin: f64, end: f64) -> String {
    let about = format!(
        "system {}, study {}, episode {}, rollout {number}",
        comment(&plan.system),
        comment(&plan.study),
        plan.episode
    );
    let mut text = format!("/* Made by ocorl: {about}. */\n");
    text.push_str("#ifndef OCORL_CONTROLLER_H\n#define OCORL_CONTROLLER_H\n\n");
    let _ = write!(
        text,
        "#define OCORL_STATES {}\n#define OCORL_CONTROLS {}\n/* Time between two steps. */\n#define OCORL_PERIOD {}\n\
         /* Periods that count as passed at most between two steps. */\n#define OCORL_MAX_PERIODS {}\n\
         /* The plan is followed for OCORL_BEGIN <= t < OCORL_END; the control is the safe one otherwise. */\n\
         #define OCORL_BEGIN ({})\n#define OCORL_END ({})\n\n",
        plan.states.len(),
        plan.controls.len(),
        double(plan.period),
        double(MAX_PERIODS),
        double(begin),
        double(end),
    );
    text.push_str(&names("Places of the states in x.", "OCORL_X", &plan.states));
    text.push_str(&names("Places of the controls in u.", "OCORL_U", &plan.controls));
    text.push_str(&DECLARATIONS.replace("{dropouts}", &MAX_DROPOUTS.to_string()));
    text
}

const DECLARATIONS: &str = "\
#ifdef __cplusplus
extern \"C\" {
#endif

/* Samples in a row without a usable state that are bridged by the plan, open loop. */
#ifndef OCORL_MAX_DROPOUTS
#define OCORL_MAX_DROPOUTS {dropouts}
#endif

/* What a step must know of those before it. */
typedef struct {
    int timed;               /* a finite time has been seen */
    double latest;           /* the latest time that was followed */
    int jumped;              /* the time jumped ahead lately */
    double before_jump;      /* the latest time before the jump */
    double since_jump;       /* steps since the jump */
    int dropouts;            /* states that may still be missing */
    int stamped;             /* the rate limit has a time to count from */
    double stamp;            /* the last finite time */
    double u[OCORL_CONTROLS]; /* the control that acts */
    int crossed;             /* OCORL_LIMIT or OCORL_TUBE once a state has left the limits or the tube of the plan, else 0 */
    int seen;                /* the fields below hold a state */
    double seen_t;           /* time and value of the last state during an excitation, and its filtered rate */
    double seen_x[OCORL_STATES];
    double rate[OCORL_STATES];
    double margin[OCORL_STATES]; /* the distance from the limits that an excitation keeps */
    int braking;             /* a state approached a limit, and not all are far from their limits again */
    double since;            /* the time at which that began */
} ocorl_controller;

/* Values of `crossed`. The plan is not followed any more until ocorl_init. */
#define OCORL_LIMIT 1
#define OCORL_TUBE 2

/* The control at time t in state x: finite and within limits, whatever t and x are. Nothing is remembered,
   so there is no limit on the rate, no missing state is bridged, and a crossing ends with the state that crosses. */
void ocorl_control(double t, const double *x, double *u);

/* Before the first step of a run, which begins with the safe control applied. */
void ocorl_init(ocorl_controller *c);

/* A step of a run, once every OCORL_PERIOD, with the limit on the rate.
   The plan is followed with its gains; without them for OCORL_MAX_DROPOUTS steps in a row whose state is not
   finite, or is a null pointer. The control goes to the safe one if states are missing for longer, outside the
   plan's time, and if t is not finite or earlier than before. A single t that is too far ahead is tolerated: later
   steps that continue from the earlier time are followed. After a restart of the clock, call ocorl_init.
   The rate limit counts the time between two steps, at most OCORL_MAX_PERIODS periods of it; if t is not later
   than before, or not finite, one period. So the safe control is always reached.
   A state outside the limits of the states, or outside the tube of the plan, is remembered in `crossed`: the plan is
   not followed any more. A backup controller, if the plan has one, replaces the safe control while the state is known.
   Returns 1 if the plan was followed, 0 if u is the safe or backup control or moves towards it. */
int ocorl_step(ocorl_controller *c, double t, const double *x, double *u);

#ifdef __cplusplus
}
#endif

#endif
";

fn code(plan: &PlanFile, rollout: &RolloutTable) -> String {
    let angles = plan.angle_indices();
    let mut text =
        String::from("/* Made by ocorl. u = clamp(u_k + K_k x - K_k xbar(t)) on [t_k, t_k+1). */\n");
    text.push_str("#include \"ocorl_controller.h\"\n#include <float.h>\n");
    if !angles.is_empty() {
        text.push_str("#include <math.h>\n");
    }
    let (n, bounds) = (rollout.controls.len(), plan.limits.bounds());
    let _ = write!(text, "\n#define INTERVALS {n}\n\n");
    table(&mut text, "lower[OCORL_CONTROLS]", &bounds.lower);
    table(&mut text, "upper[OCORL_CONTROLS]", &bounds.upper);
    table(&mut text, "safe[OCORL_CONTROLS]", &plan.safe_control);
    if let Some(limit) = plan.limits.rate_limit(plan.period) {
        table(&mut text, "max_rate[OCORL_CONTROLS]", &limit.max_rate);
    }
    limit_tables(&mut text, plan, rollout);
    if !angles.is_empty() {
        let list: Vec<String> = angles.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "static const int angles[{}] = {{{}}};", angles.len(), list.join(", "));
        let _ = writeln!(text, "#define ANGLES {}", angles.len());
        let _ = writeln!(text, "#define TURN {}", double(std::f64::consts::TAU));
    }
    table(&mut text, "times[INTERVALS + 1]", &rollout.times);
    table(&mut text, "states[(INTERVALS + 1) * OCORL_STATES]", rollout.states.iter().flatten());
    table(&mut text, "slopes[INTERVALS * 2 * OCORL_STATES]", rollout.slopes.iter().flatten().flatten());
    table(&mut text, "controls[INTERVALS * OCORL_CONTROLS]", rollout.controls.iter().flatten());
    table(
        &mut text,
        "gains[INTERVALS * OCORL_CONTROLS * OCORL_STATES]",
        rollout.gains.iter().flatten().flatten(),
    );
    text.push_str(PLANNED);
    text.push_str(if angles.is_empty() { "" } else { UNWRAP });
    text.push_str(FOLLOW);
    text.push_str(if rollout.tube.is_some() { TUBE } else { NO_TUBE });
    text.push_str(if rollout.brake.is_some() { BRAKE } else { NO_BRAKE });
    text.push_str(if plan.backup.is_some() { BACKUP } else { NO_BACKUP });
    text.push_str(if plan.limits.max_rate.is_some() { RATE } else { NO_RATE });
    text.push_str(STEP);
    text
}

/// Appends the limits of the states with their rounding, the tube, the look-ahead of an excitation and the backup controller.
fn limit_tables(text: &mut String, plan: &PlanFile, rollout: &RolloutTable) {
    let bounds = plan.state_bounds();
    let room = |bound: f64| if bound.is_finite() { ROUNDING * (1.0 + bound.abs()) } else { 0.0 };
    table(text, "state_lower[OCORL_STATES]", &bounds.lower.iter().map(|b| b - room(*b)).collect::<Vec<_>>());
    table(text, "state_upper[OCORL_STATES]", &bounds.upper.iter().map(|b| b + room(*b)).collect::<Vec<_>>());
    if let Some(tube) = &rollout.tube {
        table(text, "tube[(INTERVALS + 1) * OCORL_STATES]", tube.iter().flatten());
    }
    if let Some(BrakeTable { ahead, margin }) = rollout.brake {
        let most = bounds.lower.iter().zip(&bounds.upper).map(|(lower, upper)| {
            let width = upper - lower;
            if width.is_finite() { margin * width } else { 0.0 }
        });
        table(text, "limit_lower[OCORL_STATES]", &bounds.lower);
        table(text, "limit_upper[OCORL_STATES]", &bounds.upper);
        table(text, "most[OCORL_STATES]", &most.collect::<Vec<_>>());
        for (name, value) in
            [("AHEAD", ahead), ("FILTER", FILTER * ahead), ("PATIENCE", PATIENCE * ahead), ("RETURN", RETURN)]
        {
            let _ = writeln!(text, "#define {name} {}", double(value));
        }
    }
    if let Some(backup) = &plan.backup {
        table(text, "backup_state[OCORL_STATES]", &backup.state);
        table(text, "backup_control[OCORL_CONTROLS]", &backup.control);
        table(text, "backup_gains[OCORL_CONTROLS * OCORL_STATES]", backup.gains.iter().flatten());
    }
}

const PLANNED: &str = "
static int is_finite(double v)
{
    return v >= -DBL_MAX && v <= DBL_MAX;
}

/* The interval that contains t. */
static int interval(double t)
{
    int low = 0, high = INTERVALS;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (times[middle] <= t) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether the plan holds at t. */
static int is_valid(double t)
{
    return t >= OCORL_BEGIN && t < OCORL_END;
}

/* Whether all of x is finite; a null pointer is no state. */
static int is_state(const double *x)
{
    int i;
    for (i = 0; x && i < OCORL_STATES; i++) {
        if (!is_finite(x[i])) {
            return 0;
        }
    }
    return x != 0;
}

/* The plan without its gains. */
static void feed_forward(double t, double *u)
{
    int j, k = interval(t);
    for (j = 0; j < OCORL_CONTROLS; j++) {
        u[j] = controls[k * OCORL_CONTROLS + j];
    }
}

/* xbar(t), and x with its angles near xbar(t). */
static void locate(double t, const double *x, double *xbar, double *y)
{
    int i, k = interval(t);
    double h, s, a, b;
    const double *x0, *x1, *f0, *f1;
    h = times[k + 1] - times[k];
    s = (t - times[k]) / h;
    s = s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s;
    a = (1.0 - s) * (1.0 - s);
    b = s * s;
    x0 = states + k * OCORL_STATES;
    x1 = x0 + OCORL_STATES;
    f0 = slopes + k * 2 * OCORL_STATES;
    f1 = f0 + OCORL_STATES;
    for (i = 0; i < OCORL_STATES; i++) {
        xbar[i] = a * ((1.0 + 2.0 * s) * x0[i] + s * h * f0[i]) + b * ((3.0 - 2.0 * s) * x1[i] - (1.0 - s) * h * f1[i]);
        y[i] = x[i];
    }
";

const UNWRAP: &str = "    for (i = 0; i < ANGLES; i++) {
        /* Whole turns are no deviation. */
        double turns = round((xbar[angles[i]] - y[angles[i]]) / TURN);
        if (is_finite(turns)) {
            y[angles[i]] += turns * TURN;
        }
    }
";

const FOLLOW: &str = "}

/* The plan with its gains. */
static void follow(double t, const double *xbar, const double *y, double *u)
{
    int i, j, k = interval(t);
    for (j = 0; j < OCORL_CONTROLS; j++) {
        const double *gain = gains + (k * OCORL_CONTROLS + j) * OCORL_STATES;
        double now = 0.0, planned = 0.0;
        for (i = 0; i < OCORL_STATES; i++) {
            now += gain[i] * y[i];
            planned += gain[i] * xbar[i];
        }
        u[j] = controls[k * OCORL_CONTROLS + j] + now - planned;
    }
}

/* Whether a state is outside its limits. */
static int is_outside(const double *x)
{
    int i;
    for (i = 0; i < OCORL_STATES; i++) {
        if (x[i] < state_lower[i] || x[i] > state_upper[i]) {
            return 1;
        }
    }
    return 0;
}

static double clamp(double v, int j)
{
    v = v < lower[j] ? lower[j] : v;
    return v > upper[j] ? upper[j] : v;
}

/* Finite and within limits. */
static void limit(int known, double *u)
{
    int j;
    for (j = 0; j < OCORL_CONTROLS; j++) {
        u[j] = clamp(known && is_finite(u[j]) ? u[j] : safe[j], j);
    }
}

/* Whether a step at time t may follow the plan, by the times of the steps before. */
static int accept(ocorl_controller *c, double t)
{
    if (c->jumped) {
        c->since_jump += 1.0;
        c->jumped = c->since_jump <= OCORL_MAX_PERIODS;
    }
    if (!is_finite(t)) {
        return 0;
    }
    if (!c->timed || t >= c->latest) {
        if (c->timed && !c->jumped && t - c->latest > OCORL_MAX_PERIODS * OCORL_PERIOD) {
            c->jumped = 1;
            c->before_jump = c->latest;
            c->since_jump = 0.0;
        }
        c->timed = 1;
        c->latest = t;
        return 1;
    }
    if (c->jumped && t >= c->before_jump
        && t <= c->before_jump + (c->since_jump + OCORL_MAX_PERIODS) * OCORL_PERIOD) {
        c->jumped = 0;
        c->latest = t;
        return 1;
    }
    return 0;
}
";

const RATE: &str = "
/* The time that counts as passed since the step before: always positive. */
static double elapsed(const ocorl_controller *c, double t)
{
    double passed = c->stamped ? t - c->stamp : 0.0;
    if (!(is_finite(t) && passed > 0.0)) {
        return OCORL_PERIOD;
    }
    return passed > OCORL_MAX_PERIODS * OCORL_PERIOD ? OCORL_MAX_PERIODS * OCORL_PERIOD : passed;
}

/* No further from the control that acts than the time since allows; DBL_MAX stands for no limit. */
static double slow(const ocorl_controller *c, double t, double v, int j)
{
    double room = max_rate[j] * elapsed(c, t);
    if (max_rate[j] >= DBL_MAX) {
        return clamp(v, j);
    }
    v = v < c->u[j] - room ? c->u[j] - room : v;
    v = v > c->u[j] + room ? c->u[j] + room : v;
    return clamp(v, j);
}
";

const NO_RATE: &str = "
/* The rate is not limited. */
static double slow(const ocorl_controller *c, double t, double v, int j)
{
    (void)c;
    (void)t;
    (void)j;
    return v;
}
";

const TUBE: &str = "
/* Whether the state is farther from the plan than the tube allows. */
static int is_beyond(double t, const double *xbar, const double *y)
{
    int i, k = interval(t);
    const double *from = tube + k * OCORL_STATES, *to = from + OCORL_STATES;
    for (i = 0; i < OCORL_STATES; i++) {
        double off = y[i] - xbar[i];
        off = off < 0.0 ? -off : off;
        if (off > (from[i] > to[i] ? from[i] : to[i])) {
            return 1;
        }
    }
    return 0;
}
";

const NO_TUBE: &str = "
/* The plan has no tube. */
static int is_beyond(double t, const double *xbar, const double *y)
{
    (void)t;
    (void)xbar;
    (void)y;
    return 0;
}
";

const BRAKE: &str = "
/* The distance of y from the nearer limit. */
static double distance(int i, double y)
{
    double below = y - limit_lower[i], above = limit_upper[i] - y;
    return below < above ? below : above;
}

/* Whether a state approaches a limit, extrapolated by its filtered rate. */
static int is_near(ocorl_controller *c, double t, const double *y)
{
    int i, first = !c->seen, far = 1, near = 0;
    double passed = first ? 0.0 : t - c->seen_t;
    double share = passed / FILTER < 1.0 ? passed / FILTER : 1.0;
    if (passed > 0.0) {
        for (i = 0; i < OCORL_STATES; i++) {
            c->rate[i] += share * ((y[i] - c->seen_x[i]) / passed - c->rate[i]);
        }
    }
    if (first || passed > 0.0) {
        c->seen = 1;
        c->seen_t = t;
        for (i = 0; i < OCORL_STATES; i++) {
            c->seen_x[i] = y[i];
        }
    }
    for (i = 0; i < OCORL_STATES; i++) {
        double now = distance(i, y[i]), then = distance(i, y[i] + AHEAD * c->rate[i]);
        double half = 0.5 * now, *margin = &c->margin[i];
        if (!c->braking) {
            half = half < most[i] ? half : most[i];
            *margin = half > *margin ? half : *margin;
        } else if (t - c->since >= PATIENCE) {
            int returns = (then - now) * RETURN >= 2.0 * *margin - now && then > now;
            double least = now < then ? now : then;
            if (least > 0.0 && !returns && 0.5 * least < *margin) {
                *margin = 0.5 * least;
            }
        }
        far = far && now >= 2.0 * *margin && then >= 2.0 * *margin;
    }
    c->braking = c->braking && !far;
    for (i = 0; i < OCORL_STATES; i++) {
        double then = y[i] + AHEAD * c->rate[i];
        near = near || (then - limit_lower[i] < c->margin[i] && c->rate[i] < 0.0);
        near = near || (limit_upper[i] - then < c->margin[i] && c->rate[i] > 0.0);
    }
    if (near && !c->braking) {
        c->braking = 1;
        c->since = t;
    }
    return c->braking;
}
";

const NO_BRAKE: &str = "
/* The plan was made on a model. */
static int is_near(ocorl_controller *c, double t, const double *y)
{
    (void)c;
    (void)t;
    (void)y;
    return 0;
}
";

const BACKUP: &str = "
/* The backup controller; whether there is one. */
static int back_up(const double *y, double *u)
{
    int i, j;
    for (j = 0; j < OCORL_CONTROLS; j++) {
        const double *gain = backup_gains + j * OCORL_STATES;
        double now = 0.0, own = 0.0;
        for (i = 0; i < OCORL_STATES; i++) {
            now += gain[i] * y[i];
            own += gain[i] * backup_state[i];
        }
        u[j] = backup_control[j] + now - own;
    }
    return 1;
}
";

const NO_BACKUP: &str = "
/* The plan has no backup controller. */
static int back_up(const double *y, double *u)
{
    (void)y;
    (void)u;
    return 0;
}
";

const STEP: &str = "
void ocorl_control(double t, const double *x, double *u)
{
    double xbar[OCORL_STATES], y[OCORL_STATES];
    int known = is_state(x), acts = 0;
    if (known) {
        locate(t, x, xbar, y);
        acts = is_valid(t) && !is_outside(x) && !is_outside(y) && !is_beyond(t, xbar, y);
        if (acts) {
            follow(t, xbar, y, u);
        } else {
            acts = back_up(y, u);
        }
    }
    limit(acts, u);
}

void ocorl_init(ocorl_controller *c)
{
    int j;
    c->timed = 0;
    c->latest = 0.0;
    c->jumped = 0;
    c->before_jump = 0.0;
    c->since_jump = 0.0;
    c->dropouts = 0;
    c->stamped = 0;
    c->stamp = 0.0;
    for (j = 0; j < OCORL_CONTROLS; j++) {
        c->u[j] = safe[j];
    }
    c->crossed = 0;
    c->seen = 0;
    c->seen_t = 0.0;
    c->braking = 0;
    c->since = 0.0;
    for (j = 0; j < OCORL_STATES; j++) {
        c->seen_x[j] = 0.0;
        c->rate[j] = 0.0;
        c->margin[j] = 0.0;
    }
}

int ocorl_step(ocorl_controller *c, double t, const double *x, double *u)
{
    double xbar[OCORL_STATES], y[OCORL_STATES];
    int j, known = is_state(x), acts, followed = accept(c, t) && is_valid(t);
    if (known) {
        locate(t, x, xbar, y);
        if (!c->crossed && (is_outside(x) || is_outside(y))) {
            c->crossed = OCORL_LIMIT;
        }
    }
    followed = followed && !c->crossed;
    if (followed && known) {
        if (is_beyond(t, xbar, y)) {
            c->crossed = OCORL_TUBE;
        }
        followed = !is_near(c, t, y) && !c->crossed;
    } else if (followed && c->dropouts > 0) {
        c->dropouts--;
        feed_forward(t, u);
    } else {
        followed = 0;
    }
    acts = followed;
    if (followed && known) {
        c->dropouts = OCORL_MAX_DROPOUTS;
        follow(t, xbar, y, u);
    } else if (!followed && known) {
        acts = back_up(y, u);
    }
    limit(acts, u);
    for (j = 0; j < OCORL_CONTROLS; j++) {
        u[j] = slow(c, t, u[j], j);
        c->u[j] = u[j];
    }
    if (is_finite(t)) {
        c->stamped = 1;
        c->stamp = t;
    }
    return followed;
}
";

/// Appends a constant array of doubles.
fn table<'a>(text: &mut String, name: &str, numbers: impl IntoIterator<Item = &'a f64>) {
    let numbers: Vec<String> = numbers.into_iter().map(|v| double(*v)).collect();
    let lines: Vec<String> = numbers.chunks(6).map(|line| line.join(", ")).collect();
    let _ = writeln!(text, "static const double {name} = {{\n    {}\n}};", lines.join(",\n    "));
}

/// A double literal that reads back as the same value; an infinite limit becomes the largest finite double.
fn double(v: f64) -> String {
    if v.is_infinite() {
        return if v > 0.0 { "DBL_MAX".into() } else { "-DBL_MAX".into() };
    }
    format!("{v:?}")
}

/// Index constants for the quantities; duplicate names get a number.
fn names(what: &str, prefix: &str, quantities: &[Named]) -> String {
    let mut used: Vec<String> = Vec::new();
    let mut text = format!("/* {what} */\nenum {{\n");
    for (i, q) in quantities.iter().enumerate() {
        let mut name = format!("{prefix}_{}", identifier(&q.name));
        while used.contains(&name) {
            let _ = write!(name, "_{i}");
        }
        let comma = if i + 1 < quantities.len() { "," } else { "" };
        let unit = if q.unit.is_empty() { String::new() } else { format!(" ({})", comment(&q.unit)) };
        let _ = writeln!(text, "    {name} = {i}{comma} /* {}{unit} */", comment(&q.name));
        used.push(name);
    }
    text + "};\n\n"
}

/// Maximum length of a name; longer names are truncated.
const LONGEST: usize = 40;

/// Reduces a name to characters that are allowed in an identifier after a prefix.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}

/// Reduces a name to characters that are safe in a comment: letters and digits of any language, and a few harmless signs.
fn comment(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || " _-.,^/".contains(c) { c } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}
