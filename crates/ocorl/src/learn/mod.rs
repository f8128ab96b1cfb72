//! The loop: propose an episode, observe what it gave.

mod learner;
mod planning;
mod settings;

pub use learner::{LearnError, Learner, Proposal};
pub use settings::*;
