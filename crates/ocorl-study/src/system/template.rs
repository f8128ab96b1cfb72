//! Template of a system file: a tank, as a small example.

/// The text of a new file for a system called `name`, with a comment below its title; with `hardware`, a version without equations.
pub fn template(name: &str, comment: &str, hardware: bool) -> String {
    let equations = if hardware { "" } else { EQUATIONS };
    let used = if hardware { HARDWARE } else { "" };
    format!("{}\n{equations}{COST}{used}", HEAD.replace("COMMENT", comment).replace("NAME", name))
}

const HEAD: &str = r#"# A user-defined system. docs/own-system.md documents this file.
# COMMENT

[system]
name    = "NAME"
states  = ["level", "flow"]             # the order of x
inputs  = { valve = [0.0, 1.0] }        # name = [lowest, highest]; no limit: -inf, inf
x0      = [0.2, 0.0]                    # initial state of every episode
horizon = 60.0                          # duration of an episode, in seconds
units   = { level = "m", flow = "m/s" } # for tables and figures
stop_if = "level > 3"                   # an episode ends when this becomes true
"#;

const EQUATIONS: &str = r#"[parameters]
tau = 4.0

[equations]                             # d/dt of each state: + - * / ^, sin, exp, sqrt, min, max, ...
level = "flow - 0.1*sqrt(max(level, 0))"
flow  = "(valve - flow) / tau"

"#;

const COST: &str = r"[cost]                                  # weights of squared deviations from the target
state  = { level = 1.0 }
input  = { valve = 0.1 }
target = { level = 1.0, flow = 0.1, valve = 0.1 }

[learning]
episodes     = 10
measurements = 10                       # per episode
noise        = 0.001                    # standard deviation of a measured derivative
";

const HARDWARE: &str = r"
[hardware]
period     = 0.1                        # seconds between two controls
safe_input = { valve = 0.0 }            # applied when nothing better is known
max_rate   = { valve = 2.0 }            # maximum change per second
";
