//! The table as C: no allocation, no dependency, the same time for every step.

use crate::control;
use crate::mistake::Mistake;
use crate::plan_file::{LegTable, Named, PlanFile};
use std::fmt::Write;

/// Two files, to be called `ocorl_controller.h` and `ocorl_controller.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What others include.
    pub header: String,
    /// Tables and code.
    pub code: String,
}

/// Leg `number` of `plan` as C99.
///
/// Numbers are written in their shortest form that reads back as the same double. Names of the plan appear in comments and constants, letters
/// and digits only, so they cannot become code.
pub fn c99(plan: &PlanFile, number: usize) -> Result<Source, Mistake> {
    let reference = control::reference(plan, number)?;
    let leg = control::leg(plan, number)?;
    let begin = leg.times[0];
    let end = reference.end().min(begin + plan.valid_for);
    Ok(Source { header: header(plan, number, begin, end), code: code(plan, leg) })
}

fn header(plan: &PlanFile, number: usize, begin: f64, end: f64) -> String {
    let about = format!(
        "system {}, study {}, episode {}, leg {number}",
        comment(&plan.system),
        comment(&plan.study),
        plan.episode
    );
    let mut text = format!("/* Made by ocorl: {about}. */\n");
    text.push_str("#ifndef OCORL_CONTROLLER_H\n#define OCORL_CONTROLLER_H\n\n");
    let _ = write!(
        text,
        "#define OCORL_STATES {}\n#define OCORL_CONTROLS {}\n/* Time between two steps. */\n#define OCORL_PERIOD {}\n\
         /* The plan is followed for OCORL_BEGIN <= t < OCORL_END; the control is the safe one otherwise. */\n\
         #define OCORL_BEGIN ({})\n#define OCORL_END ({})\n\n",
        plan.states.len(),
        plan.controls.len(),
        double(plan.period),
        double(begin),
        double(end),
    );
    text.push_str(&names("Places of the states in x.", "OCORL_X", &plan.states));
    text.push_str(&names("Places of the controls in u.", "OCORL_U", &plan.controls));
    text.push_str(DECLARATIONS);
    text
}

const DECLARATIONS: &str = "\
#ifdef __cplusplus
extern \"C\" {
#endif

/* What a step must know of those before it. */
typedef struct {
    int used;                /* a control has been given */
    int timed;               /* a finite time has been seen */
    double latest;           /* the latest time */
    double moved;            /* when the control was last set */
    double u[OCORL_CONTROLS]; /* that control */
} ocorl_controller;

/* The control at time t in state x: finite and within limits, whatever t and x are. Nothing is remembered,
   so there is no limit on the rate. */
void ocorl_control(double t, const double *x, double *u);

/* Before the first step of a run. */
void ocorl_init(ocorl_controller *c);

/* The same with the limit on the rate, and the safe control if time goes backwards.
   Returns 1 if the plan was followed, 0 if u is (on the way to) the safe control. */
int ocorl_step(ocorl_controller *c, double t, const double *x, double *u);

#ifdef __cplusplus
}
#endif

#endif
";

fn code(plan: &PlanFile, leg: &LegTable) -> String {
    let angles = plan.angle_indices();
    let mut text = String::from("/* Made by ocorl. u = clamp(u_k + K_k (x - xbar(t))) on [t_k, t_k+1). */\n");
    text.push_str("#include \"ocorl_controller.h\"\n#include <float.h>\n");
    if !angles.is_empty() {
        text.push_str("#include <math.h>\n");
    }
    let (n, bounds) = (leg.controls.len(), plan.limits.bounds());
    let _ = write!(text, "\n#define INTERVALS {n}\n\n");
    table(&mut text, "lower[OCORL_CONTROLS]", &bounds.lower);
    table(&mut text, "upper[OCORL_CONTROLS]", &bounds.upper);
    table(&mut text, "safe[OCORL_CONTROLS]", &plan.safe_control);
    if let Some(rates) = &plan.limits.max_rate {
        table(&mut text, "max_rate[OCORL_CONTROLS]", rates);
    }
    if !angles.is_empty() {
        let list: Vec<String> = angles.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "static const int angles[{}] = {{{}}};", angles.len(), list.join(", "));
        let _ = writeln!(text, "#define ANGLES {}", angles.len());
        let _ = writeln!(text, "#define TURN {}", double(std::f64::consts::TAU));
    }
    table(&mut text, "times[INTERVALS + 1]", &leg.times);
    table(&mut text, "states[(INTERVALS + 1) * OCORL_STATES]", leg.states.iter().flatten());
    table(&mut text, "slopes[INTERVALS * 2 * OCORL_STATES]", leg.slopes.iter().flatten().flatten());
    table(&mut text, "controls[INTERVALS * OCORL_CONTROLS]", leg.controls.iter().flatten());
    table(
        &mut text,
        "gains[INTERVALS * OCORL_CONTROLS * OCORL_STATES]",
        leg.gains.iter().flatten().flatten(),
    );
    text.push_str(PLANNED);
    text.push_str(if angles.is_empty() { "" } else { UNWRAP });
    text.push_str(FOLLOW);
    text.push_str(if plan.limits.max_rate.is_some() { RATE } else { NO_RATE });
    text.push_str(STEP);
    text
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

/* The plan with its gains; 0 if it is not to be followed. */
static int follow(double t, const double *x, double *u)
{
    int i, j, k;
    double h, s, a, b;
    double xbar[OCORL_STATES], dx[OCORL_STATES];
    const double *x0, *x1, *f0, *f1;
    if (!(t >= OCORL_BEGIN && t < OCORL_END)) {
        return 0;
    }
    for (i = 0; i < OCORL_STATES; i++) {
        if (!is_finite(x[i])) {
            return 0;
        }
    }
    k = interval(t);
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
        dx[i] = x[i] - xbar[i];
    }
";

const UNWRAP: &str = "    for (i = 0; i < ANGLES; i++) {
        /* Whole turns are no deviation. */
        double near = xbar[angles[i]], angle = x[angles[i]];
        double turns = round((near - angle) / TURN);
        if (is_finite(turns)) {
            angle += turns * TURN;
        }
        dx[angles[i]] = angle - near;
    }
";

const FOLLOW: &str = "    for (j = 0; j < OCORL_CONTROLS; j++) {
        const double *gain = gains + (k * OCORL_CONTROLS + j) * OCORL_STATES;
        double v = controls[k * OCORL_CONTROLS + j];
        for (i = 0; i < OCORL_STATES; i++) {
            v += gain[i] * dx[i];
        }
        u[j] = v;
    }
    return 1;
}

static double clamp(double v, int j)
{
    return v < lower[j] ? lower[j] : v > upper[j] ? upper[j] : v;
}

/* Finite and within limits. */
static void limit(int followed, double *u)
{
    int j;
    for (j = 0; j < OCORL_CONTROLS; j++) {
        u[j] = clamp(followed && is_finite(u[j]) ? u[j] : safe[j], j);
    }
}
";

const RATE: &str = "
/* No further from the last control than the time since allows. */
static double slow(const ocorl_controller *c, double now, double v, int j)
{
    double elapsed = now - c->moved;
    double most = max_rate[j] * (elapsed > 0.0 ? elapsed : 0.0);
    most = most > 0.0 ? most : 0.0;
    v = v < c->u[j] - most ? c->u[j] - most : v;
    return v > c->u[j] + most ? c->u[j] + most : v;
}
";

const NO_RATE: &str = "
/* The rate is not limited. */
static double slow(const ocorl_controller *c, double now, double v, int j)
{
    (void)c;
    (void)now;
    (void)j;
    return v;
}
";

const STEP: &str = "
void ocorl_control(double t, const double *x, double *u)
{
    limit(follow(t, x, u), u);
}

void ocorl_init(ocorl_controller *c)
{
    int j;
    c->used = 0;
    c->timed = 0;
    c->latest = -DBL_MAX;
    c->moved = DBL_MAX;
    for (j = 0; j < OCORL_CONTROLS; j++) {
        c->u[j] = safe[j];
    }
}

int ocorl_step(ocorl_controller *c, double t, const double *x, double *u)
{
    int j, followed = 0;
    double now = c->moved;
    if (is_finite(t)) {
        if (t >= c->latest) {
            c->latest = t;
            followed = follow(t, x, u);
        }
        now = c->timed && c->moved > t ? c->moved : t;
        c->timed = 1;
    }
    limit(followed, u);
    for (j = 0; j < OCORL_CONTROLS; j++) {
        if (c->used) {
            u[j] = clamp(slow(c, now, u[j], j), j);
        }
        c->u[j] = u[j];
    }
    c->used = 1;
    c->moved = now;
    return followed;
}
";

/// A table of numbers.
fn table<'a>(text: &mut String, name: &str, numbers: impl IntoIterator<Item = &'a f64>) {
    let numbers: Vec<String> = numbers.into_iter().map(|v| double(*v)).collect();
    let lines: Vec<String> = numbers.chunks(6).map(|line| line.join(", ")).collect();
    let _ = writeln!(text, "static const double {name} = {{\n    {}\n}};", lines.join(",\n    "));
}

/// Reads back as the same double; no limit is the largest there is.
fn double(v: f64) -> String {
    if v.is_infinite() {
        return if v > 0.0 { "DBL_MAX".into() } else { "-DBL_MAX".into() };
    }
    format!("{v:?}")
}

/// Constants for the places of quantities; equal names get a number.
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

/// Longer names are cut.
const LONGEST: usize = 40;

/// What may stand after a prefix in an identifier.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}

/// What may stand in a comment: letters and digits of any language, and a few signs that mean nothing there.
fn comment(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || " _-.,^/".contains(c) { c } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}
