//! The table as JSON.

use crate::control;
use crate::mistake::Mistake;
use crate::plan_file::PlanFile;

/// The plan as any language can run it: `plan.json` without what only `ocorl` understands; of leg `number` alone, if one is given.
pub fn gain_table(plan: &PlanFile, number: Option<usize>) -> Result<PlanFile, Mistake> {
    let mut table = PlanFile { learner: None, ..plan.clone() };
    if let Some(number) = number {
        table.legs = vec![control::leg(plan, number)?.clone()];
    }
    Ok(table)
}
