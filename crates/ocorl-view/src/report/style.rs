//! The style sheet of a report.

use crate::theme::Theme;

/// The style sheet: the colours of figures on light and dark screens, and the file `style.css`.
pub(super) fn style() -> String {
    format!(
        ":root {{{}}}\n@media screen and (prefers-color-scheme: dark) {{\n:root {{{}}}\n}}\n{}",
        Theme::LIGHT.variables(),
        Theme::DARK.variables(),
        include_str!("style.css")
    )
}
