//! The committed corpora of the fuzzer, run through its targets: what was found once stays corrected.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, missing_docs, clippy::missing_panics_doc, reason = "written for the fuzzer")]
mod targets;

use crate::study::files::mutated;
use ocorl::random::Stream;
use std::fs;
use std::path::Path;

/// The inputs of a target.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut all: Vec<_> = fs::read_dir(corpus).expect(name).map(|entry| entry.expect(name).path()).collect();
    all.sort();
    assert!(!all.is_empty(), "{name}");
    all.into_iter().map(|path| (path.display().to_string(), fs::read(path).expect(name))).collect()
}

/// Runs a target on an input, which must not end in a panic.
fn passes(name: &str, target: targets::Target, bytes: &[u8], what: &str) {
    let outcome = std::panic::catch_unwind(|| target(bytes));
    assert!(outcome.is_ok(), "{name}, {what}:\n{}", String::from_utf8_lossy(bytes));
}

#[test]
fn every_input_of_the_corpora_is_read_as_it_must_be() {
    for (name, target) in targets::TARGETS {
        for (file, bytes) in inputs(name) {
            passes(name, target, &bytes, &file);
        }
    }
}

/// Without the guidance of coverage, but in every test run: see `cargo xtask fuzz`.
#[test]
fn no_file_makes_a_target_fail_after_changes() {
    let count: usize = std::env::var("OCORL_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1_600);
    for (name, target) in targets::TARGETS {
        let inputs = inputs(name);
        for i in 0..count / targets::TARGETS.len() {
            let mut rng = Stream::root(21).child(name).index(i).rng();
            let (file, bytes) = &inputs[rng.below(inputs.len())];
            let text = mutated(&String::from_utf8_lossy(bytes), &mut rng);
            passes(name, target, text.as_bytes(), &format!("change {i} of {file}"));
        }
    }
}
