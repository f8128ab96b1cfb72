//! Reads a system file and builds the system it describes.

use super::reader::{Entry, Section, Source, shortened};
use super::{System, constraints, cost, hardware, learning};
use crate::config::{Config, offset};
use crate::user_error::{Hint, UserError, nearest};
use ocorl::learn::{Caution, LearnError, Learner, Settings};
use ocorl::linalg::Points;
use ocorl::model::Parametric;
use ocorl::random::Stream;
use ocorl::system::{Bounds, Build, KnownSystem, Parameter, Quantity, SystemError, Task};
use ocorl_expression::{Equations, Expression, Formulas, Scope, Symbol, is_name};
use std::sync::Arc;

const SYSTEM: [&str; 10] =
    ["name", "summary", "states", "inputs", "x0", "horizon", "angles", "limits", "units", "stop_if"];
const HARDWARE: [&str; 4] = ["period", "safe_input", "max_rate", "backup"];
const SECTIONS: [&str; 10] = [
    "system",
    "equations",
    "parameters",
    "definitions",
    "cost",
    "constraints",
    "learning",
    "hardware",
    "prior",
    "excitation",
];
/// Keys that belong to one section, for hints.
pub(super) const BELONG: [(&str, &[&str]); 3] =
    [("system", &SYSTEM), ("cost", &cost::KEYS), ("hardware", &HARDWARE)];

/// Maximum number of states or inputs; time and memory grow with their square.
const MOST: usize = 64;

/// Names of states, inputs and parameters in a file.
pub(super) struct Names {
    pub(super) states: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) parameters: Vec<(String, f64)>,
    values: Vec<f64>,
    definitions: Vec<(String, String)>,
}

impl Names {
    pub(super) fn states(&self) -> Vec<&str> {
        self.states.iter().map(String::as_str).collect()
    }

    pub(super) fn inputs(&self) -> Vec<&str> {
        self.inputs.iter().map(String::as_str).collect()
    }

    /// Values of the parameters.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    fn scope(&self) -> Scope {
        Scope::new().parameters(self.parameters.iter().map(|(name, _)| name))
    }

    fn whole_scope(&self) -> Scope {
        let definitions = self.definitions.iter().map(|(name, _)| name);
        self.scope().inputs(&self.states).inputs(&self.inputs).definitions(definitions)
    }

    /// Scope of the running cost.
    pub(super) fn cost_formulas(&self, section: &Section<'_>) -> Result<Formulas, UserError> {
        let mut formulas = Formulas::new(self.whole_scope().time());
        for (name, text) in &self.definitions {
            formulas.define(name, text).map_err(|error| section.error(error.to_string()))?;
        }
        Ok(formulas)
    }

    /// Scope of the terminal cost.
    pub(super) fn terminal_formulas(&self) -> Formulas {
        Formulas::new(self.of_states().time().forbid(&self.inputs, "at the end there is no input"))
    }

    /// Scope with the states alone.
    pub(super) fn of_states(&self) -> Scope {
        let why = "definitions are for the equations and the running cost";
        self.scope().inputs(&self.states).forbid(self.definitions.iter().map(|(name, _)| name), why)
    }
}

/// Reads a complete system file.
pub(super) fn read(text: &str, file: &str) -> Result<System, UserError> {
    let source = Source { file, text };
    let document = source.parse()?;
    let top = Section::any(source, "", 0, document.get_ref()).only(&SECTIONS, &BELONG)?;
    let part = |name: &str| top.get(name).map(Entry::section).transpose();
    let Some(system) = part("system")? else {
        return Err(source
            .error(0, "system", "there is no section [system]")
            .hint(Hint::NewSystemFile { expected: false }));
    };
    let system = system.only(&SYSTEM, &BELONG[1..])?;
    let (names, control_bounds) =
        names(&system, part("parameters")?.as_ref(), part("definitions")?.as_ref())?;
    let equations = part("equations")?;
    let formulas = formulas(&names, part("definitions")?.as_ref())?;
    let hardware_section = part("hardware")?.map(|s| s.only(&HARDWARE, &BELONG[..2])).transpose()?;
    if equations.is_none() || hardware_section.is_some() {
        hardware::finite_limits(&system, &names, &control_bounds, equations.is_none())?;
    }
    let Some(cost_section) = part("cost")? else {
        let hint = format!("as in: [cost] with state = {{ {} = 1.0 }}", names.states[0]);
        return Err(source.error(0, "cost", "there is no section [cost]").hint(hint));
    };
    let cost = cost::read(&cost_section.only(&cost::KEYS, &BELONG[..1])?, &names)?;
    let constraints_section =
        part("constraints")?.map(|s| s.only(&constraints::KEYS, &BELONG)).transpose()?;
    let constraints = constraints_section.map(|s| constraints::read(&s, &names)).transpose()?.flatten();
    let learning_section = part("learning")?;
    let safe_control = hardware::safe_input(hardware_section.as_ref(), &names, &control_bounds)?;
    let horizon = positive(system.need("horizon", "horizon = 10.0")?)?;
    let mut task = Task {
        states: quantities(&system, &names.states, &names)?,
        controls: quantities(&system, &names.inputs, &names)?,
        initial_state: initial_state(&system, &names)?,
        horizon,
        cost,
        angles: angles(&system, &names)?,
        state_bounds: state_bounds(&system, &names)?,
        control_bounds,
        safe_control,
        rate_limit: None,
        backup: None,
        constraints,
        noise_std: learning::noise(learning_section.as_ref(), &names)?,
    };
    task.validate().map_err(|error| {
        let at = system.get("x0").map_or(0, |entry| entry.at);
        source.error(at, "system.x0", error.to_string())
    })?;
    task.backup = hardware::backup(hardware_section.as_ref(), &names, &task)?;
    let first_control = learning::first_control(part("excitation")?.as_ref(), &names, &task)?;
    let mut defaults = Settings::new(&task);
    if equations.is_none() || hardware_section.is_some() {
        // A real plant, or a stand-in for one.
        defaults.caution = Caution::On;
    }
    let period = hardware::period(hardware_section.as_ref(), task.horizon)?;
    if let Some(period) = period {
        defaults = defaults.held(&task, period);
    }
    let prior_section = part("prior")?;
    let outputs = learning::outputs(learning_section.as_ref(), &names, prior_section.as_ref())?;
    let config = learning::config(source, learning_section.as_ref(), outputs, Config::of(file, defaults)?)?;
    let hardware = hardware::settings(hardware_section.as_ref(), &names, period, &config.settings)?;
    task.rate_limit = hardware.rate_limit();
    let prior = prior_section.map(|section| build(&section, &names, &formulas, false)).transpose()?;
    let unknown = learning::estimated(learning_section.as_ref(), &names, prior.is_some())?;
    let truth = equations.as_ref().map(|section| build(section, &names, &formulas, true)).transpose()?;
    let name = name(&system, file)?;
    let parameter = |(name, value): &(String, f64)| Parameter {
        name: name.clone().into(),
        unit: "".into(),
        value: *value,
    };
    let summary = system.get("summary").map(Entry::text).transpose()?;
    let truth = truth.map(|build| {
        let mut known = KnownSystem::new(name.clone(), task.clone(), build);
        known.summary = summary.map_or_else(|| format!("described in {file}"), str::to_owned).into();
        known.parameters = names.parameters.iter().map(parameter).collect();
        known.first_control = first_control.clone();
        known.prior.clone_from(&prior);
        known.unknown.clone_from(&unknown);
        known
    });
    let prior = prior.map(|build| Parametric::new(build, names.values.clone(), unknown));
    let system = System {
        name,
        hardware,
        first_control,
        settings: config.settings.clone(),
        truth,
        prior,
        parameters: names.parameters.iter().map(|(name, _)| name.clone()).collect(),
        file: Some(text.into()),
        config,
        task,
    };
    check(source, &system, equations.as_ref(), cost_place(&top))?;
    Ok(system)
}

fn cost_place(top: &Section<'_>) -> usize {
    top.get("cost").map_or(0, |entry| entry.at)
}

/// Validates conditions that involve several sections.
fn check(
    source: Source<'_>,
    system: &System,
    equations: Option<&Section<'_>>,
    cost_at: usize,
) -> Result<(), UserError> {
    if let (Some(truth), Some(section)) = (&system.truth, equations) {
        truth.validate().map_err(|error| match error {
            SystemError::NotFiniteAtStart { .. } => section
                .error("the equations are not finite at x0")
                .detail("cause", error.to_string())
                .hint("look for logarithms, roots and quotients that leave their domain there"),
            error => section.error(error.to_string()),
        })?;
    }
    let task = &system.task;
    let point = [task.initial_state.as_slice(), &task.safe_control].concat();
    let mut running = [0.0];
    task.cost.running(&[0.0], Points::single(&point), &mut running);
    let terminal = task.cost.terminal(task.horizon, &task.initial_state);
    if !(running[0].is_finite() && terminal.is_finite()) {
        let what = "the cost is not finite at x0 with the safe input";
        return Err(source
            .error(cost_at, "cost", what)
            .detail("cause", format!("running {}, terminal {terminal}", running[0])));
    }
    let (task, first) = (task.clone(), system.first_control.clone());
    let learner =
        Learner::with_prior(task, first, system.settings.clone(), Stream::root(0), system.prior_mean());
    learner.map(|_| ()).map_err(|error| {
        let path = match &error {
            LearnError::Settings(error) => format!("learning.{}", error.path),
            _ => "learning".into(),
        };
        let at = offset(source.text, &path).or_else(|| offset(source.text, "learning")).unwrap_or(0);
        source.error(at, &path, error.to_string())
    })
}

fn name(system: &Section<'_>, file: &str) -> Result<String, UserError> {
    let good = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let Some(entry) = system.get("name") else {
        let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let stem: String = stem.chars().map(|c| if good(c) { c } else { '-' }).take(64).collect();
        let stem = stem.trim_start_matches(['.', '-']);
        return Ok(if stem.is_empty() { "system".into() } else { stem.into() });
    };
    let text = entry.text()?;
    if text.chars().all(good) && text.starts_with(char::is_alphanumeric) && text.len() <= 64 {
        return Ok(text.into());
    }
    Err(entry
        .error(format!("'{}' cannot be the name of a system", shortened(text)))
        .hint("letters, digits, '-', '_' and '.', at most 64; it names the folder of results"))
}

fn names(
    system: &Section<'_>,
    parameters: Option<&Section<'_>>,
    definitions: Option<&Section<'_>>,
) -> Result<(Names, Bounds), UserError> {
    let mut taken: Vec<(String, &'static str)> = Vec::new();
    let mut claim = |name: &str, what: &'static str, error: &dyn Fn(String) -> UserError| {
        if !is_name(name) {
            let what = format!("nothing can be called '{}'", shortened(name));
            return Err(error(what).hint(
                "names are letters, digits and '_', a letter first; function names, pi, t, and, or are reserved",
            ));
        }
        if let Some((_, other)) = taken.iter().find(|(known, _)| known == name) {
            let also =
                if *other == what { "is there twice".into() } else { format!("is {what}, but also {other}") };
            return Err(error(format!("'{name}' {also}")));
        }
        taken.push((name.to_owned(), what));
        Ok(name.to_owned())
    };
    let states_entry = system.need("states", "states = [\"level\", \"flow\"]")?;
    let mut states = Vec::new();
    for (name, at) in states_entry.texts()? {
        states.push(claim(name, "a state", &|what| states_entry.error_at(at, what))?);
    }
    let inputs_entry = system.need("inputs", "inputs = { valve = [0.0, 1.0] }")?;
    let (mut inputs, mut bounds) = (Vec::new(), Bounds::none(0));
    for entry in inputs_entry.section()?.entries() {
        inputs.push(claim(entry.name, "an input", &|what| entry.error(what))?);
        let [low, high] = entry.limits()?;
        bounds.lower.push(low);
        bounds.upper.push(high);
    }
    for (entry, what, count) in
        [(states_entry, "states", states.len()), (inputs_entry, "inputs", inputs.len())]
    {
        if !(1..=MOST).contains(&count) {
            return Err(entry.error(format!("there are {count} {what}; there must be 1 to {MOST}")));
        }
    }
    let mut found = Vec::new();
    for entry in parameters.iter().flat_map(|section| section.entries()) {
        found.push((claim(entry.name, "a parameter", &|what| entry.error(what))?, entry.finite()?));
    }
    let mut defined = Vec::new();
    for entry in definitions.iter().flat_map(|section| section.entries()) {
        let name = claim(entry.name, "a definition", &|what| entry.error(what))?;
        defined.push((name, entry.text()?.to_owned()));
    }
    let values = found.iter().map(|(_, value)| *value).collect();
    Ok((Names { states, inputs, parameters: found, values, definitions: defined }, bounds))
}

/// Scope of the equations, including definitions.
fn formulas(names: &Names, definitions: Option<&Section<'_>>) -> Result<Formulas, UserError> {
    let why = "the equations do not depend on time";
    let mut formulas = Formulas::new(names.whole_scope().forbid(["t"], why));
    for entry in definitions.iter().flat_map(|section| section.entries()) {
        entry.parsed(&formulas.clone(), |_, text| formulas.define(entry.name, text))?;
    }
    if let (Some(name), Some(section)) = (formulas.circular(), definitions) {
        let what = format!("the definition of '{name}' is recursive");
        return Err(section.get(name).map_or_else(|| section.error(what.clone()), |e| e.error(what.clone())));
    }
    Ok(formulas)
}

/// Compiles the equations to dynamics; unless `all` is true, states without an equation have derivative zero.
fn build(section: &Section<'_>, names: &Names, formulas: &Formulas, all: bool) -> Result<Build, UserError> {
    let section = section.clone().only(&names.states(), &BELONG)?;
    let mut outputs: Vec<Expression> = Vec::new();
    for state in &names.states {
        outputs.push(match section.get(state) {
            Some(entry) => entry.parsed(formulas, Formulas::parse)?,
            None if all => {
                let what = format!("there is no equation for '{state}'");
                return Err(section
                    .error(what)
                    .hint(format!("as in: {state} = \"...\", which is d{state}/dt")));
            }
            None => formulas.parse("0").map_err(|error| section.error(error.to_string()))?,
        });
    }
    let compiled = formulas.tape(&outputs, &names.values);
    compiled.map_err(|error| section.error(format!("the equations cannot be computed: {error}")))?;
    let (formulas, states) = (formulas.clone(), names.states.len());
    Ok(Arc::new(move |values| match formulas.tape(&outputs, values) {
        Ok(tape) => Box::new(Equations::new(tape, states)),
        Err(error) => unreachable!("the same expressions were put on a tape before: {error}"),
    }))
}

fn quantities(system: &Section<'_>, of: &[String], names: &Names) -> Result<Vec<Quantity>, UserError> {
    let all: Vec<&str> = names.states().into_iter().chain(names.inputs()).collect();
    let units = system.get("units").map(Entry::section).transpose()?;
    let units = units.map(|units| units.only(&all, &[])).transpose()?;
    let unit = |name: &str| units.as_ref().and_then(|units| units.get(name)).map_or(Ok(""), Entry::text);
    of.iter().map(|name| Ok(Quantity { name: name.clone(), unit: unit(name)?.into() })).collect()
}

fn initial_state(system: &Section<'_>, names: &Names) -> Result<Vec<f64>, UserError> {
    let entry = system.need("x0", "x0 = [0.2, 0.0]")?;
    if !entry.is_list() {
        return Ok(entry.by_name(&names.states())?.into_iter().map(|x| x.unwrap_or(0.0)).collect());
    }
    let x0 = entry.numbers()?;
    if x0.len() == names.states.len() {
        return Ok(x0);
    }
    let (found, needed) = (x0.len(), names.states.len());
    Err(entry
        .error(format!("x0 has {found} numbers; there are {needed} states"))
        .hint(format!("one number for each of: {}", names.states.join(", "))))
}

fn angles(system: &Section<'_>, names: &Names) -> Result<Vec<usize>, UserError> {
    let Some(entry) = system.get("angles") else { return Ok(Vec::new()) };
    let mut angles = Vec::new();
    for (name, at) in entry.texts()? {
        let Some(i) = names.states.iter().position(|state| state == name) else {
            let error = entry.error_at(at, format!("no state is called '{}'", shortened(name)));
            return Err(match nearest(name, names.states().into_iter()) {
                Some(meant) => error.hint(format!("did you mean '{meant}'?")),
                None => error.hint(format!("there are: {}", names.states.join(", "))),
            });
        };
        if !angles.contains(&i) {
            angles.push(i);
        }
    }
    Ok(angles)
}

/// State bounds at which an episode ends: `limits`, and the comparisons of `stop_if`.
fn state_bounds(system: &Section<'_>, names: &Names) -> Result<Bounds, UserError> {
    let mut bounds = Bounds::none(names.states.len());
    if let Some(entry) = system.get("limits") {
        let section = entry.section()?.only(&names.states(), &[])?;
        for (i, state) in names.states.iter().enumerate() {
            if let Some(entry) = section.get(state) {
                [bounds.lower[i], bounds.upper[i]] = entry.limits()?;
            }
        }
    }
    let Some(entry) = system.get("stop_if") else { return Ok(bounds) };
    let why = "an episode is stopped by its states alone";
    let formulas = Formulas::new(names.of_states().forbid(&names.inputs, why).forbid(["t"], why));
    let condition = entry.parsed(&formulas, Formulas::parse_condition)?;
    for comparison in &condition.comparisons {
        let state = |e: &Expression| if let Some(Symbol::Input(i)) = e.symbol() { Some(i) } else { None };
        let value = |e: &Expression| formulas.constant(e, &names.values);
        let (left, right) = (&comparison.left, &comparison.right);
        let (i, limit, below) = match (state(left), value(right), state(right), value(left)) {
            (Some(i), Some(limit), ..) => (i, limit, comparison.less),
            (_, _, Some(i), Some(limit)) => (i, limit, !comparison.less),
            _ => {
                return Err(entry
                    .error_in(comparison.span.start, "this comparison cannot stop an episode")
                    .hint("allowed: a state compared with a number, as in \"level > 3 or level < 0\""));
            }
        };
        // "x < limit" aborts below the limit, so the limit is the lower bound.
        if below {
            bounds.lower[i] = bounds.lower[i].max(limit);
        } else {
            bounds.upper[i] = bounds.upper[i].min(limit);
        }
    }
    Ok(bounds)
}

pub(super) fn positive(entry: &Entry<'_>) -> Result<f64, UserError> {
    let value = entry.finite()?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(entry.error(format!("'{}' is {value}; it must be positive", entry.name)))
    }
}
