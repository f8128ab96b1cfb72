//! The Markdown report of all studies, `docs/results.md`. Every number and every statement in it is computed from the results.

use super::claims::{NEAR, claims};
use super::prose::{bullet, listed, paragraph};
use ocorl::system::{Benchmark, Text};
use ocorl_study::cell::CellResult;
use ocorl_study::progress::{Progress, measurements_until_within};
use ocorl_study::results::{Group, Results};
use ocorl_study::run::numbers::percent;
use ocorl_study::statistics::{mean, median, sample_std};
use ocorl_study::sweep::Studied;
use ocorl_study::table1::{Learned, STRATEGIES, Table1};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The complete report of the given studies. `figures` is the path of the figures relative to the report.
pub(super) fn report(studies: &BTreeMap<String, Studied>, figures: &str) -> String {
    let mut text = String::from("# Results\n\n");
    text += &paragraph(
        "`ocorl results` writes this file from the data in `studies/results`. Each study is a grid in `studies/`; its results are `results.csv` (one \
         row per run) and `episodes.csv` (one row per episode). Costs are integrated exactly on the true system, to the end of the horizon, in the \
         units of the paper's table. For an aborted episode, the last cost rate applies to the remaining time. The *optimum* is the cost of the \
         optimal continuous control with known dynamics. A *gap* is the fraction by which a cost is above it. Regret is counted from episode 1 on, \
         because episode 0 applies the same excitation in all runs.",
    );
    let claims = claims(studies);
    if !claims.is_empty() {
        let _ = write!(text, "\n## The paper's claims\n\n{claims}");
    }
    let image = |name: &str| format!("\n![{name}]({figures}/{name}.svg)\n");
    for section in SECTIONS {
        let Some(studied) = studies.get(section.study) else { continue };
        let _ = write!(text, "\n## {}\n\n{}", section.title, paragraph(section.question));
        text += &match section.study {
            "table1" => table(studied),
            "measurements" => fewer(&studied.results),
            "total-measurements" => totals(&studied.results),
            _ if studied.results.systems().len() == 1 => one_system(&studied.results),
            _ => comparison(&studied.results),
        };
        for name in section.figures {
            text += &image(name);
        }
        text += &origin(section.study, studied);
    }
    text += "\n## One run in detail\n\n";
    text += &paragraph(
        "The pendulum, seed 0, drawn by `ocorl figure`: coverage of the confidence bands (5 seeds), model slices, and the learned vector field.",
    );
    for name in ["calibration", "slices", "field"] {
        text += &image(name);
    }
    text
}

/// A section of the report.
struct Section {
    study: &'static str,
    title: &'static str,
    question: &'static str,
    figures: &'static [&'static str],
}

const SECTIONS: [Section; 10] = [
    Section {
        study: "table1",
        title: "Table 1 of the paper",
        question: "Nine systems, three measurement strategies, the paper's numbers of episodes and measurements. The best of each row is bold. The \
                   *zero-order hold as printed* is computed as in the authors' program; the *optimal zero-order hold* is exact.",
        figures: &["gaps", "regret"],
    },
    Section {
        study: "strategies",
        title: "When to measure",
        question: "All strategies on the pendulum, with ten measurements per episode (`equidistant-growing`: n in episode n).",
        figures: &["strategies", "phase", "uncertainty"],
    },
    Section {
        study: "optimism",
        title: "Does optimism help?",
        question: "The pendulum with the authors' first control, 0.01 sin t, which gives almost no information.",
        figures: &["optimism"],
    },
    Section {
        study: "measurements",
        title: "How few measurements are enough?",
        question: "M measurements per episode, down to two; the number of episodes is the paper's.",
        figures: &["measurements"],
    },
    Section {
        study: "total-measurements",
        title: "How many measurements in all?",
        question: "The total number of measurements in all earlier episodes from which on every episode costs at most 1 % more than the optimum, with \
                   few or many measurements per episode. Median over the seeds; – if that does not happen within the paper's number of episodes. The \
                   minimum of a system is bold.",
        figures: &["total-measurements"],
    },
    Section {
        study: "theory",
        title: "The strategies of the analysis, actually run",
        question: "The paper analyses the receding-horizon and the oracle strategy but has no experiment with them. Here both are run, with m_n \
                   limited to the M of the practical strategies. With the largest slopes along the trajectory as Lipschitz constants, the analysis \
                   requires hundreds of measurements at first and tens at the end (third column of the figure). Where it requires fewer than M, fewer \
                   are taken. `equidistant-growing` takes n measurements in episode n, as in the analysis of equidistant measurements.",
        figures: &["theory"],
    },
    Section {
        study: "confidence",
        title: "How confident should the optimist be?",
        question: "β = 1 is the value of the paper's experiments, β from the information gain that of the theory. `calibrated` scales β until the \
                   bands contain their nominal share of held-out measurements. Here the planner uses each of them.",
        figures: &["confidence", "information"],
    },
    Section {
        study: "exploration",
        title: "What to plan for",
        question: "Optimism over η, the mean (greedy), one draw of the posterior (Thompson), and a bonus for uncertainty. The weight of the bonus \
                   (0.1, in the unit of the cost) is the same for all systems and was not tuned; it is far too large where costs are small.",
        figures: &["exploration"],
    },
    Section {
        study: "reference",
        title: "The authors' settings and ours",
        question: "The authors' settings, as far as settings exist for them (`--settings reference`): Euler steps, unit signal variance, the standard \
                   deviation of the noise in place of its variance, one start of training, one more measurement per episode.",
        figures: &["reference"],
    },
    Section {
        study: "discrete",
        title: "Continuous against discrete time, both learned",
        question: "The paper compares with zero-order holds planned on the *true* model. Here the discrete-time model x⁺ = h(x, u, τ) is learned too, \
                   from the same number of measurements at the same equidistant times. Controls are held between them. No discrete learner can be \
                   better than the optimal zero-order hold.",
        figures: &["discrete"],
    },
];

/// The section on Table 1.
fn table(studied: &Studied) -> String {
    let table = Table1::new(&studied.results);
    let (reached, all) = table.reached();
    let mut text = format!("\n{}\n", table.markdown());
    text += &bullet(&format!(
        "{reached} of {all} learned cells are at most what the paper prints (or within 0.3 % of the optimum, where it prints even its cost \
         with the known model below the exact optimum: its explicit Euler steps and its cut cost integral err low there)."
    ));
    let mut worse = Vec::new();
    let (mut nearest, mut beaten) = ([0; 3], 0);
    for row in &table.rows {
        let Some(known) = row.known else { continue };
        for (strategy, learned) in STRATEGIES.iter().zip(&row.learned) {
            if learned.is_above_print() {
                let gap = known.percent_above(learned.mean());
                worse.push(format!(
                    "{}, {}: {:.3} against {:.2}, {gap:+.3} % from the optimum {:.3}",
                    row.title,
                    strategy.name().replace('-', " "),
                    learned.mean(),
                    learned.paper.mean,
                    known.continuous
                ));
            }
        }
        let means = row.learned.each_ref().map(Learned::mean);
        if let Some(best) = (0..3).min_by(|a, b| means[*a].total_cmp(&means[*b])) {
            nearest[best] += 1;
        }
        beaten += usize::from(means[0].min(means[1]) <= means[2]);
    }
    if worse.is_empty() {
        text += "- No cell is above the paper's print.\n";
    } else {
        text += &bullet(&format!("Above the paper's print: {}.", worse.join("; ")));
    }
    text += &bullet(&format!(
        "Least mean of the row: max kernel distance {}, max determinant {}, equidistant {} times. An adaptive strategy is at least as good \
         as equidistant measurements on {beaten} of {} systems.",
        nearest[0],
        nearest[1],
        nearest[2],
        table.rows.len()
    ));
    let all = || table.rows.iter().flat_map(|row| &row.learned);
    let diverged: usize = all().map(|l| l.diverged).sum();
    let failed: usize = all().map(|l| l.failed).sum();
    let aborted: usize = all().filter_map(|l| l.progress).map(|p| p.aborted).sum();
    text += &bullet(&format!(
        "Aborted episodes, the first ones aside: {aborted}; aborted last episodes: {diverged}; runs without a result: {failed}."
    ));
    text += &paces(studied);
    text += "\n### Learning progress\n\n";
    text += &paragraph(
        "Costs of all episodes from episode 1 on. *Aborted*: a state left its limits or diverged. *Worst episode*: the highest cost of an episode of \
         any seed. Medians are over the seeds; that of the last five episodes is over these episodes and the seeds.",
    );
    let _ = write!(text, "\n{}", table.progress_markdown());
    text
}

/// Table of the final gap to the optimum of each system, the episode from which it is reached, and the measurements needed.
fn paces(studied: &Studied) -> String {
    let mut text = String::from(
        "\n| System | strategy | gap, mean ± std | worst seed | stays within 1 % from episode (median) | CPU s per run |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    for group in studied.results.groups() {
        let Some(gaps) = Gaps::of(&group) else { continue };
        let times: Vec<f64> =
            group.cells.iter().filter_map(|c| studied.timings.get(&c.cell.id())).map(|t| t.cpu).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} % | {} | {} |",
            title(&group.cell.system),
            group.cell.variant(),
            gaps.text(),
            signed(gaps.worst()),
            pace(&group),
            if times.is_empty() { "-".into() } else { format!("{:.1}", mean(&times)) },
        );
    }
    text
}

/// Final gaps to the optimum of a group, in percent.
struct Gaps(Vec<f64>);

impl Gaps {
    fn of(group: &Group<'_>) -> Option<Self> {
        Some(Gaps(group.gaps())).filter(|gaps| !gaps.0.is_empty())
    }

    fn text(&self) -> String {
        format!("{} ± {} %", signed(mean(&self.0)), amount(sample_std(&self.0)))
    }

    fn worst(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Formats three decimals, or scientific notation for very small values.
fn amount(value: f64) -> String {
    if value.abs() < 1e5 { format!("{value:.3}") } else { format!("{value:.1e}") }
}

fn signed(value: f64) -> String {
    if value < 0.0 { amount(value) } else { format!("+{}", amount(value)) }
}

fn regrets(group: &Group<'_>) -> Vec<f64> {
    group.cells.iter().filter(|c| c.failure.is_none()).map(|c| c.cumulative_regret()).collect()
}

/// Table for a study of one system: one row per variant.
fn one_system(results: &Results) -> String {
    let mut text = String::from(
        "\n| Variant | gap, mean ± std | cumulative regret, mean | median | aborted episodes | stays within 1 % from episode (median) | measurements in all |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let groups = results.groups();
    let sums: Vec<f64> = groups.iter().map(|g| mean(&regrets(g))).collect();
    let gaps: Vec<f64> = groups.iter().map(|g| Gaps::of(g).map_or(f64::INFINITY, |g| mean(&g.0))).collect();
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    for (i, group) in groups.iter().enumerate() {
        let bold = |yes: bool, text: String| if yes { format!("**{text}**") } else { text };
        let measured: usize = group.cells.first().map_or(0, |c| c.episodes.iter().map(|e| e.measured).sum());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {measured} |",
            group.cell.variant(),
            bold(gaps[i] <= least(&gaps), Gaps::of(group).map_or("-".into(), |g| g.text())),
            bold(sums[i] <= least(&sums), amount(sums[i])),
            Progress::of(group).map_or("-".into(), |p| amount(p.cumulative_regret)),
            Progress::of(group).map_or("-".into(), |p| format!("{} of {}", p.aborted, p.episodes)),
            pace(group),
        );
    }
    text
}

/// Median episode from which the cost stays within 1 % of the optimum.
fn pace(group: &Group<'_>) -> String {
    let from = |cell: &&CellResult| cell.stays_within(0.01).map_or(f64::INFINITY, |n| n as f64);
    let middle = median(&group.cells.iter().map(from).collect::<Vec<f64>>());
    if middle.is_finite() { format!("{middle:.0}") } else { "not".into() }
}

/// Table with one row per system and two columns per variant (gap and regret), and how often each variant is best.
fn comparison(results: &Results) -> String {
    let (names, rows) = variants(results);
    let mut text = String::from("\n| System |");
    for name in &names {
        let _ = write!(text, " {name}: gap | regret |");
    }
    let _ = write!(text, "\n|---|{}\n", "---:|---:|".repeat(names.len()));
    let (mut best_gap, mut best_regret) = (vec![0; names.len()], vec![0; names.len()]);
    for (system, groups) in &rows {
        let gaps: Vec<f64> = groups
            .iter()
            .map(|g| g.as_ref().and_then(Gaps::of).map_or(f64::INFINITY, |g| mean(&g.0)))
            .collect();
        let sums: Vec<f64> =
            groups.iter().map(|g| g.as_ref().map_or(f64::INFINITY, |g| mean(&regrets(g)))).collect();
        let least = |values: &[f64]| (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]));
        let (gap, sum) = (least(&gaps), least(&sums));
        gap.inspect(|i| best_gap[*i] += 1);
        sum.inspect(|i| best_regret[*i] += 1);
        let _ = write!(text, "| {} |", title(system));
        for (i, group) in groups.iter().enumerate() {
            let bold = |yes: bool, text: String| if yes { format!("**{text}**") } else { text };
            let gap_text = group.as_ref().and_then(Gaps::of).map_or("-".into(), |g| g.text());
            let diverged = group.as_ref().map_or(0, |g| g.cells.iter().filter(|c| c.diverged()).count());
            let flag = if diverged > 0 { format!(" ({diverged} aborted)") } else { String::new() };
            let sum_text = if sums[i].is_finite() { amount(sums[i]) } else { "-".into() };
            let _ = write!(
                text,
                " {}{flag} | {} |",
                bold(gap == Some(i), gap_text),
                bold(sum == Some(i), sum_text)
            );
        }
        text.push('\n');
    }
    let _ = writeln!(text);
    let count = rows.len();
    for (i, name) in names.iter().enumerate() {
        let progress = rows.iter().filter_map(|(_, groups)| Progress::of(groups[i].as_ref()?));
        let (aborted, all) = progress.fold((0, 0), |(bad, all), p| (bad + p.aborted, all + p.episodes));
        text += &bullet(&format!(
            "{name}: least final gap on {} of {count} system{}, least cumulative regret on {}; {aborted} of {all} episodes aborted.",
            best_gap[i],
            if count == 1 { "" } else { "s" },
            best_regret[i]
        ));
    }
    text
}

/// Names of the variants, and for each system its groups in that order.
type Variants<'a> = (Vec<String>, Vec<(String, Vec<Option<Group<'a>>>)>);

fn variants(results: &Results) -> Variants<'_> {
    let mut names: Vec<String> = Vec::new();
    for group in results.groups() {
        let name = group.cell.variant();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |system: &str| {
        let groups = results.groups();
        names
            .iter()
            .map(|name| groups.iter().find(|g| g.cell.system == system && g.cell.variant() == *name).cloned())
            .collect::<Vec<_>>()
    };
    let rows = results.systems().into_iter().map(|system| (system.to_owned(), of(system))).collect();
    (names, rows)
}

/// Table of final gaps by system, strategy and M.
fn fewer(results: &Results) -> String {
    let groups = results.groups();
    let mut counts: Vec<usize> =
        groups.iter().filter_map(|g| g.setting("measurements")?.parse().ok()).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut text = String::from("\n| System | strategy |");
    for m in &counts {
        let _ = write!(text, " M = {m} |");
    }
    let _ = write!(text, "\n|---|---|{}\n", "---:|".repeat(counts.len()));
    let mut seen = Vec::new();
    for group in &groups {
        let key = (group.cell.system.clone(), group.setting("strategy").unwrap_or_default());
        if seen.contains(&key) {
            continue;
        }
        let _ = write!(text, "| {} | {} |", title(&key.0), key.1.replace('-', " "));
        for m in &counts {
            let cell = groups.iter().find(|g| {
                g.cell.system == key.0
                    && g.setting("strategy").unwrap_or_default() == key.1
                    && g.setting("measurements") == Some(m.to_string())
            });
            let _ = write!(text, " {} |", cell.and_then(Gaps::of).map_or("-".into(), |g| g.text()));
        }
        text.push('\n');
        seen.push(key);
    }
    text
}

/// Table of the total measurements until the cost stays near the optimum, by system, strategy and M, with the minimum.
fn totals(results: &Results) -> String {
    let groups = results.groups();
    let count = |g: &Group<'_>| g.setting("measurements")?.parse::<usize>().ok();
    let strategy = |g: &Group<'_>| g.setting("strategy").unwrap_or_default();
    let counts: BTreeSet<usize> = groups.iter().filter_map(count).collect();
    let mut strategies: Vec<String> = Vec::new();
    for name in groups.iter().map(strategy) {
        if !strategies.contains(&name) {
            strategies.push(name);
        }
    }
    let mut text = String::from("\n| System | strategy |");
    for m in &counts {
        let _ = write!(text, " M = {m} |");
    }
    let _ = write!(text, "\n|---|---|{}\n", "---:|".repeat(counts.len()));
    let mut most_frugal: Vec<String> = Vec::new();
    for system in results.systems() {
        let of_system: Vec<&Group<'_>> = groups.iter().filter(|g| g.cell.system == system).collect();
        let total = |g: &&Group<'_>| measurements_until_within(g, NEAR);
        let least = of_system.iter().filter_map(total).fold(f64::INFINITY, f64::min);
        for name in &strategies {
            let _ = write!(text, "| {} | {} |", title(system), name.replace('-', " "));
            for m in &counts {
                let cell = of_system.iter().find(|g| strategy(g) == *name && count(g) == Some(*m));
                let measured = match cell.and_then(total) {
                    Some(value) if value <= least => format!("**{value:.0}**"),
                    Some(value) => format!("{value:.0}"),
                    None => "–".into(),
                };
                let _ = write!(text, " {measured} |");
            }
            text.push('\n');
        }
        most_frugal.extend(frugal(&of_system));
    }
    text.push('\n');
    text += &paragraph("With the fewest measurements per episode, in the median over the seeds:");
    text.push('\n');
    text + &most_frugal.concat()
}

/// Sentence on what the strategies reach on a system with the smallest M.
fn frugal(groups: &[&Group<'_>]) -> Option<String> {
    let count = |g: &&&Group<'_>| g.setting("measurements")?.parse::<usize>().ok();
    let m = groups.iter().filter_map(|g| count(&g)).min()?;
    let mut reached = Vec::new();
    let mut measured = 0;
    for group in groups.iter().filter(|g| count(g) == Some(m)) {
        let gaps = group.gaps();
        if !gaps.is_empty() {
            let name = group.setting("strategy").unwrap_or_default().replace('-', " ");
            reached.push(format!("{} with {name}", percent(median(&gaps))));
        }
        // The last episode is planned from the measurements before it.
        let before = |c: &&CellResult| c.last().map_or(0, |row| c.measurements_before(row.episode));
        measured = measured.max(group.cells.iter().map(before).max().unwrap_or(0));
    }
    let system = title(&groups.first()?.cell.system);
    let line = format!(
        "{system}, M = {m}, after {measured} measurements: gap of the last episode {}.",
        listed(&reached)
    );
    (!reached.is_empty()).then(|| bullet(&line))
}

/// Origin of the results: command, version, date, machine and processor time.
fn origin(study: &str, studied: &Studied) -> String {
    let Some(about) = &studied.about else { return String::new() };
    let line = format!(
        "<sub>`{}` · studies/{study}.toml · {} runs · version {} · {} · {} · {:.2} h of processor time</sub>",
        about.command,
        studied.results.cells.len(),
        about.version,
        about.date,
        about.machine,
        about.cpu_seconds / 3600.0,
    );
    format!("\n{}", paragraph(&line))
}

fn title(system: &str) -> Text {
    Benchmark::find(system).map_or_else(|_| system.to_owned().into(), |b| b.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl_study::sweep::About;
    use ocorl_study::testing::run;

    const DONE: &str = "completed";
    const OUT: &str = "state 0 left its limits at t = 1.0";

    fn studied(cells: Vec<CellResult>) -> Studied {
        let about = About {
            command: "ocorl sweep studies/total-measurements.toml --out studies/results/total-measurements --jobs 2".into(),
            version: "0.1.0".into(),
            date: "2026-11-18".into(),
            machine: "some processor with a long name, 2 cores".into(),
            cpu_seconds: 7200.0,
        };
        Studied { results: Results { cells }, about: Some(about), timings: BTreeMap::new() }
    }

    /// Two measurements per episode: near the optimum from episode 1, from episode 2, never.
    fn totals_study() -> Studied {
        let with = |strategy: &str, m: &str, seed: u64, last: &[(f64, &str); 2]| {
            let set = [("measurements", m), ("strategy", strategy)];
            run("pendulum", &set, seed, &[&[(300.0, DONE)], &last[..]].concat())
        };
        let (soon, late, never) =
            ([(20.1, DONE), (20.1, DONE)], [(50.0, OUT), (20.1, DONE)], [(20.1, DONE), (20.1, OUT)]);
        let mut cells = Vec::new();
        for seed in 0..3 {
            cells.push(with("oracle", "1", seed, &soon));
            cells.push(with("oracle", "10", seed, if seed == 0 { &never } else { &late }));
            cells.push(with("equidistant", "1", seed, if seed == 0 { &soon } else { &never }));
        }
        studied(cells)
    }

    #[test]
    fn totals_are_medians_and_a_dash_where_most_seeds_never_get_there() {
        let text = totals(&totals_study().results);
        assert!(text.contains("| System | strategy | M = 1 | M = 10 |\n"), "{text}");
        assert!(text.contains("| Pendulum | oracle | **2** | 4 |\n"), "{text}");
        assert!(text.contains("| Pendulum | equidistant | – | – |\n"), "{text}");
        let line = "- Pendulum, M = 1, after 4 measurements: gap of the last episode +0.500 % with oracle and +0.500 % with equidistant.";
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(line), "{text}");
    }

    #[test]
    fn lines_that_are_no_table_are_short() {
        let table = ["max-kernel-distance", "max-determinant", "equidistant"].map(|strategy| {
            run(
                "pendulum",
                &[("strategy", strategy)],
                0,
                &[(300.0, DONE), (50.0, OUT), (20.1, DONE), (20.1, DONE)],
            )
        });
        let explore = ["optimistic", "mean"].map(|name| {
            run(
                "pendulum",
                &[("explore", name)],
                0,
                &[(300.0, DONE), (50.0, OUT), (20.1, DONE), (20.1, DONE)],
            )
        });
        let studies = [
            ("table1".to_owned(), studied(table.into())),
            ("exploration".to_owned(), studied(explore.into())),
            ("total-measurements".to_owned(), totals_study()),
        ];
        let text = report(&studies.into(), "figures");
        for line in text.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 120, "{line}");
        }
        for part in
            ["## The paper's claims", "### Learning progress", "| 1 of 3 | 50.0 |", "![total-measurements]("]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("NaN"), "{text}");
    }
}
