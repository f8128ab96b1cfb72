//! Reads the section [constraints] of a system file: comparisons that every plan satisfies.

use super::file::Names;
use super::reader::{Section, shortened};
use crate::user_error::UserError;
use ocorl::system::{Constraint, Constraints, Extent};
use ocorl_expression::{Cause, Comparison, Expression, ExpressionConstraints, Formulas};
use std::sync::Arc;

/// Keys of the section [constraints].
pub(super) const KEYS: [&str; 2] = ["path", "end"];

/// Reads the section: `path` has comparisons that hold at every time, `end` those that hold at the horizon.
pub(super) fn read(section: &Section<'_>, names: &Names) -> Result<Option<Arc<dyn Constraints>>, UserError> {
    let (path, end) = (names.cost_formulas(section)?, names.terminal_formulas());
    let states = names.states().len();
    let (mut list, mut less, mut sides) = (Vec::new(), Vec::new(), Vec::<Expression>::new());
    for (key, formulas) in [("path", &path), ("end", &end)] {
        let Some(entry) = section.get(key) else { continue };
        for (text, at) in entry.texts()? {
            let wrong = |what: String, position: usize| {
                entry
                    .error_at(
                        at + 1 + position,
                        format!("the constraint '{}' cannot be read", shortened(text)),
                    )
                    .detail("cause", what)
                    .hint("one comparison by <= or >=, as in \"x^2 + y^2 >= 1\"")
            };
            let condition = formulas.parse_condition(text).map_err(|error| match error.cause {
                Cause::And => {
                    wrong("'and' joins two constraints; write them as two".into(), error.span.start)
                }
                _ => wrong(error.to_string(), error.span.start),
            })?;
            let [comparison] = condition.comparisons.as_slice() else {
                return Err(wrong("'or' is not allowed: every constraint must hold".into(), 0));
            };
            let both = [comparison.left.clone(), comparison.right.clone()];
            let tape = formulas.tape(&both, names.values()).map_err(|error| wrong(error.to_string(), 0))?;
            let controlled = (states..tape.inputs()).any(|i| tape.depends(0, i) || tape.depends(1, i));
            let extent = match key {
                "end" => Extent::End,
                _ if controlled => Extent::WhileControlled,
                _ => Extent::Always,
            };
            let scale = scale(formulas, comparison, names);
            list.push(Constraint { scale, ..Constraint::new(text, extent) });
            less.push(comparison.less);
            sides.extend(both);
        }
    }
    if list.is_empty() {
        return Ok(None);
    }
    let tape = path.tape(&sides, names.values()).map_err(|error| section.error(error.to_string()))?;
    Ok(Some(Arc::new(ExpressionConstraints::new(tape, states, list, &less))))
}

/// Unit of the violation: 1, or the constant side of the comparison if it is smaller, but at least a hundredth. A smaller unit would make
/// the search stiff.
fn scale(formulas: &Formulas, comparison: &Comparison, names: &Names) -> f64 {
    let constant = |side: &Expression| formulas.constant(side, names.values()).map(f64::abs);
    let size = constant(&comparison.right).or_else(|| constant(&comparison.left)).filter(|size| *size > 0.0);
    size.map_or(1.0, |size| size.clamp(1e-2, 1.0))
}
