//! Draws a figure that another program described: JSON on standard input, SVG on standard output.
//!
//! `cargo run --release -p ocorl-view --example draw < figure.json > figure.svg`
#![expect(clippy::print_stdout, reason = "the picture goes there")]

use ocorl_view::{Figure, svg};

fn main() -> Result<(), serde_json::Error> {
    let figure: Figure = serde_json::from_reader(std::io::stdin().lock())?;
    print!("{}", svg(&figure));
    Ok(())
}
