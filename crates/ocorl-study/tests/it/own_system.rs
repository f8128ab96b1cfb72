//! Systems of one's own: files that are understood, files that are not, and files that are nonsense.

#![expect(clippy::print_stdout, reason = "counts of what was tried")]

use ocorl::baseline::{self, BaselineSettings};
use ocorl::learn::{Caution, Trial};
use ocorl::linalg::{Linearization, Points, Quadratization};
use ocorl::model::Mean;
use ocorl::random::{Rng, Stream};
use ocorl::system::Benchmark;
use ocorl_study::known::Known;
use ocorl_study::system::{System, template};
use ocorl_study::user_error::UserError;

/// A file that uses everything.
const TANK: &str = r#"[system]
name    = "tank"
summary = "fill a tank"
states  = ["level", "flow"]
inputs  = { valve = [0.0, 1.0] }
x0      = [0.2, 0.0]
horizon = 60.0
angles  = []
limits  = { flow = [-5, 5] }
units   = { level = "m", flow = "m/s" }
stop_if = "level > 3 or level < -1"

[parameters]
tau = 4.0
loss = "0.1"

[definitions]
outflow = "loss*sqrt(max(level, 0))"

[equations]
level = "flow - outflow"
flow  = "(valve - flow) / tau"

[prior]
flow = "(valve - flow) / 5"

[cost]
state  = { level = 1.0, flow = 1.0 }
input  = { valve = 1.0 }
target = { level = 1.0 }
terminal = { level = 2.0 }

[excitation]
valve = "0.5 + 0.4*sin(t)"

[learning]
episodes     = 20
measurements = 10
strategy     = "max-kernel-distance"
optimism     = true
noise        = { level = 0.01, flow = 0.02 }
plan         = { intervals = 100 }
track.period = 0.5

[hardware]
period     = 0.02
safe_input = { valve = 0.0 }
max_rate   = { valve = 2.0 }
"#;

/// The pendulum of the paper, in fifteen lines.
const PENDULUM: &str = r#"[system]
states  = ["theta", "omega"]
inputs  = { torque = [-inf, inf] }
x0      = ["pi", 0]
horizon = 10
angles  = ["theta"]
[equations]
theta = "omega"
omega = "9.81/5*sin(theta) + torque"
[cost]
state    = { theta = 1, omega = 1 }
input    = { torque = 1 }
terminal = { theta = 1, omega = 1 }
[learning]
episodes = 5
"#;

const EXPRESSION_COST: &str = r#"[system]
states  = ["x"]
inputs  = { u = [-1, 1] }
x0      = { x = 1 }
horizon = 2
[equations]
x = "-x^3 + u"
[cost]
running  = "1 - cos(x) + 0.1*u^2 + 0.01*t"
terminal = "x^4"
"#;

fn read(text: &str) -> Result<System, UserError> {
    System::parse(text, "own.toml")
}

#[test]
fn a_file_says_everything_about_a_system() {
    let tank = read(TANK).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((tank.name.as_str(), tank.file.as_deref()), ("tank", Some(TANK)));
    let (task, s) = (&tank.task, &tank.settings);
    assert_eq!((&task.state_bounds.lower, &task.state_bounds.upper), (&vec![-1.0, -5.0], &vec![3.0, 5.0]));
    assert_eq!(task.noise_std, [0.01, 0.02]);
    assert_eq!((s.strategy.name(), s.explore.name()), ("max-kernel-distance", "optimistic"));
    assert_eq!((s.plan.intervals, s.track.period, s.track.horizon), (100, 0.5, 30.0));
    assert_eq!((tank.hardware.period, tank.hardware.max_rate.clone()), (0.02, Some(vec![2.0])));
    assert_eq!(tank.config("default").unwrap().settings, tank.settings);
    let truth = tank.truth.clone().unwrap();
    let mut out = [0.0; 2];
    truth.dynamics().derivative(Points::single(&[4.0, 0.5, 0.9]), &mut out);
    assert!((out[0] - 0.3).abs() < 1e-15 && (out[1] - 0.1).abs() < 1e-15);
    truth.prior_dynamics().unwrap().derivative(Points::single(&[4.0, 0.5, 0.9]), &mut out);
    assert!(out[0] == 0.0 && (out[1] - 0.08).abs() < 1e-15);
    let mut u = [0.0];
    (tank.first_control)(2.0, &[0.0, 0.0], &mut u);
    assert!((u[0] - (0.5 + 0.4 * 2.0_f64.sin())).abs() < 1e-12);
}

#[test]
fn the_templates_are_understood_and_have_no_warnings() {
    for hardware in [false, true] {
        let system = read(&template("mytank", "Look it over.", hardware)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((system.name.as_str(), system.truth.is_none()), ("mytank", hardware));
        assert_eq!(system.warnings(), Vec::<String>::new());
    }
}

#[test]
fn a_cost_may_be_an_expression() {
    let system = read(EXPRESSION_COST).unwrap_or_else(|e| panic!("{e}"));
    let mut out = Quadratization::default();
    system.task.cost.quadratize(&[2.0], Points::single(&[0.5, 0.3]), &mut out);
    assert!((out.value[0] - (1.0 - 0.5_f64.cos() + 0.009 + 0.02)).abs() < 1e-15);
    assert!((out.gradient.at(0)[0] - 0.5_f64.sin()).abs() < 1e-15);
    assert!((out.hessian_at(0)[0] - 0.5_f64.cos()).abs() < 1e-15);
    assert_eq!(system.task.cost.terminal(2.0, &[2.0]), 16.0);
}

#[test]
fn the_pendulum_in_fifteen_lines_is_that_of_the_paper_and_is_learned_within_one_percent() {
    assert!(PENDULUM.lines().count() <= 15);
    let own = read(PENDULUM).unwrap_or_else(|e| panic!("{e}"));
    let (b, paper) = (own.truth.clone().unwrap(), Benchmark::find("pendulum").unwrap());
    assert!(b.published().is_none() && b.paper().is_none() && paper.published().is_some());
    let mut rng = Stream::root(4).rng();
    let points: Vec<f64> = (0..300).map(|_| 3.0 * rng.normal()).collect();
    let (mut ours, mut theirs) = (Linearization::default(), Linearization::default());
    b.dynamics().linearize(Points::new(&points, 3), &mut ours);
    paper.dynamics().linearize(Points::new(&points, 3), &mut theirs);
    for (a, e) in ours.value.as_slice().iter().zip(theirs.value.as_slice()) {
        assert!((a - e).abs() <= 1e-12 * (1.0 + e.abs()), "{a} {e}");
    }
    for (a, e) in ours.jacobian.as_slice().iter().zip(theirs.jacobian.as_slice()) {
        assert!((a - e).abs() <= 1e-12 * (1.0 + e.abs()), "{a} {e}");
    }
    let known = Known::of(&b, &own.settings).unwrap();
    assert_eq!(known.held_as_printed, None);
    assert!((known.continuous - 20.16).abs() < 0.01, "{}", known.continuous);
    let mut trial = Trial::new(&b, own.settings, 0, known.continuous).unwrap();
    let mut last = f64::NAN;
    while let Some(episode) = trial.next_episode(&mut ()) {
        last = episode.record.cost;
    }
    assert!(last < 1.01 * known.continuous, "{last} against {}", known.continuous);
}

#[test]
fn known_physics_are_the_mean_before_any_measurement() {
    let text = PENDULUM.to_owned() + "[prior]\ntheta = \"omega\"\nomega = \"2*sin(theta) + torque\"\n";
    let own = read(&text).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(own.prior_mean(), Mean::Physics(_)));
    let known = Known::of(own.truth.as_ref().unwrap(), &own.settings).unwrap().continuous;
    let after_one = |system: &System| {
        let mut trial =
            Trial::new(system.truth.as_ref().unwrap(), system.settings.clone(), 0, known).unwrap();
        trial.next_episode(&mut ());
        trial.next_episode(&mut ()).unwrap().record.cost
    };
    // With nearly the right physics, one episode of measurements is enough.
    let (with, without) = (after_one(&own), after_one(&read(PENDULUM).unwrap()));
    assert!(with < 1.01 * known, "{with} with, {without} without, {known} possible");
}

#[test]
fn hardware_has_no_equations_but_limits() {
    let text =
        TANK.replace("[equations]\nlevel = \"flow - outflow\"\nflow  = \"(valve - flow) / tau\"\n", "");
    let tank = read(&text).unwrap_or_else(|e| panic!("{e}"));
    assert!(tank.truth.is_none() && tank.prior.is_some());
    assert!(read(&text.replace("[0.0, 1.0]", "[0.0, inf]")).is_err());
    assert!(read(&TANK.replace("[0.0, 1.0]", "[0.0, inf]")).is_err());
    assert!(read(PENDULUM).is_ok());
}

#[test]
fn a_real_plant_is_learned_with_caution_unless_its_file_says_otherwise() {
    let caution = |text: &str| {
        let system = read(text).unwrap();
        let merged = system.config("default").unwrap().settings.caution;
        assert_eq!(system.settings.caution, merged);
        (system.settings.caution, system.simulated().settings.caution)
    };
    let without = |text: &str, from: &str, to: &str| {
        let (a, b) = (text.find(from).unwrap(), text.find(to).unwrap());
        [&text[..a], &text[b..]].concat()
    };
    // Equations and [hardware]: a stand-in for a plant, also if a function replaces the equations.
    assert_eq!(caution(TANK), (Caution::On, Caution::On));
    assert_eq!(caution(PENDULUM), (Caution::Off, Caution::Off));
    let bare = without(PENDULUM, "[equations]", "[cost]").replace("-inf, inf", "-5, 5");
    assert_eq!(caution(&bare), (Caution::On, Caution::Off));
    let chosen = TANK.replace("episodes     = 20", "caution = 'moderate'");
    assert_eq!(caution(&chosen), (Caution::Moderate, Caution::Moderate));
    assert_eq!(System::find("pendulum").unwrap().settings.caution, Caution::Off);
}

#[test]
fn what_is_probably_not_meant_is_said() {
    for (old, new, warning) in [
        ("input  = { valve = 1.0 }", "input  = { valve = -1.0 }", "the more 'valve' is used"),
        ("level = 1.0, flow = 1.0", "level = -1.0, flow = 1.0", "its bend in 'level'"),
        ("\"(valve - flow) / tau\"", "\"(0.1 - flow) / tau\"", "'valve' moves nothing"),
        ("0.5 + 0.4*sin(t)", "0.5", "holds 'valve' at 0.5"),
        ("0.5 + 0.4*sin(t)", "1/0", "not finite at all times"),
        ("loss*sqrt(max(level, 0))", "log(level - 0.19)", "not finite at some points near x0"),
        ("\"flow - outflow\"", "\"1e6*(flow - level)\"", "the equations are stiff"),
        ("\"flow - outflow\"", "\"100*(flow - level)\"", "too long for the fastest motion"),
        ("\"flow - outflow\"", "\"flow - 0.1*sqrt(0.4 - level)\"", "episode 0 ends early"),
        ("\"flow - outflow\"", "\"flow - 3*sign(level)\"", "the equations are discontinuous"),
        ("\"(valve - flow) / tau\"", "\"1e-9*(valve - flow)\"", "the noise 0.02 of the derivative of 'flow'"),
        ("horizon = 60.0", "horizon = 2e7", "the horizon is of the order of 2e7"),
    ] {
        assert!(TANK.contains(old));
        let warnings = read(&TANK.replacen(old, new, 1)).unwrap_or_else(|e| panic!("{new}: {e}")).warnings();
        assert!(warnings.iter().any(|w| w.contains(warning)), "{new}: {warnings:?}");
    }
    assert_eq!(read(TANK).unwrap().warnings(), Vec::<String>::new());
}

/// What is replaced by what, and what is meant if that was a slip of the finger.
const MISTAKES: [(&str, &str, Option<&str>); 87] = [
    // slips
    ("[system]", "[sistem]", Some("system")),
    ("[equations]", "[equation]", Some("equations")),
    ("[parameters]", "[paramters]", Some("parameters")),
    ("[definitions]", "[definition]", Some("definitions")),
    ("[prior]", "[prioor]", Some("prior")),
    ("[cost]", "[costs]", Some("cost")),
    ("[excitation]", "[exitation]", Some("excitation")),
    ("[learning]", "[lerning]", Some("learning")),
    ("[hardware]", "[hardwear]", Some("hardware")),
    ("name    =", "nme     =", Some("name")),
    ("summary =", "sumary  =", Some("summary")),
    ("states  =", "state   =", Some("states")),
    ("inputs  =", "input   =", Some("inputs")),
    ("x0      =", "xo      =", Some("x0")),
    ("horizon =", "horizn  =", Some("horizon")),
    ("angles  =", "angels  =", Some("angles")),
    ("limits  =", "limit   =", Some("limits")),
    ("units   =", "unit    =", Some("units")),
    ("stop_if =", "stopif  =", Some("stop_if")),
    ("{ flow = [-5, 5] }", "{ flwo = [-5, 5] }", Some("flow")),
    ("flow = \"m/s\"", "folw = \"m/s\"", Some("flow")),
    ("level > 3", "levle > 3", Some("level")),
    ("angles  = []", "angles  = [\"levl\"]", Some("level")),
    ("loss*sqrt(max(level, 0))", "los*sqrt(max(level, 0))", Some("loss")),
    ("sqrt(max(level, 0))", "sqr(max(level, 0))", Some("sqrt")),
    ("max(level, 0)", "mx(level, 0)", Some("max")),
    ("\"flow - outflow\"", "\"flow - outlfow\"", Some("outflow")),
    ("level = \"flow - outflow\"", "levle = \"flow - outflow\"", Some("level")),
    ("(valve - flow) / tau", "(vavle - flow) / tau", Some("valve")),
    ("(valve - flow) / tau", "(valve - flow) / tua", Some("tau")),
    ("flow = \"(valve - flow) / 5\"", "flw = \"(valve - flow) / 5\"", Some("flow")),
    ("state  = {", "sate   = {", Some("state")),
    ("input  = {", "imput  = {", Some("input")),
    ("target = {", "taget  = {", Some("target")),
    ("terminal = {", "termnial = {", Some("terminal")),
    ("{ level = 1.0, flow = 1.0 }", "{ level = 1.0, flwo = 1.0 }", Some("flow")),
    ("{ valve = 1.0 }", "{ vlave = 1.0 }", Some("valve")),
    ("target = { level = 1.0 }", "target = { lvel = 1.0 }", Some("level")),
    ("valve = \"0.5 + 0.4*sin(t)\"", "vavle = \"0.5 + 0.4*sin(t)\"", Some("valve")),
    ("0.4*sin(t)", "0.4*sni(t)", Some("sin")),
    ("episodes     =", "epsiodes     =", Some("episodes")),
    ("measurements =", "measurments  =", Some("measurements")),
    ("strategy     =", "stratgey     =", Some("strategy")),
    ("optimism     =", "optimsm      =", Some("optimism")),
    ("\"max-kernel-distance\"", "\"max-kernel-distnce\"", Some("max-kernel-distance")),
    ("intervals = 100", "intervls = 100", Some("plan.intervals")),
    ("track.period = 0.5", "track.perod = 0.5", Some("track.period")),
    ("noise        =", "nosie        =", Some("noise")),
    ("{ level = 0.01, flow = 0.02 }", "{ level = 0.01, flwo = 0.02 }", Some("flow")),
    ("period     =", "peroid     =", Some("period")),
    ("safe_input =", "safe_inputs =", Some("safe_input")),
    ("max_rate   =", "maxrate    =", Some("max_rate")),
    ("{ valve = 2.0 }", "{ valv = 2.0 }", Some("valve")),
    // wrong kinds and values
    ("\"tank\"", "\"a tank\"", None),
    ("\"tank\"", "3", None),
    ("\"tank\"", "\"../tank\"", None),
    ("[\"level\", \"flow\"]", "[]", None),
    ("[\"level\", \"flow\"]", "\"level\"", None),
    ("[\"level\", \"flow\"]", "[\"level\", 3]", None),
    ("[\"level\", \"flow\"]", "[\"level\", \"level\"]", None),
    ("[\"level\", \"flow\"]", "[\"level\", \"sin\"]", None),
    ("[\"level\", \"flow\"]", "[\"level\", \"2nd\"]", None),
    ("{ valve = [0.0, 1.0] }", "{ valve = [1.0, 0.0] }", None),
    ("{ valve = [0.0, 1.0] }", "{ valve = [0.0] }", None),
    ("{ valve = [0.0, 1.0] }", "{ valve = 1.0 }", None),
    ("{ valve = [0.0, 1.0] }", "{ level = [0.0, 1.0] }", None),
    ("{ valve = [0.0, 1.0] }", "{ valve = [0.0, inf] }", None),
    ("{ valve = [0.0, 1.0] }", "{}", None),
    ("[0.2, 0.0]", "[0.2]", None),
    ("[0.2, 0.0]", "[0.2, nan]", None),
    ("[0.2, 0.0]", "[0.2, \"pie\"]", Some("pi")),
    ("[0.2, 0.0]", "[9.0, 0.0]", None),
    ("60.0", "0", None),
    ("60.0", "-60.0", None),
    ("60.0", "inf", None),
    ("60.0", "1979-05-27", None),
    ("level > 3", "level + flow > 3", None),
    ("level > 3", "level", None),
    ("level > 3 or", "level > 3 and", None),
    ("tau = 4.0", "tau = \"level\"", None),
    ("\"flow - outflow\"", "\"flow - outflow + t\"", None),
    ("\"flow - outflow\"", "\"flow - (outflow\"", None),
    ("\"loss*sqrt(max(level, 0))\"", "\"outflow\"", None),
    ("episodes     = 20", "episodes     = -1", None),
    ("episodes     = 20", "episodes     = 0", None),
    ("{ level = 0.01, flow = 0.02 }", "-0.1", None),
    ("safe_input = { valve = 0.0 }", "safe_input = { valve = 2.0 }", None),
];

#[test]
fn mistakes_point_to_their_line_and_slips_to_what_was_meant() {
    let (mut slips, mut found) = (0, 0);
    for (old, new, meant) in MISTAKES {
        let at = TANK.find(old).unwrap_or_else(|| panic!("{old}"));
        let line = TANK[..at].matches('\n').count() + 1;
        let Err(mistake) = read(&TANK.replacen(old, new, 1)) else { panic!("{new} was accepted") };
        let place = format!("own.toml, line {line}, column ");
        let said = mistake.details.iter().any(|(label, text)| *label == "file" && text.starts_with(&place));
        // Without [system] there is nothing to point at but the beginning, which is its line here.
        assert!(said, "{new}: {mistake}, not {place}");
        if let Some(meant) = meant {
            slips += 1;
            let hint = mistake.hint.as_ref().map(ToString::to_string).unwrap_or_default();
            let good = hint.contains(&format!("did you mean '{meant}'"));
            found += usize::from(good);
            if !good {
                println!("{new}: {mistake}; hint: {hint}");
            }
        }
    }
    assert!(found * 10 >= slips * 9, "{found} of {slips} slips");
    println!(
        "{} mistakes, all with their line; {found} of {slips} slips with what was meant",
        MISTAKES.len()
    );
}

#[test]
fn what_is_missing_is_asked_for() {
    for (gone, word) in [
        ("states  = [\"level\", \"flow\"]\n", "no 'states'"),
        ("inputs  = { valve = [0.0, 1.0] }\n", "no 'inputs'"),
        ("x0      = [0.2, 0.0]\n", "no 'x0'"),
        ("horizon = 60.0\n", "no 'horizon'"),
        ("level = \"flow - outflow\"\n", "no equation for 'level'"),
    ] {
        let mistake = read(&TANK.replacen(gone, "", 1)).err().unwrap_or_else(|| panic!("{gone}"));
        assert!(mistake.to_string().contains(word), "{mistake}");
        assert!(mistake.to_string().contains("own.toml, line "), "{mistake}");
    }
    let lines: Vec<&str> = TANK.lines().filter(|line| !line.starts_with("terminal")).collect();
    let bare = lines
        .join("\n")
        .replace("state  = { level = 1.0, flow = 1.0 }", "")
        .replace("input  = { valve = 1.0 }", "");
    assert!(read(&bare).err().is_some_and(|m| m.to_string().contains("[cost] is empty")));
}

/// Bytes flipped, taken away, doubled and exchanged; words misspelt; numbers made garbage.
fn mutate(text: &str, rng: &mut Rng) -> String {
    const GARBAGE: [&str; 16] = [
        "nan",
        "inf",
        "-inf",
        "1e999",
        "\"\"",
        "[]",
        "{}",
        "true",
        "-1",
        "0",
        "99999999999999999999",
        "1e-320",
        "\"((((\"",
        "\"é\"",
        "[[1]]",
        "'a\\nb'",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len().max(1));
        match rng.below(7) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => drop(bytes.drain(at..(at + 1 + rng.below(20)).min(bytes.len()))),
            2 => {
                let other = rng.below(bytes.len());
                bytes.swap(at, other);
            }
            3 => {
                let piece = bytes[at..(at + 1 + rng.below(40)).min(bytes.len())].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => bytes.insert(at, b" =[]{}\"'.,#\n0a_-"[rng.below(16)]),
            5 => {
                // A word loses a letter or gets one twice.
                if let Some(i) = (at..bytes.len()).find(|i| bytes[*i].is_ascii_alphabetic()) {
                    if rng.below(2) == 0 {
                        bytes.remove(i);
                    } else {
                        bytes.insert(i, bytes[i]);
                    }
                }
            }
            _ => {
                let number = (at..bytes.len()).find(|i| bytes[*i].is_ascii_digit());
                if let Some(i) = number {
                    let more = bytes[i..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
                    bytes.splice(i..i + more, GARBAGE[rng.below(GARBAGE.len())].bytes());
                }
            }
        }
        if bytes.is_empty() {
            bytes.push(b'a');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads many broken files; returns how many were accepted.
fn fuzz(count: usize) -> usize {
    let seeds = [
        TANK.to_owned(),
        PENDULUM.into(),
        EXPRESSION_COST.into(),
        template("a", "", false),
        template("b", "", true),
    ];
    let mut accepted = 0;
    for i in 0..count {
        let mut rng = Stream::root(99).child("files").index(i).rng();
        let text = if i % 20 == 0 {
            // No file at all.
            (0..rng.below(200))
                .map(|_| char::from(9 + u8::try_from(rng.below(118)).expect("it is small")))
                .collect()
        } else {
            mutate(&seeds[i % seeds.len()], &mut rng)
        };
        match read(&text) {
            Ok(system) => {
                accepted += 1;
                if i % 10 == 0 {
                    system.warnings();
                }
            }
            Err(mistake) => {
                let place = mistake.details.iter().any(|(label, text)| {
                    *label == "file" && text.contains("own.toml, line ") && text.contains(", column ")
                });
                assert!(place && !mistake.message.is_empty(), "file {i}: {mistake}\n{text}");
            }
        }
    }
    accepted
}

#[test]
fn broken_files_are_refused_with_their_place() {
    let accepted = fuzz(10_000);
    println!("{accepted} of 10000 accepted");
    assert!(accepted > 100);
}

#[test]
#[ignore = "slow: 100,000 files"]
fn a_hundred_thousand_broken_files_are_refused_with_their_place() {
    let accepted = fuzz(100_000);
    println!("{accepted} of 100000 accepted");
}

/// The known-model optimum does not depend on the seed, is no worse than what a hold can do, and is what collocation finds
/// (studies/generality/optimum.csv).
#[test]
fn the_optimum_of_an_unconfirmed_system_is_the_least_of_several_searches() {
    for (name, optimum) in [("reaction-wheel", 32.430_481), ("ball-and-beam", 0.776_505_5)] {
        let path = format!("{}/../../studies/generality/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("a file of the repository");
        let system = System::parse(&text, &path).expect("a sound file");
        let benchmark = system.truth.expect("equations");
        for seed in 0..2 {
            let settings = BaselineSettings { seed, ..BaselineSettings::default() };
            let found = baseline::all(&benchmark, &settings).expect("an optimum");
            let best = found.continuous.best().cost();
            assert!((best / optimum - 1.0).abs() < 1e-3, "{name}, seed {seed}: {best} instead of {optimum}");
            assert!(found.held.cost >= best, "{name}: a hold is cheaper than free control");
            // What the paper's authors computed exists for the benchmarks only.
            assert!(found.held_reference.is_none() && found.held.plan.controls.len() == 9, "{name}");
        }
    }
}
