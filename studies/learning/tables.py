#!/usr/bin/env python3
"""Makes tables (Markdown, to standard output) from the cells that cells.py ran.

    python3 studies/learning/tables.py quality          (or pendulum, explore, track, excitation, reference)
    python3 studies/learning/tables.py pendulum --figure | cargo run -q --release -p ocorl-view --example draw > pendulum.svg
"""

import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).parent
# Table 1 of the paper: (max kernel distance, max determinant, equidistant), and the exact optimum (studies/ground_truth).
PAPER = {
    "cancer-treatment": (20.70, 20.68, 21.05, 20.57331), "glucose-in-blood": (15.23, 15.24, 15.25, 15.24120),
    "pendulum": (20.20, 20.20, 20.29, 20.16024), "mountain-car": (34.63, 34.63, 34.64, 34.72067),
    "cart-pole": (17.52, 17.53, 17.63, 17.49512), "bicycle": (9.53, 9.53, 9.67, 9.45086),
    "furuta-pendulum": (23.64, 23.52, 314.77, 23.33624), "quadrotor-2d": (3.54, 3.54, 3.57, 3.53407),
    "quadrotor-3d": (7.51, 7.54, 9.41, 7.32911),
}
TABLE = ["max-kernel-distance", "max-determinant", "equidistant"]


def load(study):
    file = HERE / f"{study}.jsonl"
    cells = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    bad = [c for c in cells if c["error"]]
    for c in bad:
        print("failed:", c["system"], c["strategy"], c["seed"], c["error"], file=sys.stderr)
    return [c for c in cells if c["final_cost"] is not None]


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def settled(cell, share, optimum):
    """First episode from which the cost stays within a share of the optimum; none: None."""
    first = None
    for i, e in enumerate(cell["episodes"]):
        good = abs(e["cost"] - optimum) <= share * optimum
        first = (i if first is None else first) if good else None
    return first


def quality():
    print("| system | strategy | paper | ours: mean ± std | above the exact optimum | worst seed | within 1 % from episode | "
          "within 0.1 % from | N | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    cells = load("quality")
    for system, (*paper, optimum) in PAPER.items():
        for strategy, printed in zip(TABLE, paper):
            of = [c for c in cells if c["system"] == system and c["strategy"] == strategy]
            if not of:
                continue
            final = [c["final_cost"] for c in of]
            mean, worst = statistics.mean(final), max(final)
            first = [settled(c, 0.01, optimum) for c in of]
            tenth = [settled(c, 0.001, optimum) for c in of]
            show = lambda v: ", ".join("–" if x is None else str(x) for x in v)
            print(f"| {system} | {strategy} | {printed:.2f} | {mean:.4f} ± {spread(final):.4f} | {100 * (mean / optimum - 1):+.3f} % | "
                  f"{100 * (worst / optimum - 1):+.3f} % | {show(first)} | {show(tenth)} | {len(of[0]['episodes'])} | "
                  f"{statistics.mean(c['cpu_seconds'] for c in of):.1f} |")


def per_episode(study, groups, label, picks=(1, 2, 3, 4, 5, 6, 8, 10, 15, 19)):
    """Median cost by episode; for the pendulum's strategies, which differ little, the cost above the optimum in thousandths."""
    cells, fine = load(study), study == "pendulum"
    above = lambda c: f"{1000 * (c - PAPER['pendulum'][3]):.1f}" if fine else f"{c:.3f}"
    print(f"| {label} | " + " | ".join(f"ep. {i}" for i in picks) + " | cumulative regret | measurements |")
    print("|---|" + "---|" * (len(picks) + 2))
    for name, chosen in groups(cells):
        row = []
        for i in picks:
            costs = [c["episodes"][i]["cost"] for c in chosen if i < len(c["episodes"])]
            row.append(above(statistics.median(costs)) if costs else "–")
        regret = statistics.median(sum(e["regret"] for e in c["episodes"][1:]) for c in chosen)
        counts = statistics.mean(c["episodes"][-1]["measurements"] for c in chosen)
        print(f"| {name} | " + " | ".join(row) + f" | {regret:.{3 if fine else 1}f} | {counts:.0f} |")


def grouped(key):
    def groups(cells):
        names = list(dict.fromkeys(key(c) for c in cells))
        return [(n, [c for c in cells if key(c) == n]) for n in names]
    return groups


def coverage():
    """Share of executed trajectories on which f lies within the bands, from episode 3 on (30 measurements)."""
    print("| system | information-gain: within μ ± βσ (promised 0.90) | calibrated: within μ ± 1.96 βσ (promised 0.95) |")
    print("|---|---|---|")
    cells = load("coverage")
    for system in dict.fromkeys(c["system"] for c in cells):
        row = []
        for schedule, field in [("information-gain", "coverage"), ("calibrated", "coverage_95")]:
            of = [c for c in cells if c["system"] == system and schedule in c["changes"][0]]
            shares = [e[field] for c in of for e in c["episodes"][3:] if e[field] is not None]
            row.append(f"{statistics.mean(shares):.3f}" if shares else "–")
        print(f"| {system} | {row[0]} | {row[1]} |")


def quantile(values, share):
    """The share-quantile, linear between neighbours."""
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def figure():
    """One panel for each strategy: cost above the optimum, optimistic and greedy, median and 20-80 % band over the seeds."""
    cells, optimum = load("pendulum"), PAPER["pendulum"][3]
    panels = []
    for strategy in dict.fromkeys(c["strategy"] for c in cells):
        marks = []
        for series, (explore, label) in enumerate([("optimistic", "optimistic"), ("mean", "greedy (mean)")]):
            of = [c for c in cells if c["strategy"] == strategy and c["explore"] == explore]
            if not of:
                continue
            x = list(range(1, len(of[0]["episodes"])))
            at = lambda share: [max(quantile([c["episodes"][i]["cost"] for c in of], share) - optimum, 1e-5) for i in x]
            look = {"label": label, "color": {"series": series}}
            marks.append({"kind": "band", "x": x, "lower": at(0.2), "upper": at(0.8), **look})
            marks.append({"kind": "line", "x": x, "y": at(0.5), **look, "dash": "dashed" if series else "solid"})
        paper = {"max-kernel-distance": 20.20, "max-determinant": 20.20, "equidistant": 20.29}.get(strategy)
        if paper:
            marks.append({"kind": "horizontal", "y": paper - optimum, "label": "paper, last episode", "color": "muted", "dash": "dotted"})
        panels.append({"title": strategy, "x": {"label": "episode"}, "y": {"label": "regret", "scale": "log"}, "marks": marks})
    print(json.dumps({"title": "Pendulum: when to measure, and what to plan for",
                      "subtitle": "Cost above the optimum: median and 20-80 % band over ten seeds, ten measurements per episode",
                      "panels": panels, "columns": 2}))


study = sys.argv[1] if len(sys.argv) > 1 else "quality"
if "--figure" in sys.argv:
    figure()
elif study == "quality":
    quality()
elif study == "coverage":
    coverage()
else:
    keys = {
        "pendulum": lambda c: f"{c['strategy']}, {c['explore']}",
        "explore": lambda c: f"{c['system']}, {c['explore']}",
        "track": lambda c: f"{c['system']}, {', '.join(x.split('=', 1)[-1] if 'policy' in x else x for x in c['changes'])}",
        "excitation": lambda c: f"{c['strategy']}, {'sin t' if '100' in c['changes'][0] else '0.01 sin t'}",
        "reference": lambda c: f"{c['system']}, {c['strategy']}",
    }
    per_episode(study, grouped(keys[study]), "median over seeds")
