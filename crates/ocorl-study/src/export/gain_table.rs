//! Exports a plan as JSON without the data that only this program can use.

use crate::control;
use crate::plan_file::PlanFile;
use crate::user_error::UserError;

/// The plan in a form that any language can run: `plan.json` without the learner; restricted to rollout `number` if one is given.
pub fn gain_table(plan: &PlanFile, number: Option<usize>) -> Result<PlanFile, UserError> {
    let mut table = PlanFile { learner: None, ..plan.clone() };
    if let Some(number) = number {
        table.rollouts = vec![control::rollout(plan, number)?.clone()];
    }
    Ok(table)
}
