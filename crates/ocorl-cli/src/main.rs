//! The `ocorl` program; see the library `ocorl_cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ocorl_cli::run(std::env::args_os()))
}
