//! The paper's claims, each with a verdict and the numbers that support it, computed from the results of the studies. The comparators are
//! the exact optimum and the optimal zero-order hold of the known system, not the values the paper prints.

use super::prose::{bullet, listed, paragraph};
use ocorl::system::Benchmark;
use ocorl_study::known::Known;
use ocorl_study::progress::{Progress, mean_cumulative_regret, measurements_until_within};
use ocorl_study::results::{Group, Results};
use ocorl_study::run::numbers::{percent, three_digits};
use ocorl_study::statistics::{growth_exponent, mean, median, sample_std};
use ocorl_study::sweep::Studied;
use ocorl_study::table1::{Learned, Row, STRATEGIES, Table1};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Relative distance to the optimum that counts as near: 1 %.
pub(super) const NEAR: f64 = 0.01;
/// A zero-order hold within this many percent of the optimum counts as equal to continuous control.
const AS_GOOD: f64 = 0.01;

/// Minimum number of episodes for an estimate of regret growth.
const FEWEST: usize = 3;

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Holds,
    WithExceptions,
    DoesNotHold,
}

impl Verdict {
    /// `yes` of `all` cases agree: the claim holds in all of them, with exceptions (more than half), or not.
    fn of(yes: usize, all: usize) -> Self {
        match (yes, all) {
            (yes, all) if yes == all => Verdict::Holds,
            (yes, all) if 2 * yes > all => Verdict::WithExceptions,
            _ => Verdict::DoesNotHold,
        }
    }

    /// Verdict of pairwise comparisons: the claim holds if all agree; with exceptions if more agree than disagree, ties aside.
    fn of_duels(yes: usize, no: usize, all: usize) -> Self {
        match (yes, no) {
            (yes, _) if yes == all => Verdict::Holds,
            (yes, no) if yes > no => Verdict::WithExceptions,
            _ => Verdict::DoesNotHold,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::WithExceptions => "holds with exceptions",
            Verdict::DoesNotHold => "does not hold",
        }
    }
}

/// A claim, its verdict, and the numbers that support the verdict.
struct Claim {
    statement: &'static str,
    verdict: Verdict,
    evidence: String,
}

/// The claims for which there are results, as a Markdown list; empty without results.
pub(super) fn claims(studies: &BTreeMap<String, Studied>) -> String {
    let of = |name: &str| studies.get(name).map(|studied| &studied.results);
    let table = of("table1").map(|results| (results, Table1::new(results)));
    let all = [
        table.as_ref().and_then(|(results, table)| against_holds(results, table)),
        table.as_ref().and_then(|(_, table)| adaptive(table)),
        optimism(of("optimism"), of("exploration")),
        table.as_ref().and_then(|(results, _)| convergence(results)),
        fewer_measurements(of("total-measurements"), of("measurements")),
    ];
    let found: Vec<Claim> = all.into_iter().flatten().collect();
    if found.is_empty() {
        return String::new();
    }
    let intro = paragraph(
        "*Holds*: in every case that was compared; *holds with exceptions*: in more than half of them, ties aside. Comparators are exact: the \
         optimum and the optimal zero-order hold of the known system.",
    );
    let item = |claim: &Claim| {
        bullet(&format!("**{}: {}.** {}", claim.statement, claim.verdict.text(), claim.evidence))
    };
    format!("{intro}\n{}", found.iter().map(item).collect::<String>())
}

/// Claim (i), comparison with the optimal zero-order hold: a system counts if every strategy costs less.
fn against_holds(results: &Results, table: &Table1) -> Option<Claim> {
    let rows: Vec<(&Row, Known)> = table
        .rows
        .iter()
        .filter(|row| learned(row).next().is_some())
        .filter_map(|row| Some((row, row.known?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let below = |limit: fn(&Known) -> Option<f64>| {
        rows.iter()
            .filter(|(row, known)| limit(known).is_some_and(|limit| learned(row).all(|l| l.mean() < limit)))
            .count()
    };
    let (yes, printed, all) = (below(|k| Some(k.held)), below(|k| k.held_as_printed), rows.len());
    // Margins below the hold, in percent of the optimum.
    let mut margins: Vec<(f64, &Row)> = Vec::new();
    let mut exceptions = Vec::new();
    for (row, known) in &rows {
        let margin = |l: &Learned| known.percent_above(known.held) - known.percent_above(l.mean());
        margins.extend(learned(row).map(|l| (margin(l), *row)));
        if let Some(best) = learned(row).map(margin).max_by(f64::total_cmp)
            && learned(row).any(|l| margin(l) <= 0.0)
        {
            exceptions.push(exception_to_holds(row, known, best));
        }
    }
    let pairs = margins.len();
    margins.retain(|(margin, _)| *margin > 0.0);
    margins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let by = match (margins.first(), margins.last()) {
        (Some(least), Some(most)) => format!(
            ", by {} % ({}) to {} % ({}) of the optimum",
            three_digits(least.0),
            least.1.title,
            three_digits(most.0),
            most.1.title
        ),
        _ => String::new(),
    };
    let ended = results.cells.iter().filter_map(|cell| Some(cell.final_cost()? < cell.known?.held));
    let (runs_below, runs) =
        ended.fold((0, 0), |(yes, all), is_below| (yes + usize::from(is_below), all + 1));
    let mut evidence = format!(
        "The mean final cost is below that of the optimal zero-order hold on {yes} of {all} systems with every measurement strategy ({} of \
         {pairs} pairs of system and strategy, {runs_below} of {runs} runs){by}.",
        margins.len(),
    );
    for exception in exceptions {
        let _ = write!(evidence, " {exception}");
    }
    let _ =
        write!(evidence, " It is below the zero-order hold as the paper computes it on {printed} of {all}.");
    let statement = "Continuous-time OCoRL beats the zero-order hold with known dynamics";
    Some(Claim { statement, verdict: Verdict::of(yes, all), evidence })
}

/// Explanation why a system is not below its hold; `best` is the best strategy's margin in percent of the optimum.
fn exception_to_holds(row: &Row, known: &Known, best: f64) -> String {
    let hold = known.percent_above(known.held);
    let ends = match best {
        best if best > 0.0 => "not every strategy ends below it".to_owned(),
        best => format!("the best strategy ends {} % above it", three_digits(-best)),
    };
    if hold < AS_GOOD {
        return format!(
            "{} cannot: its optimal zero-order hold, {} % above the optimum, is as good as continuous control; {ends}.",
            row.title,
            three_digits(hold)
        );
    }
    format!(
        "Exception: {}, whose optimal zero-order hold is {} % above the optimum; {ends}.",
        row.title,
        three_digits(hold)
    )
}

/// Claim (ii), both adaptive strategies compared with equidistant measurements.
fn adaptive(table: &Table1) -> Option<Claim> {
    let rows: Vec<(&Row, Known)> = table
        .rows
        .iter()
        .filter(|row| learned(row).count() == STRATEGIES.len())
        .filter_map(|row| Some((row, row.known?)))
        .collect();
    let count = |holds: &dyn Fn(&Row) -> bool| rows.iter().filter(|(row, _)| holds(row)).count();
    let below = |row: &Row, strategy: usize| row.learned[strategy].mean() < row.learned[EQUIDISTANT].mean();
    let yes = count(&|row| below(row, DISTANCE) && below(row, DETERMINANT));
    let (distance, determinant) = (count(&|row| below(row, DISTANCE)), count(&|row| below(row, DETERMINANT)));
    let clear = count(&|row| clearly_below(&row.learned[DETERMINANT], &row.learned[EQUIDISTANT]));
    let regret = count(&|row| {
        let of = |strategy: usize| row.learned[strategy].progress.map(|p| p.cumulative_regret);
        of(DETERMINANT).zip(of(EQUIDISTANT)).is_some_and(|(ours, theirs)| ours < theirs)
    });
    let gap = |row: &Row, known: &Known, strategy: usize| known.percent_above(row.learned[strategy].mean());
    let ratios: Vec<f64> = rows
        .iter()
        .map(|(row, known)| gap(row, known, EQUIDISTANT) / gap(row, known, DETERMINANT))
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    let mut exceptions = Vec::new();
    for (row, known) in &rows {
        for strategy in [DISTANCE, DETERMINANT].into_iter().filter(|&s| !below(row, s)) {
            exceptions.push(format!(
                "{}, {} ({} against {})",
                row.title,
                STRATEGIES[strategy].name().replace('-', " "),
                percent(gap(row, known, strategy)),
                percent(gap(row, known, EQUIDISTANT))
            ));
        }
    }
    let all = rows.len();
    let mut evidence = format!(
        "Both adaptive strategies end with a lower mean cost than equidistant measurements on {yes} of {all} systems (max kernel distance on \
         {distance}, max determinant on {determinant}; the latter by more than two standard errors on {clear}). The gap to the optimum that \
         equidistant measurements leave is {} times that of max determinant in the median over the systems.",
        three_digits(median(&ratios)),
    );
    if !exceptions.is_empty() {
        let _ = write!(evidence, " Exceptions: {}.", listed(&exceptions));
    }
    let _ = write!(
        evidence,
        " The median cumulative regret of max determinant is the lower one on {regret} of {all}."
    );
    let statement = "Adaptive measurement strategies beat equidistant measurements";
    (all > 0).then_some(Claim { statement, verdict: Verdict::of(yes, all), evidence })
}

/// Indices of the strategies in [`STRATEGIES`].
const DISTANCE: usize = 0;
const DETERMINANT: usize = 1;
const EQUIDISTANT: usize = 2;

/// Whether the means differ by more than two standard errors of their difference.
fn clearly_below(a: &Learned, b: &Learned) -> bool {
    let variance = |costs: &[f64]| sample_std(costs).powi(2) / costs.len() as f64;
    b.mean() - a.mean() > 2.0 * (variance(&a.costs) + variance(&b.costs)).sqrt()
}

/// Claim (iii), optimistic planning compared with planning on the mean model, by cumulative regret.
fn optimism(hard: Option<&Results>, usual: Option<&Results>) -> Option<Claim> {
    let (hard, usual) = (hard.map_or(Vec::new(), duels), usual.map_or(Vec::new(), duels));
    let won = |duels: &[Duel]| duels.iter().filter(|duel| duel.regret.0 < duel.regret.1).count();
    let means = |duels: &[Duel]| duels.iter().filter(|duel| duel.mean_regret.0 < duel.mean_regret.1).count();
    let ends = |duels: &[Duel]| duels.iter().filter(|duel| duel.end.0 < duel.end.1).count();
    let numbers = |duels: &[Duel], shown: &dyn Fn(&Duel) -> bool| {
        let each = |duel: &Duel| {
            format!("{} {} against {}", duel.name, three_digits(duel.regret.0), three_digits(duel.regret.1))
        };
        listed(&duels.iter().filter(|duel| shown(duel)).map(each).collect::<Vec<_>>())
    };
    let mut evidence = Vec::new();
    if !hard.is_empty() {
        evidence.push(format!(
            "After a first control that gives almost no information, the median cumulative regret of optimistic planning is lower than that of \
             planning with the mean model in {} of {} cases ({}), the mean one in {}, the mean final cost in {}.",
            won(&hard),
            hard.len(),
            numbers(&hard, &|_| true),
            means(&hard),
            ends(&hard)
        ));
    }
    if !usual.is_empty() {
        let lost = numbers(&usual, &|duel| duel.regret.0 >= duel.regret.1);
        evidence.push(format!(
            "After the default excitation the median cumulative regret is lower on {} of {} systems{}, the mean one on {}, the mean final cost on {}.",
            won(&usual),
            usual.len(),
            if lost.is_empty() { String::new() } else { format!(" (not: {lost})") },
            means(&usual),
            ends(&usual)
        ));
    }
    let (yes, all) = (won(&hard) + won(&usual), hard.len() + usual.len());
    let statement = "Optimism helps";
    (all > 0).then(|| Claim { statement, verdict: Verdict::of(yes, all), evidence: evidence.join(" ") })
}

/// Optimistic and mean planning under equal conditions: median and mean cumulative regret and mean final cost of each.
struct Duel {
    name: String,
    regret: (f64, f64),
    mean_regret: (f64, f64),
    end: (f64, f64),
}

fn duels(results: &Results) -> Vec<Duel> {
    let groups = results.groups();
    let systems = results.systems().len();
    let planner = |group: &Group<'_>| group.setting("explore");
    let total = |group: &Group<'_>| mean_cumulative_regret(group).last().map_or(f64::NAN, |(_, sum)| *sum);
    let mut found = Vec::new();
    for ours in groups.iter().filter(|g| planner(g).as_deref() == Some("optimistic")) {
        let alike = |other: &&Group<'_>| {
            let rest = |g: &Group<'_>| {
                let mut cell = g.cell.clone();
                cell.set.remove("explore");
                (cell.system, cell.settings, cell.set)
            };
            planner(other).as_deref() == Some("mean") && rest(other) == rest(ours)
        };
        let Some(theirs) = groups.iter().find(alike) else { continue };
        let Some((a, b)) = Progress::of(ours).zip(Progress::of(theirs)) else { continue };
        let strategy = ours.setting("strategy").map(|name| name.replace('-', " "));
        found.push(Duel {
            name: strategy.filter(|_| systems == 1).unwrap_or_else(|| title(&ours.cell.system)),
            regret: (a.cumulative_regret, b.cumulative_regret),
            mean_regret: (total(ours), total(theirs)),
            end: (mean(&ours.final_costs()), mean(&theirs.final_costs())),
        });
    }
    found
}

/// Claim (iv), convergence to the optimum: sublinear regret, and final episodes near the optimum.
fn convergence(results: &Results) -> Option<Claim> {
    let (mut exponents, mut lasts) = (Vec::new(), Vec::new());
    let (mut yes, mut near, mut sublinear) = (0, 0, 0);
    for group in results.groups() {
        let Some((progress, known)) = Progress::of(&group).zip(group.known()) else { continue };
        let regret = mean_cumulative_regret(&group);
        if regret.len() < FEWEST {
            continue;
        }
        // `None` if the regret is not positive: then no growth can be estimated.
        let exponent = growth_exponent(&regret);
        let last = known.percent_above(progress.last_five_cost);
        let (is_sublinear, is_near) = (exponent.is_none_or(|a| a < 1.0), last <= 100.0 * NEAR);
        sublinear += usize::from(is_sublinear);
        near += usize::from(is_near);
        yes += usize::from(is_sublinear && is_near);
        exponents.extend(exponent);
        lasts.push((last, format!("{}, {}", title(&group.cell.system), group.cell.variant())));
    }
    let all = lasts.len();
    let (worst, name) = lasts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let range = |pick: fn(f64, f64) -> f64| {
        let end = exponents.iter().copied().reduce(pick);
        end.map_or("–".into(), |a| format!("{a:.2}"))
    };
    let ended: Vec<bool> = results
        .cells
        .iter()
        .filter_map(|cell| Some(cell.final_cost()? <= (1.0 + NEAR) * cell.known?.continuous))
        .collect();
    let evidence = format!(
        "The mean cumulative regret grows like n^α with α < 1 for {sublinear} of {all} pairs of system and strategy (α from {} to {}), and the \
         median gap of the last five episodes is at most 1 % for {near} of {all} (largest: {}, {name}). {} of {} runs end within 1 % of the \
         optimum.",
        range(f64::min),
        range(f64::max),
        percent(worst),
        ended.iter().filter(|near| **near).count(),
        ended.len(),
    );
    let statement = "The cost converges to the optimum (sublinear regret)";
    Some(Claim { statement, verdict: Verdict::of(yes, all), evidence })
}

/// Claim (v), adaptive strategies need fewer measurements than equidistant ones: in total if that was studied, otherwise per episode.
fn fewer_measurements(totals: Option<&Results>, per_episode: Option<&Results>) -> Option<Claim> {
    let total = totals.map_or(Vec::new(), |results| needs(results, least_total));
    let each = per_episode.map_or(Vec::new(), |results| needs(results, least_per_episode));
    let mut evidence = Vec::new();
    if !total.is_empty() {
        evidence.push(format!(
            "Until all episodes are within 1 % of the optimum, with the best number per episode, max determinant takes {} measurements in all than \
             equidistant measurements ({}).",
            counted(&total),
            needs_text(&total)
        ));
        let left_out = totals.map_or(Vec::new(), nothing_to_learn);
        if !left_out.is_empty() {
            let names = listed(&left_out);
            evidence.push(format!(
                "Left out, because the excitation itself costs at most 1 % more than the optimum: {names}."
            ));
        }
    }
    if !each.is_empty() {
        evidence.push(format!(
            "To end within 1 % of the optimum (mean over the seeds), max determinant needs {} measurements per episode than equidistant \
             measurements ({}).",
            counted(&each),
            needs_text(&each)
        ));
    }
    let ruling = if total.is_empty() { &each } else { &total };
    let statement = "Adaptive strategies need fewer measurements";
    let (fewer, equal, more) = compared(ruling);
    let all = fewer + equal + more;
    let verdict = Verdict::of_duels(fewer, more, all);
    (all > 0).then(|| Claim { statement, verdict, evidence: evidence.join(" ") })
}

/// Measurements that a system needs with max determinant and with equidistant measurements; infinite if no tested number suffices.
struct Need {
    system: String,
    adaptive: f64,
    equidistant: f64,
}

fn needs(results: &Results, least: fn(&[&Group<'_>]) -> f64) -> Vec<Need> {
    let groups = results.groups();
    let of = |system: &str, strategy: &str| {
        let shown: Vec<&Group<'_>> = groups
            .iter()
            .filter(|g| g.cell.system == system && g.setting("strategy").as_deref() == Some(strategy))
            .collect();
        (!shown.is_empty()).then(|| least(&shown))
    };
    let need = |system: &&str| {
        let (adaptive, equidistant) = of(system, "max-determinant").zip(of(system, "equidistant"))?;
        Some(Need { system: title(system), adaptive, equidistant })
    };
    let left_out = nothing_to_learn(results);
    results.systems().iter().filter_map(need).filter(|need| !left_out.contains(&need.system)).collect()
}

/// Systems whose exploratory episode, which is not planned, is already near the optimum.
fn nothing_to_learn(results: &Results) -> Vec<String> {
    let near = |system: &&&str| {
        let runs = results.cells.iter().filter(|cell| cell.cell.system == **system);
        let gaps: Vec<f64> = runs
            .filter_map(|run| {
                Some(run.known?.percent_above(run.episodes.first().filter(|row| row.completed())?.cost))
            })
            .collect();
        median(&gaps) <= 100.0 * NEAR
    };
    results.systems().iter().filter(near).map(|system| title(system)).collect()
}

fn least_total(groups: &[&Group<'_>]) -> f64 {
    groups.iter().filter_map(|g| measurements_until_within(g, NEAR)).fold(f64::INFINITY, f64::min)
}

/// The smallest M (measurements per episode) such that the mean final cost for it and for every larger M is near the optimum.
fn least_per_episode(groups: &[&Group<'_>]) -> f64 {
    let mut by_count: Vec<(f64, bool)> = groups
        .iter()
        .filter_map(|g| Some((g.setting("measurements")?.parse().ok()?, mean(&g.gaps()) <= 100.0 * NEAR)))
        .collect();
    by_count.sort_by(|a, b| b.0.total_cmp(&a.0));
    by_count.iter().take_while(|(_, near)| *near).last().map_or(f64::INFINITY, |(count, _)| *count)
}

/// Number of systems on which max determinant needs fewer, equally many, and more measurements. A system on which neither strategy gets
/// near the optimum is not counted.
fn compared(needs: &[Need]) -> (usize, usize, usize) {
    let count = |order: Ordering| {
        let comparable = needs.iter().filter(|n| n.adaptive.is_finite() || n.equidistant.is_finite());
        comparable.filter(|n| n.adaptive.total_cmp(&n.equidistant) == order).count()
    };
    (count(Ordering::Less), count(Ordering::Equal), count(Ordering::Greater))
}

/// Formats the comparison: "fewer (on 5 of 9 systems), as many (on 3) or more (on 1)".
fn counted(needs: &[Need]) -> String {
    let (fewer, equal, more) = compared(needs);
    format!(
        "fewer (on {fewer} of {} systems), as many (on {equal}) or more (on {more})",
        fewer + equal + more
    )
}

/// Formats the needs of each system: "Pendulum 6 against 10, …".
fn needs_text(needs: &[Need]) -> String {
    let number = |n: f64| if n.is_finite() { format!("{n:.0}") } else { "never".into() };
    let each = |need: &Need| {
        format!("{} {} against {}", need.system, number(need.adaptive), number(need.equidistant))
    };
    listed(&needs.iter().map(each).collect::<Vec<_>>())
}

/// Strategies of a row that have results.
fn learned(row: &Row) -> impl Iterator<Item = &Learned> {
    row.learned.iter().filter(|learned| !learned.costs.is_empty())
}

fn title(system: &str) -> String {
    Benchmark::find(system).map_or_else(|_| system.to_owned(), |b| b.title.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl_study::cell::CellResult;
    use ocorl_study::testing::run;

    const DONE: &str = "completed";
    const OUT: &str = "state 0 left its limits at t = 1.0";

    fn study(cells: Vec<CellResult>) -> Studied {
        Studied { results: Results { cells }, about: None, timings: BTreeMap::new() }
    }

    /// A run of a strategy whose first episode costs 40 and whose later episodes all cost `cost`.
    fn learned(system: &str, strategy: &str, seed: u64, cost: f64) -> CellResult {
        let episodes = [
            (300.0, DONE),
            (40.0, DONE),
            (cost, DONE),
            (cost, DONE),
            (cost, DONE),
            (cost, DONE),
            (cost, DONE),
        ];
        run(system, &[("strategy", strategy)], seed, &episodes)
    }

    fn table(pendulum: [f64; 3], glucose: [f64; 3]) -> BTreeMap<String, Studied> {
        let mut cells = Vec::new();
        for (system, costs) in [("pendulum", pendulum), ("glucose-in-blood", glucose)] {
            for (strategy, cost) in STRATEGIES.iter().zip(costs) {
                for seed in 0..2 {
                    cells.push(learned(system, strategy.name(), seed, cost + 0.001 * seed as f64));
                }
            }
        }
        [("table1".to_owned(), study(cells))].into()
    }

    /// All claims in one line.
    fn said(studies: &BTreeMap<String, Studied>) -> String {
        claims(studies).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn verdicts_go_by_the_share_of_cases() {
        let texts = [(3, 3), (2, 3), (1, 2), (0, 3)].map(|(yes, all)| Verdict::of(yes, all).text());
        assert_eq!(texts, ["holds", "holds with exceptions", "does not hold", "does not hold"]);
        let texts = [(3, 0, 3), (1, 0, 3), (1, 1, 3), (0, 0, 3)]
            .map(|(yes, no, all)| Verdict::of_duels(yes, no, all).text());
        assert_eq!(texts, ["holds", "holds with exceptions", "does not hold", "does not hold"]);
    }

    #[test]
    fn the_hold_is_beaten_by_every_strategy_or_there_is_an_exception() {
        let text = said(&table([20.1, 20.1, 20.2], [20.1, 20.1, 20.2]));
        assert!(text.contains("with known dynamics: holds.** The mean final cost is below"), "{text}");
        assert!(text.contains("on 2 of 2 systems with every measurement strategy (6 of 6 pairs"), "{text}");
        // The margins are 20.5 − 20.2005 and 20.5 − 20.1005, relative to 20.
        assert!(text.contains("by 1.50 % (Glucose in blood) to 2.00 % (Pendulum)"), "{text}");
        assert!(!text.contains("Exception"), "{text}");

        let text = said(&table([20.1, 20.1, 20.55], [20.1, 20.1, 20.2]));
        assert!(text.contains("with known dynamics: does not hold.**"), "1 of 2 is no rule: {text}");
        assert!(text.contains("(5 of 6 pairs of system and strategy, 10 of 12 runs)"), "{text}");
        assert!(
            text.contains("Exception: Pendulum, whose optimal zero-order hold is 2.50 % above"),
            "{text}"
        );
        assert!(text.contains("paper computes it on 2 of 2."), "{text}");

        let text = said(&table([21.0; 3], [21.0; 3]));
        assert!(
            text.contains("with known dynamics: does not hold.**"),
            "a claim that fails is not left out: {text}"
        );
        assert!(
            text.contains("(0 of 6 pairs of system and strategy, 0 of 12 runs). Exception: Glucose"),
            "{text}"
        );
    }

    #[test]
    fn a_hold_that_is_as_good_as_continuous_control_is_named_as_such() {
        let mut studies = table([20.1, 20.1, 20.2], [20.1, 20.1, 20.2]);
        for cell in &mut studies.get_mut("table1").unwrap().results.cells {
            if cell.cell.system == "glucose-in-blood" {
                cell.known = cell.known.map(|known| Known { held: 20.001, ..known });
            }
        }
        let text = said(&studies);
        let because = "Glucose in blood cannot: its optimal zero-order hold, 0.00500 % above the optimum, is as good as continuous control; \
                       the best strategy ends 0.498 % above it.";
        assert!(text.contains(because), "{text}");
    }

    #[test]
    fn adaptive_strategies_are_compared_system_by_system() {
        let text = said(&table([20.1, 20.1, 20.2], [20.3, 20.1, 20.2]));
        assert!(text.contains("beat equidistant measurements: does not hold.**"), "{text}");
        assert!(
            text.contains("on 1 of 2 systems (max kernel distance on 1, max determinant on 2;"),
            "{text}"
        );
        assert!(text.contains("by more than two standard errors on 2)"), "{text}");
        assert!(
            text.contains("Exceptions: Glucose in blood, max kernel distance (+1.50 % against +1.00 %)."),
            "{text}"
        );
        // Equal regret in the first episodes, less in every later one.
        assert!(text.contains("regret of max determinant is the lower one on 2 of 2"), "{text}");
    }

    #[test]
    fn convergence_needs_both_a_small_gap_and_sublinear_regret() {
        let text = said(&table([20.1, 20.1, 20.1], [20.1, 20.1, 20.1]));
        assert!(
            text.contains("(sublinear regret): holds.**") && text.contains("12 of 12 runs end within 1 %"),
            "{text}"
        );
        let text = said(&table([20.1, 20.1, 25.0], [20.1, 20.1, 20.1]));
        assert!(text.contains("(sublinear regret): holds with exceptions.**"), "{text}");
        assert!(text.contains("for 5 of 6 (largest: +25.0 %, Pendulum, equidistant)"), "{text}");
        assert!(text.contains("10 of 12 runs end within 1 %"), "{text}");
    }

    #[test]
    fn optimism_is_compared_with_the_mean_all_else_equal() {
        let with = |strategy: &str, explore: &str, first: f64| {
            let set = [("strategy", strategy), ("explore", explore)];
            run("pendulum", &set, 0, &[(300.0, DONE), (first, DONE), (20.1, DONE)])
        };
        let cells = vec![
            with("equidistant", "optimistic", 30.0),
            with("equidistant", "mean", 60.0),
            with("oracle", "optimistic", 70.0),
            with("oracle", "mean", 50.0),
            with("max-determinant", "optimistic", 25.0),
            with("max-determinant", "thompson", 24.0),
        ];
        let text = said(&[("optimism".to_owned(), study(cells))].into());
        assert!(text.contains("Optimism helps: does not hold.**"), "{text}");
        assert!(
            text.contains("in 1 of 2 cases (equidistant 10.1 against 40.1 and oracle 50.1 against 30.1)"),
            "{text}"
        );
    }

    #[test]
    fn measurements_are_counted_until_the_cost_stays_near() {
        // Two measurements per episode: near the optimum from episode 1, from episode 2, or never.
        let with = |strategy: &str, count: &str, costs: [(f64, &str); 3]| {
            run("pendulum", &[("strategy", strategy), ("measurements", count)], 0, &costs)
        };
        let (soon, late) =
            ([(300.0, DONE), (20.1, DONE), (20.1, DONE)], [(300.0, DONE), (50.0, DONE), (20.1, DONE)]);
        let never = [(300.0, DONE), (20.1, DONE), (20.1, OUT)];
        let cells = |equidistant: [(f64, &str); 3]| {
            vec![
                with("max-determinant", "1", never),
                with("max-determinant", "2", soon),
                with("equidistant", "1", never),
                with("equidistant", "2", equidistant),
            ]
        };
        let said = |cells| said(&[("total-measurements".to_owned(), study(cells))].into());
        let text = said(cells(late));
        assert!(
            text.contains("need fewer measurements: holds.**") && text.contains("(Pendulum 2 against 4)"),
            "{text}"
        );
        assert!(said(cells(never)).contains("holds.**") && said(cells(never)).contains("2 against never"));
        assert!(said(cells(soon)).contains("does not hold.** Until all episodes"), "as many are not fewer");
        // A system whose exploratory episode is near the optimum gives no information about measurements.
        let mut more = cells(late);
        let trivial = [(20.1, DONE), (20.1, DONE), (20.1, DONE)];
        for strategy in ["max-determinant", "equidistant"] {
            let set = [("strategy", strategy), ("measurements", "2")];
            more.push(run("glucose-in-blood", &set, 0, &trivial));
        }
        let text = said(more);
        assert!(
            text.contains("need fewer measurements: holds.**") && text.contains("(on 1 of 1 systems)"),
            "{text}"
        );
        assert!(text.contains("more than the optimum: Glucose in blood."), "{text}");
    }

    #[test]
    fn without_results_nothing_is_claimed() {
        assert_eq!(claims(&BTreeMap::new()), "");
        assert_eq!(claims(&[("table1".to_owned(), study(Vec::new()))].into()), "");
    }
}
