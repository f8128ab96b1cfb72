"""Disturbed data: what each disturbance costs, and what the user hears.

    python3 studies/disturbances/run.py --ocorl target/debug/ocorl --seeds 5

Each case is one study of the torque-limited pendulum over ten episodes, run by `ocorl study ask`, `ocorl rig` and
`ocorl study tell`. The disturbance begins in the named episode. The cost is the true one, as the simulated rig reports it. The
table lists, for each case, the clean cost, the cost of each episode from the disturbance on, and the notices of `tell`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
EPISODES = 10


def rows_times(text, rows, factor):
    """Multiplies the derivatives of some rows (from 0) of a measurement file."""
    lines = text.splitlines()
    data = [i for i, line in enumerate(lines) if line and line[0] not in "#t"]
    header = next(line for line in lines if line.startswith("t,")).split(",")
    for i in (data[r] for r in rows):
        cells = lines[i].split(",")
        for k, name in enumerate(header):
            if name.endswith("_dot"):
                cells[k] = repr(float(cells[k]) * factor)
        lines[i] = ",".join(cells)
    return "\n".join(lines) + "\n"


# name: (first disturbed episode, options of the rig in episode n, change of the file in episode n, words that name the cause)
def none(_n, text):
    return text


def only(episode, rows, factor):
    return lambda n, text: rows_times(text, rows, factor) if n == episode else text


def gain(n):
    return ["--gain", f"torque={0.95 ** max(0, n - 3)}"]


def last_gain(_n):
    return gain(EPISODES - 1)


CASES = {
    "clean": (0, lambda n: [], none, ""),
    "one row x 1000 in episode 1": (1, lambda n: [], only(1, [4], 1000), "from the model of the other rows"),
    "one row x 1000 in episode 0": (0, lambda n: [], only(0, [4], 1000), "from the model of the other rows"),
    "sign of u wrong, always": (0, lambda n: ["--scale", "torque=-1"], none, "sign of torque"),
    "gain -40 % from episode 4": (
        4,
        lambda n: ["--gain", "torque=0.6"] if n >= 4 else [],
        none,
        "times as strongly",
    ),
    "gain -40 % from the beginning": (0, lambda n: ["--gain", "torque=0.6"], none, ""),
    "gain -5 % per episode from 4": (4, gain, none, "times as strongly"),
    "the last of these gains from the beginning": (0, last_gain, none, ""),
    "sensor stuck in episode 4": (
        4,
        lambda n: ["--stuck", "omega=0", "--stuck", "omega_dot=0"] if n == 4 else [],
        none,
        "sensor is stuck",
    ),
    "derivatives flipped in episode 4": (4, lambda n: [], only(4, range(10), -1), "sign of all derivatives"),
    "omega_dot in degrees from 4": (
        4,
        lambda n: ["--scale", "omega_dot=57.29577951308232"] if n >= 4 else [],
        none,
        "omega_dot is 57.29",
    ),
    "noise 10 x": (0, lambda n: ["--noise", "10"], none, "noise of"),
    "noise 100 x": (0, lambda n: ["--noise", "100"], none, "noise of"),
    "10 % of rows x 1000": (0, lambda n: ["--spikes", "0.1"], none, "from the model of the other rows"),
    "20 % heavy tails": (0, lambda n: ["--tails", "0.2"], none, "heavy tails"),
}


def study(ocorl, case, seed, folder, extra):
    _, options, change, _ = CASES[case]
    system = str(HERE / "pendulum.toml")
    lab = folder / f"{case.split()[0]}-{abs(hash(case))}-{seed}"

    def call(*arguments):
        done = subprocess.run([ocorl, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr}")
        return done

    call("study", "new", str(lab), "--system", system, "--seed", str(seed), *extra)
    costs, heard = [], []
    for n in range(EPISODES):
        plan, file = lab / "plan.json", lab / "measured.csv"
        plan.write_text(call("study", "ask", str(lab)).stdout)
        text = change(n, call("rig", system, str(plan), *options(n)).stdout)
        file.write_text(text)
        costs.append(float(next(line.split()[-1] for line in text.splitlines() if line.startswith("# cost"))))
        told = json.loads(call("study", "tell", str(lab), str(file), "--json").stdout)
        heard += [f"{n}: {problem['text']}" for problem in told["data_problems"]]
    return costs, heard


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocorl", default="ocorl")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--case", action="append", help="only cases that contain this text")
    parser.add_argument("--set", action="append", default=[], help="a setting of the study, for a comparison")
    arguments = parser.parse_args()
    extra = [word for setting in arguments.set for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as folder:
        for case, (begin, _, _, words) in CASES.items():
            if arguments.case and not any(part in case for part in arguments.case):
                continue
            for seed in range(arguments.seeds):
                costs, heard = study(arguments.ocorl, case, seed, pathlib.Path(folder), extra)
                named = any(words in text for text in heard) if words else not heard
                shown = " ".join(f"{cost:.4g}" for cost in costs)
                print(f"{case:44} seed {seed}  {'named' if named else 'not named':9}  {shown}", flush=True)
                for text in dict.fromkeys(text.split(": ", 1)[1] for text in heard):
                    print(f"    {text}", flush=True)


main()
