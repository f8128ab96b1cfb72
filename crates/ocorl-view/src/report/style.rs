//! The style sheet of a report.

use crate::theme::Theme;
use std::fmt::Write;

/// The style sheet: the file `style.css`, and rules that replace the colours of figures on dark screens.
pub(super) fn style() -> String {
    let mut dark = String::new();
    for (light, dark_color) in pairs() {
        let _ = writeln!(
            dark,
            ".plot [fill=\"{light}\"]{{fill:{dark_color}}}.plot [stroke=\"{light}\"]{{stroke:{dark_color}}}"
        );
    }
    format!("{}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n", include_str!("style.css"))
}

/// Each colour of the light theme with its dark counterpart.
pub(super) fn pairs() -> Vec<(&'static str, &'static str)> {
    let roles = |t: &Theme| [t.background, t.ink, t.quiet, t.muted, t.grid];
    let (light, dark) = (Theme::LIGHT, Theme::DARK);
    let series = light.series.into_iter().zip(dark.series);
    roles(&light).into_iter().zip(roles(&dark)).chain(series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colormap::{LEVELS, color};
    use std::collections::BTreeSet;

    #[test]
    fn every_colour_has_one_role_and_values_keep_theirs() {
        let light: BTreeSet<&str> = pairs().iter().map(|(light, _)| *light).collect();
        assert_eq!(light.len(), pairs().len());
        for level in 0..LEVELS {
            assert!(!light.contains(&*color(level)), "{}", color(level));
        }
    }
}
