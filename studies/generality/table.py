"""Prints the Markdown tables of README.md from optimum.csv, planner.csv and results.csv.

    python table.py [--results results.csv] [--planner planner.csv]
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
ORDER = ["van-der-pol", "lotka-volterra", "acrobot", "race-car", "cstr", "crane", "two-tanks", "ball-and-beam",
         "reaction-wheel", "epidemic"]


def percent(gap):
    """A gap in percent, with as many digits as it deserves."""
    if gap is None:
        return "–"
    value = 100 * gap
    return f"{value:+.3f}" if abs(value) < 1 else f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.1e}"


def learned_from(gaps):
    """First episode from which every one completed within 1 %; none if the last did not."""
    first = None
    for episode in sorted(gaps, reverse=True):
        if gaps[episode] is None or gaps[episode] > 0.01:
            break
        first = episode
    return first


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--planner", type=Path, default=HERE / "planner.csv")
    arguments = parser.parse_args()
    read = lambda path: list(csv.DictReader(path.open())) if path.exists() else []
    optimum = {r["plant"]: r for r in read(HERE / "optimum.csv")}
    planner, runs = defaultdict(list), defaultdict(lambda: defaultdict(dict))
    for row in read(arguments.planner):
        planner[row["plant"]].append(row)
    for row in read(arguments.results):
        runs[row["plant"]][int(row["seed"])][int(row["episode"] or -1)] = row

    print("| plant | optimum | mesh | starts | at the best | other optima | integrated again |")
    print("|---|---:|---:|---:|---:|---|---:|")
    for plant in ORDER:
        if plant in optimum:
            o = optimum[plant]
            others = ", ".join(o["other_optima"].split()) or "none"
            again = f"{float(o['reintegrated']):.6g} ({o['reintegration'].split(';')[0]})"
            print(f"| {plant} | {float(o['optimum']):.6g} | {o['mesh']} | {o['starts']} | {o['best_found']} of "
                  f"{o['converged']} | {others} | {again} |")

    number = lambda text: float(text) if text not in ("", None) else None
    join = lambda values: values[0] if len(set(values)) == 1 else ", ".join(values)
    show = lambda values: join([f"{v:.5g}" if v is not None else "none" for v in values]) if values else "–"
    print("\n| plant | optimum | `ocorl optimal`, tracked | gap % | as planned (open loop) |")
    print("|---|---:|---:|---:|---|")
    for plant in ORDER:
        if plant in optimum and plant in planner:
            best = float(optimum[plant]["optimum"])
            tracked, open_loop = ([number(r[key]) for r in planner[plant]] for key in ("tracked", "open_loop"))
            known = [v for v in tracked if v is not None]
            gap = percent(max(known) / best - 1) if known else "–"
            print(f"| {plant} | {best:.5g} | {show(tracked)} | {gap} | {show(open_loop)} |")

    print("\n| plant | optimum | final gap %, by seed | median | worst | within 1 % from episode, by seed (median) | "
          "early ends | |")
    print("|---|---:|---|---:|---:|---|---:|---|")
    for plant in ORDER:
        if plant not in optimum or plant not in runs:
            continue
        best, finals, froms, early, total = float(optimum[plant]["optimum"]), [], [], 0, 0
        for seed in sorted(runs[plant]):
            gaps = {}
            for episode, row in sorted(runs[plant][seed].items()):
                if episode < 0:
                    continue
                complete = row["outcome"] == "completed"
                total, early = total + 1, early + (not complete)
                gaps[episode] = float(row["cost"]) / best - 1 if complete else None
            finals.append(gaps[max(gaps)] if gaps else None)
            froms.append(learned_from(gaps))
        endless = float("inf")
        shown = lambda gap: "early" if gap in (None, endless) else percent(gap)
        numbers = [endless if gap is None else gap for gap in finals]
        episodes = [endless if first is None else first for first in froms]
        count = sum(first is not None for first in froms)
        middle = "never" if median(episodes) == endless else f"{median(episodes):g}"
        when = "never" if not count else ", ".join("never" if f is None else str(f) for f in froms) + f" ({middle})"
        verdict = "learned" if count == len(froms) else f"{count} of {len(froms)} seeds" if count else "not learned"
        print(f"| {plant} | {best:.5g} | {', '.join(map(shown, finals))} | {shown(median(numbers))} | "
              f"{shown(max(numbers))} | {when} | {early} of {total} | {verdict} |")


if __name__ == "__main__":
    main()
