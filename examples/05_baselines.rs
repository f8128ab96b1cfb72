//! Optimal costs with known dynamics, compared with the costs of the paper's learned controllers.
//!
//! `cargo run --release -p ocorl --example 05_baselines`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::baseline::{BaselineSettings, all};
use ocorl::system::Benchmark;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    for name in ["cancer-treatment", "bicycle"] {
        let benchmark = Benchmark::find(name)?;
        let (found, units) = (all(&benchmark, &BaselineSettings::default())?, benchmark.table_units());
        println!("{}", benchmark.title);
        println!(
            "  known model, continuous time        {:>9.4}",
            units.cost(found.continuous.tracked.cost())
        );
        println!("  known model, best zero-order hold   {:>9.4}", units.cost(found.held.cost));
        if let Some(reference) = &found.held_reference {
            println!("  the same as the authors compute it  {:>9.4}", units.cost(reference.cost));
        }
        if let Some(paper) = benchmark.published() {
            println!("  the paper's two                     {:>9.2} and {:.2}", paper.continuous, paper.held);
            let learned = paper.max_determinant;
            println!("  the paper's learned controller      {:>9.2} +- {:.2}", learned.mean, learned.std);
        }
        println!();
    }
    println!(
        "On cancer treatment the optimal zero-order hold costs as much as the learned controller: the printed"
    );
    println!("one minimises a cost that is sampled once per hold. On the bicycle learning wins.");
    Ok(())
}
