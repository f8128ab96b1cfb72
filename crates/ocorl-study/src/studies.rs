//! The studies shipped with the program: experiments of the paper and additional ones, one grid each, from `studies/`.

use crate::grid::Grid;
use crate::user_error::{Catalogue, UserError};

macro_rules! studies {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../studies/", $name, ".toml")))),*]
    };
}

/// Names and TOML texts of the shipped studies.
pub const STUDIES: [(&str, &str); 10] = studies![
    "table1",
    "strategies",
    "optimism",
    "measurements",
    "total-measurements",
    "theory",
    "confidence",
    "exploration",
    "reference",
    "discrete"
];

/// The grid of a shipped study.
pub fn grid(name: &str) -> Result<Grid, UserError> {
    let Some((_, text)) = STUDIES.iter().find(|(known, _)| *known == name) else {
        let names = STUDIES.iter().map(|(known, _)| *known);
        return Err(UserError::new(format!("no study '{name}'")).suggest(name, names, Catalogue::Studies));
    };
    Grid::parse(text, &format!("studies/{name}.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_can_be_run() {
        for (name, _) in STUDIES {
            assert!(!grid(name).unwrap().cells().is_empty(), "{name}");
        }
        assert_eq!(grid("table1").unwrap().cells().len(), 9 * 3 * 10);
        assert_eq!(grid("total-measurements").unwrap().cells().len(), 9 * 5 * 3 * 3);
        assert!(grid("tabel1").unwrap_err().hint.is_some_and(|hint| hint.to_string().contains("'table1'")));
    }
}
