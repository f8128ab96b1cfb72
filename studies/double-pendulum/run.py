"""Recordings of a real double pendulum: prediction errors of learned and identified models on runs they have not seen.

    python3 studies/double-pendulum/run.py --ocorl target/debug/ocorl --data FOLDER

FOLDER holds the recordings of the laboratory. Models learn from the training files, thinned to the stated number of samples, and
predict the test files. The three identified models of the laboratory predict the same files from the same estimated states.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TRAIN = ["identification-1", "identification-2", "pendubot-learned-1", "acrobot-learned-1", "pendubot-learned-2", "acrobot-learned-2"]
TEST = ["identification-3", "identification-4", "pendubot-learned-3", "pendubot-learned-4", "acrobot-learned-3", "acrobot-learned-4", "pendubot-tvlqr-2"]
IDENTIFIED = {
    "laboratory 1.0": {},
    "laboratory 2.0": dict(m1=0.7586436, m2=0.3369369, r2=0.4684380, I1=0.0421116, I2=0.0510353, b1=0.0036909, b2=0.00064509, c1=0.1746719, c2=0.11),
    "laboratory 3.0": dict(m1=0.8745955, m2=0.2204146, r2=0.3267492, I1=0.0357113, I2=0.01, Ir=5.13367e-05, b1=0.049379, b2=0.0200409, c1=0.0331496, c2=0.0352114),
}
# A rough guess, as it would be made with a ruler and scales: rods of 0.5 kg, some friction.
GUESS = dict(m1=0.5, m2=0.5, r2=0.2, I1=0.03, I2=0.03, Ir=5e-5, b1=0.01, b2=0.01, c1=0.1, c2=0.1)


def rigid(parameters, noise=10.0, estimate=False):
    text = (HERE / "rigid.toml").read_text()
    for name, value in parameters.items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
    text = re.sub(r"omega(\d) = 10\.0", rf"omega\1 = {noise}", text)
    return text.replace("estimate = false", "estimate = true") if estimate else text


def both(errors, key, part):
    """Root mean square over some states."""
    return (sum(x * x for x in errors[key][part]) / 2) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocorl", default="ocorl")
    parser.add_argument("--data", required=True)
    parser.add_argument("--samples", type=int, nargs="*", default=[102, 300, 600])
    arguments = parser.parse_args()
    data = pathlib.Path(arguments.data)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def call(*words):
            done = subprocess.run([arguments.ocorl, *map(str, words)], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{words}: {done.stderr}")
            return done.stdout

        def show(label, system, samples):
            lab = folder / re.sub(r"[^\w.]+", "-", label)
            (folder / f"{lab.name}.toml").write_text(system)
            call("study", "new", lab, "--system", folder / f"{lab.name}.toml")
            if samples:
                mapping = folder / f"{lab.name}-map.toml"
                text = (HERE / "map.toml").read_text()
                mapping.write_text(re.sub(r"(?m)^rows .*$", f"rows = {samples // len(TRAIN)}", text))
                call("study", "import", lab, *(data / f"{file}.csv" for file in TRAIN), "--map", mapping)
            files = [data / f"{file}.csv" for file in TEST]
            found = json.loads(call("study", "predict", lab, *files, "--map", HERE / "map.toml", "--every", "0.2", "--json"))
            each = [recording["errors"] for recording in found["recordings"]]
            angles = slice(0, 2)
            mean = lambda values: sum(values) / len(values)
            print(f"| {label} ", end="")
            for long in each:
                print(f"| {both(long[1], 'rms', angles):.3f} ({both(long[1], 'median', angles):.3f}) ", end="")
            print(f"| **{mean([both(e[1], 'rms', angles) for e in each]):.3f}** ", end="")
            print(f"| {mean([both(e[0], 'rms', angles) for e in each]):.5f} |", flush=True)
            if found.get("parameters"):
                print("   ", ", ".join(f"{name} {value:.4g}" for name, value in found["parameters"].items()), file=sys.stderr)

        print("| model |", " | ".join(TEST), "| mean | one step |")
        print("|---" * (len(TEST) + 3) + "|")
        for label, parameters in IDENTIFIED.items():
            show(label, rigid(parameters), 0)
        for samples in arguments.samples:
            show(f"kinematics, {samples} samples", (HERE / "kinematics.toml").read_text(), samples)
            show(f"laboratory 1.0 + process, {samples} samples", rigid({}), samples)
            show(f"estimated from 1.0, {samples} samples", rigid({}, estimate=True), samples)
            show(f"estimated from 1.0, noise 3, {samples} samples", rigid({}, 3.0, True), samples)
            show(f"estimated from a guess, {samples} samples", rigid(GUESS, estimate=True), samples)


main()
