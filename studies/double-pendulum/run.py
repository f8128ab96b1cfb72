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
    "identified 1.0": {},
    "identified 2.0": dict(m1=0.7586436, m2=0.3369369, r2=0.4684380, I1=0.0421116, I2=0.0510353, b1=0.0036909, b2=0.00064509, c1=0.1746719, c2=0.11),
    "identified 3.0": dict(m1=0.8745955, m2=0.2204146, r2=0.3267492, I1=0.0357113, I2=0.01, Ir=5.13367e-05, b1=0.049379, b2=0.0200409, c1=0.0331496, c2=0.0352114),
}


def rigid(parameters):
    text = (HERE / "rigid.toml").read_text()
    for name, value in parameters.items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocorl", default="ocorl")
    parser.add_argument("--data", required=True)
    parser.add_argument("--samples", type=int, nargs="*", default=[100, 300, 600])
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
            lab = folder / label.replace(" ", "-")
            (folder / f"{lab.name}.toml").write_text(system)
            call("study", "new", lab, "--system", folder / f"{lab.name}.toml")
            if samples:
                mapping = folder / f"{lab.name}-map.toml"
                text = (HERE / "map.toml").read_text()
                mapping.write_text(re.sub(r"(?m)^rows .*$", f"rows = {samples // len(TRAIN)}", text))
                call("study", "import", lab, *(data / f"{file}.csv" for file in TRAIN), "--map", mapping)
            files = [data / f"{file}.csv" for file in TEST]
            found = json.loads(call("study", "predict", lab, *files, "--map", HERE / "map.toml", "--every", "0.2", "--json"))
            for recording in found["recordings"]:
                one, half = recording["errors"]
                angle = lambda e, key: (sum(x * x for x in e[key][:2]) / 2) ** 0.5
                speed = lambda e, key: (sum(x * x for x in e[key][2:]) / 2) ** 0.5
                print(
                    f"{label:28} {pathlib.Path(recording['file']).stem:22}"
                    f" one step: angle {angle(one, 'rms'):.5f} velocity {speed(one, 'rms'):.4f}"
                    f"  0.5 s: angle {angle(half, 'rms'):.4f} (median {angle(half, 'median'):.4f})"
                    f" velocity {speed(half, 'rms'):.3f}",
                    flush=True,
                )

        for label, parameters in IDENTIFIED.items():
            show(label, rigid(parameters), 0)
        for samples in arguments.samples:
            show(f"kinematics + {samples} samples", (HERE / "kinematics.toml").read_text(), samples)
            show(f"identified 1.0 + {samples} samples", rigid({}), samples)
            show(f"identified 3.0 + {samples} samples", rigid(IDENTIFIED["identified 3.0"]), samples)


main()
