//! Dependencies between modules and between crates, checked against the allowed ones in `xtask/shape.toml`.
//!
//! The source is read as text: `crate::name`, `crate::{a, b}` and `super::name` up to the crate's root are recognised. Test code (a
//! trailing `mod tests`, files called `tests.rs`) is not restricted.

use crate::run::root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Dependencies by name.
pub(crate) type Uses = BTreeMap<String, BTreeSet<String>>;

/// Dependencies between the modules of `ocorl`.
pub(crate) fn module_uses() -> Result<Uses, String> {
    let source = root().join("crates/ocorl/src");
    let mut uses = Uses::new();
    for file in sources(&source)? {
        let place = file.strip_prefix(&source).map_err(|error| error.to_string())?;
        let path = module_path(place);
        let Some(module) = path.first().filter(|module| *module != "lib") else { continue };
        let used = used_modules(&code(&read(&file)?), path.len());
        let entry = uses.entry(module.clone()).or_default();
        entry.extend(used.into_iter().filter(|used| used != module));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    // Items re-exported at the root are not modules.
    for used in uses.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    Ok(uses)
}

/// The minimum version of Rust that `Cargo.toml` states.
pub(crate) fn stated_rust_version() -> Result<String, String> {
    let manifest: toml::Table =
        read(&root().join("Cargo.toml"))?.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let stated =
        manifest.get("workspace").and_then(|workspace| workspace.get("package")?.get("rust-version"));
    Ok(stated.and_then(toml::Value::as_str).ok_or("Cargo.toml states no rust-version")?.to_owned())
}

/// Dependencies between the crates of the workspace, without development dependencies.
pub(crate) fn crate_uses() -> Result<Uses, String> {
    let mut manifests = vec![root().join("xtask/Cargo.toml")];
    let folders = std::fs::read_dir(root().join("crates")).map_err(|error| format!("crates/: {error}"))?;
    manifests.extend(
        folders
            .filter_map(|folder| Some(folder.ok()?.path().join("Cargo.toml")))
            .filter(|file| file.is_file()),
    );
    let mut dependencies = Uses::new();
    for file in manifests {
        let manifest: toml::Table = read(&file)?.parse().map_err(|e| format!("{}: {e}", file.display()))?;
        let name =
            manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
        let name = name.ok_or_else(|| format!("{} has no name", file.display()))?;
        let sections = ["dependencies", "build-dependencies"].map(|section| manifest.get(section));
        let names =
            sections.into_iter().flatten().filter_map(toml::Value::as_table).flat_map(toml::Table::keys);
        dependencies.insert(name.into(), names.cloned().collect());
    }
    let ours: BTreeSet<String> = dependencies.keys().cloned().collect();
    for names in dependencies.values_mut() {
        names.retain(|name| ours.contains(name));
    }
    Ok(dependencies)
}

pub(crate) fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Rust files in a folder and below that are not tests, sorted.
pub(crate) fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Module path of a file: `model/kernels/mod.rs` is model, kernels; `model/draw.rs` is model, draw.
fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// The text without comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let plain = |line: &str| line.split("//").next().unwrap_or("").to_owned() + "\n";
    text.lines().map(plain).collect()
}

/// Modules of the crate that code at this depth refers to.
fn used_modules(code: &str, depth: usize) -> BTreeSet<String> {
    let up = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for beginning in ["crate::", &up] {
        for (at, _) in code.match_indices(beginning) {
            // `super::super::x` is one level more than `super::x`; `mycrate::` must not match `crate::`.
            let before = &code[..at];
            if before.ends_with("super::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let after = &code[at + beginning.len()..];
            if after.starts_with("super::") {
                continue;
            }
            match after.strip_prefix('{') {
                Some(group) => found.extend(first_names(group)),
                None => found.extend(name(after)),
            }
        }
    }
    found
}

/// The identifier at the beginning of the text.
fn name(text: &str) -> Option<String> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// First path segments of the members of `a::b, c::{d, e}}…`, up to the closing brace.
fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.extend(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{cargo, output};

    /// The allowed dependencies.
    struct Shape {
        /// The modules of `ocorl`; each may use only those before it.
        modules: Vec<String>,
        /// Paths that `ocorl` must not use.
        foreign: Vec<String>,
        /// For each crate of the workspace, the crates it may use.
        crates: BTreeMap<String, BTreeSet<String>>,
    }

    /// Reads `xtask/shape.toml`.
    fn allowed() -> Result<Shape, String> {
        let table: toml::Table =
            read(&root().join("xtask/shape.toml"))?.parse().map_err(|e| format!("shape.toml: {e}"))?;
        let words = |value: Option<&toml::Value>| -> Vec<String> {
            let items = value.and_then(toml::Value::as_array).into_iter().flatten();
            items.filter_map(|item| item.as_str().map(String::from)).collect()
        };
        let crates =
            table.get("crates").and_then(toml::Value::as_table).ok_or("shape.toml has no [crates]")?;
        Ok(Shape {
            modules: words(table.get("modules")),
            foreign: words(table.get("foreign")),
            crates: crates
                .iter()
                .map(|(name, uses)| (name.clone(), words(Some(uses)).into_iter().collect()))
                .collect(),
        })
    }

    #[test]
    fn modules_use_only_those_above_them() {
        let order = allowed().unwrap().modules;
        let uses = module_uses().unwrap();
        let place = |name: &String| order.iter().position(|module| module == name);
        for (module, used) in &uses {
            let own = place(module)
                .unwrap_or_else(|| panic!("the module '{module}' has no place in xtask/shape.toml"));
            for other in used {
                assert!(
                    place(other) < Some(own),
                    "'{module}' uses '{other}', which is below it in xtask/shape.toml: move the code, or the order"
                );
            }
        }
        let there: BTreeSet<&String> = uses.keys().collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>(), there, "xtask/shape.toml and crates/ocorl/src");
    }

    #[test]
    fn the_documents_list_the_modules_in_this_order() {
        let order = allowed().unwrap().modules;
        let in_table = |file: &str, first: &str| -> Vec<String> {
            let text = read(&root().join(file)).unwrap();
            let rows = text.lines().map(|line| line.trim_start_matches("//! "));
            let rows =
                rows.skip_while(|line| !line.starts_with(first)).take_while(|line| line.starts_with('|'));
            let cells = rows.filter_map(|line| line.split('|').nth(1).map(str::to_owned));
            let names: Vec<String> = cells
                .flat_map(|cell| {
                    let parts: Vec<String> = cell.split('`').skip(1).step_by(2).map(String::from).collect();
                    parts
                })
                .collect();
            names
        };
        assert_eq!(in_table("docs/architecture.md", "| `real`"), order, "docs/architecture.md");
        assert_eq!(
            in_table("crates/ocorl/src/lib.rs", "| [`real`]"),
            order,
            "the head of crates/ocorl/src/lib.rs"
        );
    }

    #[test]
    fn crates_use_only_those_they_may() {
        let (allowed, uses) = (allowed().unwrap().crates, crate_uses().unwrap());
        assert_eq!(
            allowed.keys().collect::<Vec<_>>(),
            uses.keys().collect::<Vec<_>>(),
            "crates of xtask/shape.toml"
        );
        for (name, used) in &uses {
            let more: Vec<&String> = used.difference(&allowed[name]).collect();
            assert!(more.is_empty(), "'{name}' must not use {more:?}: xtask/shape.toml");
        }
    }

    #[test]
    fn the_library_touches_neither_files_nor_clocks() {
        let foreign = allowed().unwrap().foreign;
        assert!(!foreign.is_empty());
        for file in sources(&root().join("crates/ocorl/src")).unwrap() {
            let code = code(&read(&file).unwrap());
            for path in &foreign {
                assert!(!code.contains(path.as_str()), "{} uses {path}", file.display());
            }
        }
    }

    /// The stated minimum is the highest version that a dependency states, and not above the compiler of the tests. `cargo xtask oldest`
    /// compiles with it.
    #[test]
    fn the_stated_rust_version_is_the_oldest_that_the_dependencies_permit() {
        let tested: toml::Table = read(&root().join("rust-toolchain.toml")).unwrap().parse().unwrap();
        let tested = tested["toolchain"]["channel"].as_str().unwrap().to_owned();
        let stated = stated_rust_version().unwrap();
        let said = output(cargo(&["metadata", "--locked", "--offline", "--format-version", "1"])).unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let others = packages.iter().filter(|package| !package["source"].is_null());
        let needed = others.filter_map(|package| package["rust_version"].as_str()).map(version).max();
        assert_eq!(Some(version(&stated)), needed, "rust-version of Cargo.toml, and of the dependencies");
        assert!(version(&stated) <= version(&tested), "rust-version of Cargo.toml is above {tested}");
    }

    fn version(text: &str) -> [u32; 2] {
        let mut parts = text.split('.').map(|part| part.parse().unwrap());
        [parts.next().unwrap(), parts.next().unwrap()]
    }

    #[test]
    fn uses_are_found_in_every_spelling() {
        let text = "use crate::a::B;\nuse crate::{c, d::{e, f}, g::h};\n// crate::comment\nlet x = crate::i::j();\nmycrate::k;\n\
                    super::super::l::m;\nsuper::sibling;\nsuper::super::super::above;\n#[cfg(test)]\nmod tests {\n    use crate::z;\n}\n";
        let found = used_modules(&code(text), 2);
        let wanted = ["a", "c", "d", "g", "i", "l"].map(String::from);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), wanted);
        assert_eq!(module_path(Path::new("model/kernels/mod.rs")), ["model", "kernels"]);
        assert_eq!(module_path(Path::new("event.rs")), ["event"]);
    }
}
