"""Best known costs of the hard tasks by an independent method: direct collocation with CasADi and IPOPT from many starts.

Each task file of this folder is read as it is. Controls are constant on N equal intervals, as in a plan of ocorl; the states are cubic
polynomials on each interval, by collocation at three Radau points, and the running cost is integrated at these points. Constraints hold
at the start of each interval and at the end. Starts are smooth random controls with their simulated states, or states on straight lines.
The best solution of all starts is solved again on a finer grid, whose cost is the reference.

    pip install casadi==3.8.2 numpy
    python studies/hard/collocation.py --starts 200 --seconds 60 --out studies/hard/reference.csv [TASK ...]
"""

import argparse
import csv
import time
import tomllib
from pathlib import Path

import casadi as ca
import numpy as np

FOLDER = Path(__file__).resolve().parent
FUNCTIONS = {name: getattr(ca, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "atan", "fabs")}
FUNCTIONS |= {"abs": ca.fabs, "pi": np.pi}
IPOPT = {"tol": 1e-9, "constr_viol_tol": 1e-10, "max_iter": 1000, "print_level": 0, "sb": "yes", "acceptable_iter": 0}


class Task:
    """A task file as CasADi functions."""

    def __init__(self, path):
        data = tomllib.loads(path.read_text())
        system = data["system"]
        self.name, self.states, self.inputs = path.stem, system["states"], list(system["inputs"])
        self.x0, self.horizon = np.array(system["x0"], float), float(system["horizon"])
        self.lower, self.upper = np.array(list(system["inputs"].values()), float).T
        safe = data.get("hardware", {}).get("safe_input", {})
        rest = np.clip(0.0, self.lower, self.upper)
        self.safe = np.array([safe.get(name, rest[i]) for i, name in enumerate(self.inputs)], float)
        x, u, t = ca.SX.sym("x", len(self.states)), ca.SX.sym("u", len(self.inputs)), ca.SX.sym("t")
        names = dict(FUNCTIONS) | {k: float(v) for k, v in data.get("parameters", {}).items()} | {"t": t}
        names |= {n: x[i] for i, n in enumerate(self.states)} | {n: u[i] for i, n in enumerate(self.inputs)}

        def value(text):
            return eval(str(text).replace("^", "**"), {"__builtins__": {}}, names)  # files of this folder only

        for name, text in data.get("definitions", {}).items():
            names[name] = value(text)
        f = ca.vertcat(*(value(data["equations"][name]) for name in self.states))
        cost = data["cost"]
        target = {name: 0.0 for name in self.states + self.inputs} | cost.get("target", {})

        def weighted(weights):
            return sum(w * (names[n] - target[n]) ** 2 for n, w in weights.items())

        running = value(cost["running"]) if "running" in cost else weighted(cost.get("state", {})) + weighted(cost.get("input", {}))
        terminal = cost.get("terminal", {})
        terminal = value(terminal) if isinstance(terminal, str) else weighted(terminal)

        def side(text):
            less = "<=" in text
            left, right = (value(part) for part in text.split("<=" if less else ">="))
            return left - right if less else right - left

        both = data.get("constraints", {})
        path_g = [side(text) for text in both.get("path", [])]
        end_g = [side(text) for text in both.get("end", [])]
        depends = [ca.depends_on(ca.SX(g), u) for g in path_g]
        self.f = ca.Function("f", [t, x, u], [f, running])
        self.terminal = ca.Function("terminal", [x], [terminal])
        self.path = ca.Function("path", [t, x, u], [ca.vertcat(*path_g)])
        self.end = ca.Function("end", [t, x], [ca.vertcat(*end_g, *(g for g, d in zip(path_g, depends) if not d))])


class Collocation:
    """The transcription of a task on N intervals."""

    def __init__(self, task, intervals):
        self.task, self.n = task, intervals
        nx, nu, h = len(task.states), len(task.inputs), task.horizon / intervals
        tau = [0.0, *ca.collocation_points(3, "radau")]
        d = np.zeros((4, 4))
        for j in range(4):
            p = np.poly1d([1.0])
            for r in range(4):
                if r != j:
                    p *= np.poly1d([1.0, -tau[r]]) / (tau[j] - tau[r])
            d[j] = [np.polyder(p)(point) for point in tau]
        # Quadrature weights of the three points.
        b = np.linalg.solve(np.vander(tau[1:], increasing=True).T, [1.0, 1 / 2, 1 / 3])
        z, xc, u, t = ca.SX.sym("z", nx), ca.SX.sym("xc", nx, 3), ca.SX.sym("u", nu), ca.SX.sym("t")
        defects, cost = [], 0
        for j in range(1, 4):
            slope = d[0, j] * z + sum(d[r, j] * xc[:, r - 1] for r in range(1, 4))
            f, c = task.f(t + h * tau[j], xc[:, j - 1], u)
            defects.append(slope - h * f)
            cost += h * b[j - 1] * c
        step = ca.Function("step", [t, z, xc, u], [ca.vertcat(*defects), cost])
        X, C, U = ca.MX.sym("X", nx, intervals + 1), ca.MX.sym("C", nx, 3 * intervals), ca.MX.sym("U", nu, intervals)
        times = np.linspace(0, task.horizon, intervals + 1)
        total, g, low, high = task.terminal(X[:, -1]), [X[:, 0] - task.x0], [np.zeros(nx)], [np.zeros(nx)]
        for k in range(intervals):
            defect, c = step(times[k], X[:, k], C[:, 3 * k : 3 * k + 3], U[:, k])
            g += [defect, C[:, 3 * k + 2] - X[:, k + 1]]
            low, high = [*low, np.zeros(4 * nx)], [*high, np.zeros(4 * nx)]
            total += c
            path = task.path(times[k], X[:, k], U[:, k])
            if path.shape[0]:
                g.append(path)
                low, high = [*low, np.full(path.shape[0], -np.inf)], [*high, np.zeros(path.shape[0])]
        end = task.end(times[-1], X[:, -1])
        if end.shape[0]:
            g.append(end)
            low, high = [*low, np.full(end.shape[0], -np.inf)], [*high, np.zeros(end.shape[0])]
        variables = ca.vertcat(ca.vec(X), ca.vec(C), ca.vec(U))
        free = np.full(nx * (4 * intervals + 1), np.inf)
        self.bounds = dict(
            lbx=np.concatenate([-free, np.tile(task.lower, intervals)]),
            ubx=np.concatenate([free, np.tile(task.upper, intervals)]),
            lbg=np.concatenate(low), ubg=np.concatenate(high),
        )
        problem = {"x": variables, "f": total, "g": ca.vertcat(*g)}
        self.solver = ca.nlpsol("solver", "ipopt", problem, {"ipopt": IPOPT, "print_time": False})
        self.shape = nx, nu

    def start(self, rng, number):
        """Smooth random controls around the safe input, and their states: simulated, or on a straight line."""
        task, (nx, nu) = self.task, self.shape
        s = np.linspace(0, 1, self.n)
        half = np.where(np.isfinite(task.upper - task.lower), 0.5 * (task.upper - task.lower), 1.0)
        u = np.tile(task.safe, (self.n, 1))
        if number:
            for i in range(nu):
                for _ in range(3):
                    wave = np.sin(2 * np.pi * (rng.uniform(0, 3) * s + rng.uniform()))
                    u[:, i] += rng.normal() * rng.choice([0.1, 0.5]) * half[i] * wave
        u = np.clip(u, task.lower, task.upper)
        x, h = [task.x0], task.horizon / self.n
        for k in range(self.n):
            slope = lambda t, z: np.array(task.f(t, z, u[k])[0]).ravel()
            t, z = k * h, x[-1]
            k1 = slope(t, z); k2 = slope(t + h / 2, z + h / 2 * k1)
            k3 = slope(t + h / 2, z + h / 2 * k2); k4 = slope(t + h, z + h * k3)
            x.append(z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        x = np.array(x)
        if number % 2 or not np.isfinite(x).all() or np.abs(x).max() > 1e4:
            goal = task.x0 + rng.normal(size=nx) * np.pi * (number > 0)
            x = task.x0 + np.linspace(0, 1, self.n + 1)[:, None] * (goal - task.x0)
        return variables(x, u)

    def finer(self, solution, times):
        """A solution as a guess on `times` as many intervals."""
        (nx, nu), n = self.shape, self.n
        x, u = solution[: nx * (n + 1)].reshape(-1, nx), solution[-nu * n :].reshape(-1, nu)
        nodes = np.linspace(0, n, n * times + 1)
        fine = np.stack([np.interp(nodes, np.arange(n + 1), column) for column in x.T], 1)
        return variables(fine, np.repeat(u, times, 0))

    def solve(self, guess):
        found = self.solver(x0=guess, **self.bounds)
        status = self.solver.stats()
        g = np.array(found["g"]).ravel()
        violation = max(0.0, (g - self.bounds["ubg"]).max(), (self.bounds["lbg"] - g).max())
        return float(found["f"]), status["success"] and violation < 1e-6, np.array(found["x"]).ravel()


def variables(x, u):
    """The variables of the transcription, with the inner points on straight lines."""
    inner = np.stack([x[:-1] + (x[1:] - x[:-1]) * tau for tau in ca.collocation_points(3, "radau")], 1)
    return np.concatenate([x.ravel(), inner.ravel(), u.ravel()])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--intervals", type=int, default=100)
    parser.add_argument("--refine", type=int, default=4, help="the best solution is solved again on so many times the intervals")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most this long for each task")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    writer = None
    for path in sorted(FOLDER.glob("*.toml")):
        if options.tasks and path.stem not in options.tasks:
            continue
        problem, rng = Collocation(Task(path), options.intervals), np.random.default_rng(0)
        costs, durations, begin, best = [], [], time.process_time(), None
        for number in range(options.starts):
            before = time.process_time()
            cost, success, solution = problem.solve(problem.start(rng, number))
            durations.append(time.process_time() - before)
            if success:
                best = solution if not costs or cost < min(costs) else best
                costs.append(cost)
            if time.process_time() - begin > options.seconds:
                break
        least, refined, fine = min(costs, default=np.nan), np.nan, options.refine * options.intervals
        if costs:
            cost, success, _ = Collocation(problem.task, fine).solve(problem.finer(best, options.refine))
            refined = cost if success else np.nan
        row = {
            "task": path.stem, "best": f"{refined:.6g}", "intervals": fine, "best_of_starts": f"{least:.6g}",
            "intervals_of_starts": options.intervals, "starts": len(durations), "converged": len(costs),
            "within_1_percent": sum(cost <= least + 0.01 * abs(least) for cost in costs),
            "median": f"{np.median(costs):.6g}" if costs else "", "cpu_seconds_a_start": f"{np.median(durations):.2f}",
            "casadi": ca.__version__, "date": time.strftime("%Y-%m-%d"),
        }
        print(row, flush=True)
        if options.out:
            with options.out.open("a" if writer else "w", newline="") as file:
                writer = csv.DictWriter(file, row)
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(row)


if __name__ == "__main__":
    main()
