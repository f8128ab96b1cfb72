//! The studies that come with the program: the paper's experiments and ours, one grid each, in `studies/`.

use crate::grid::Grid;
use crate::mistake::Mistake;

macro_rules! studies {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../../studies/", $name, ".toml")))),*]
    };
}

/// Names and texts.
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

/// The grid of a study.
pub fn grid(name: &str) -> Result<Grid, Mistake> {
    let Some((_, text)) = STUDIES.iter().find(|(known, _)| *known == name) else {
        let names = STUDIES.iter().map(|(known, _)| *known);
        return Err(Mistake::new(format!("no study '{name}'")).suggest(name, names, "ocorl figure"));
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
        assert!(grid("tabel1").unwrap_err().hint.is_some_and(|hint| hint.contains("'table1'")));
    }
}
