"""Least cost of ten plants on their true equations, by a solver that shares no code with ocorl.

Direct collocation at three Legendre points per element with free controls at each of them, derivatives by CasADi,
the nonlinear programme by IPOPT. Each plant is solved on a coarse mesh from several starts (control at rest,
straight line to the target, random curves, random simulated controls); the best distinct ones are solved again on
ever finer meshes until the cost of the best changes by less than 1e-5. Its control is then integrated by DOP853,
element by element, as a function of time alone; where the plant is so unstable that this says nothing, with a
linear feedback around the trajectory. Writes optimum.csv.

The six own plants are read from their TOML files by a reader of its own, the four built-in ones are stated here again.

    pip install -r requirements.txt
    python optimum.py                    # all ten
    python optimum.py crane --starts 40  # one, its row of optimum.csv is replaced if the cost is lower
"""

import argparse
import csv
import re
import time
import tomllib
from pathlib import Path

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

HERE = Path(__file__).resolve().parent
OWN = ["cstr", "crane", "two-tanks", "ball-and-beam", "reaction-wheel", "epidemic"]
BUILT_IN = ["acrobot", "race-car", "van-der-pol", "lotka-volterra"]
FIELDS = ["plant", "optimum", "mesh", "mesh_change", "starts", "converged", "best_found", "spread", "other_optima",
          "reintegrated", "reintegration", "seconds"]
DEGREE = 3
TAU = np.array(ca.collocation_points(DEGREE, "legendre"))
SLOPE, END, WEIGHT = ca.collocation_coeff(list(TAU))
PI = np.pi
INF = np.inf


# --- Plants -------------------------------------------------------------------------------------------------------

class Plant:
    """x' = f(x, u), running cost, terminal cost; limits; typical sizes of states and inputs."""

    def __init__(self, name, x0, horizon, f, running, terminal, u_low, u_high, rest, target,
                 x_low=None, x_high=None, elements=100, spread=1.0, sizes=None):
        self.name, self.horizon, self.elements, self.spread = name, float(horizon), elements, spread
        self.x0, self.rest = np.array(x0, float), np.array(rest, float)
        self.target = np.array(target, float)
        self.nx, self.nu = len(self.x0), len(self.rest)
        self.u_low, self.u_high = np.array(u_low, float), np.array(u_high, float)
        self.x_low = np.full(self.nx, -INF) if x_low is None else np.array(x_low, float)
        self.x_high = np.full(self.nx, INF) if x_high is None else np.array(x_high, float)
        self.x_size = np.maximum(np.maximum(abs(self.x0), abs(self.target)), 1.0)
        self.x_size = self.x_size if sizes is None else np.array(sizes, float)
        reach = np.where(np.isfinite(self.u_high - self.u_low), (self.u_high - self.u_low) / 2, 2.0)
        self.u_size = reach
        x, u = ca.SX.sym("x", self.nx), ca.SX.sym("u", self.nu)
        xs, us = ca.vertsplit(x), ca.vertsplit(u)
        rate, cost, end = ca.vertcat(*f(xs, us)), running(xs, us), terminal(xs)
        self.f = ca.Function("f", [x, u], [rate, cost])
        self.terminal = ca.Function("terminal", [x], [end])
        self.jacobians = ca.Function("jacobians", [x, u], [ca.jacobian(rate, x), ca.jacobian(rate, u)])


def quadratic(weights, target):
    return lambda v: sum(w * (a - t) ** 2 for w, a, t in zip(weights, v, target) if w)


def evaluate(text, names):
    """An expression of an own system, or a number."""
    if not isinstance(text, str):
        return float(text)
    functions = {n: getattr(ca, n) for n in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt",
                                             "tanh", "sign", "atan2")}
    functions |= {"abs": ca.fabs, "min": ca.fmin, "max": ca.fmax, "pi": PI}
    if not re.fullmatch(r"[\w\s+\-*/^().,]*", text):
        raise ValueError(f"not an expression: {text}")
    return eval(text.replace("^", "**"), {"__builtins__": {}}, functions | names)


def own(name, elements=100, spread=1.0, sizes=None):
    """The plant of a TOML file in this folder."""
    file = tomllib.loads((HERE / f"{name}.toml").read_text())
    system, cost = file["system"], file["cost"]
    states, inputs = system["states"], list(system["inputs"])
    parameters = {}
    for key, value in file.get("parameters", {}).items():
        parameters[key] = float(evaluate(value, parameters))

    def scope(x, u):
        names = parameters | dict(zip(states, x)) | dict(zip(inputs, u))
        for key, value in file.get("definitions", {}).items():
            names[key] = evaluate(value, names)
        return names

    def f(x, u):
        names = scope(x, u)
        return [evaluate(file["equations"][s], names) for s in states]

    target = {k: float(evaluate(v, {})) for k, v in cost.get("target", {}).items()}
    pick = lambda table, names: [float(evaluate(cost.get(table, {}).get(n, 0), {})) for n in names]
    x_target, u_target = [target.get(s, 0.0) for s in states], [target.get(i, 0.0) for i in inputs]
    if "running" in cost:
        running = lambda x, u: evaluate(cost["running"], scope(x, u))
        terminal = lambda x: evaluate(cost.get("terminal", 0), scope(x, []))
        x_target = [float(evaluate(v, {})) for v in system["x0"]]
    else:
        of_x, of_u = quadratic(pick("state", states), x_target), quadratic(pick("input", inputs), u_target)
        running = lambda x, u: of_x(x) + of_u(u)
        terminal = quadratic(pick("terminal", states), x_target)
    bound = lambda names, table, side: [float(evaluate(table.get(n, [-INF, INF])[side], {})) for n in names]
    limits = system.get("limits", {})
    return Plant(name, [float(evaluate(v, {})) for v in system["x0"]], evaluate(system["horizon"], {}), f, running,
                 terminal, bound(inputs, system["inputs"], 0), bound(inputs, system["inputs"], 1), u_target, x_target,
                 bound(states, limits, 0), bound(states, limits, 1), elements, spread, sizes)


def acrobot():
    def f(x, u, m=1.0, l=1.0, g=0.2):
        s, c = ca.sin(x[0] - x[1]), ca.cos(x[0] - x[1])
        q, e = 6 / (m * l**2), 16 - 9 * c**2
        w1, w2 = q * (2 * x[2] - 3 * c * x[3]) / e, q * (8 * x[3] - 3 * c * x[2]) / e
        h = m * l**2 / 2
        return [w1, w2, -h * (w1 * w2 * s + 3 * g / l * ca.sin(x[0])),
                -h * (-w1 * w2 * s + 3 * g / l * ca.sin(x[1])) + u[0]]
    goal = [PI, PI, 0, 0]
    of_x = quadratic([1] * 4, goal)
    return Plant("acrobot", [0] * 4, 10, f, lambda x, u: of_x(x) + u[0] ** 2, of_x, [-INF], [INF], [0], goal,
                 elements=200, spread=0.5)


def van_der_pol():
    f = lambda x, u: [x[1], (1 - x[0] ** 2) * x[1] - x[0] + u[0]]
    return Plant("van-der-pol", [0, 1], 10, f, lambda x, u: x[0] ** 2 + x[1] ** 2 + u[0] ** 2, lambda x: ca.SX(0),
                 [-INF], [INF], [0], [0, 0])


def lotka_volterra():
    f = lambda x, u: [10 * (x[0] - x[0] * x[1] + u[0]), 10 * (x[0] * x[1] - x[1] + u[1])]
    of_x, of_u = quadratic([1, 1], [1, 3]), quadratic([1, 1], [2, 0])
    return Plant("lotka-volterra", [1, 1], 1, f, lambda x, u: of_x(x) + of_u(u), of_x, [-INF] * 2, [INF] * 2,
                 [2, 0], [1, 3])


MOTOR_OFF = -2 / 3


def car_moving(x, u):
    """The race car while it moves: tyres with slip above 0.5 m/s, without below 0.3 m/s."""
    m, inertia, lf, lr, g = 0.05, 27.8e-6, 0.03, 0.035, 9.81
    steering, duty = u[0], 0.4 + 0.6 * u[1]
    _, _, th, vx, vy, w = x
    force = lambda v: (0.2 - 0.05 * v) * duty - 0.003 - 0.052 * v**2
    ahead = vx + 1e-6
    front = 0.02 * g * ca.sin(1.2 * ca.atan(2.5 * (steering - ca.atan((w * lf + vy) / ahead))))
    rear = 0.017 * g * ca.sin(1.25 * ca.atan(2.6 * ca.atan((w * lr - vy) / ahead)))
    dynamic = [vx * ca.cos(th) - vy * ca.sin(th), vx * ca.sin(th) + vy * ca.cos(th), w,
               (force(vx) - front * ca.sin(steering)) / m + vy * w,
               (rear + front * ca.cos(steering)) / m - vx * w,
               (front * lf * ca.cos(steering) - rear * lr) / inertia]
    v = ca.sqrt(vx**2 + vy**2 + 1e-12)
    beta, a = ca.atan(lr / (lf + lr) * ca.tan(steering)), force(v) / m
    kinematic = [v * ca.cos(th + beta), v * ca.sin(th + beta), v * ca.sin(beta) / lr,
                 a * ca.cos(beta), a * ca.sin(beta), a * ca.sin(beta) / lr]
    blend = ca.fmin(ca.fmax((vx - 0.3) / 0.2, 0), 1)
    return [k + blend * (d - k) for d, k in zip(dynamic, kinematic)]


def race_car():
    """The car moves for a free time (state 6: it is constant), then stands still; time runs from 0 to 1.

    It stands still, at once and at no cost of control, when vx <= 0.1 and the motor does not overcome the drag; so
    it never moves backwards (vx >= 0).
    """
    def f(x, u):
        return [x[6] * rate for rate in car_moving(x[:6], u)] + [ca.SX(0)]
    away = lambda x: (x[0] - 5) ** 2 + (x[1] + 2) ** 2
    running = lambda x, u: x[6] * (away(x) + u[0] ** 2 + (u[1] - MOTOR_OFF) ** 2)
    terminal = lambda x: (1 + 10 - x[6]) * away(x)
    plant = Plant("race-car", [0] * 6 + [9.0], 1, f, running, terminal, [-0.35, -1], [0.35, 1], [0, MOTOR_OFF],
                  [5, -2, -0.4, 0.1, 0, 0, 9.0], [-100, -100, -100, 0, -10, -100, 0.5],
                  [100, 100, 100, 100, 10, 100, 10], elements=150, spread=0.2)
    plant.free_first, plant.stops = [6], True
    return plant


def plant_of(name):
    built_in = {"acrobot": acrobot, "race-car": race_car, "van-der-pol": van_der_pol, "lotka-volterra": lotka_volterra}
    if name in built_in:
        return built_in[name]()
    special = {"reaction-wheel": {"elements": 150, "sizes": [3, 10, 300]}, "two-tanks": {"elements": 120}}
    return own(name, **special.get(name, {}))


# --- Transcription -------------------------------------------------------------------------------------------------

class Solution:
    def __init__(self, cost, nodes, x, points, z, u, converged):
        self.cost, self.nodes, self.x, self.points, self.z, self.u = cost, nodes, x, points, z, u
        self.converged = converged
        times = np.concatenate([nodes, points])
        order = np.argsort(times, kind="stable")
        self.times, self.states = times[order], np.hstack([x, z])[:, order]

    def sample(self, nodes, points):
        rows = lambda t, grid, values: np.array([np.interp(t, grid, v) for v in values])
        return (rows(nodes, self.times, self.states), rows(points, self.times, self.states),
                rows(points, self.points, self.u))


class Mesh:
    def __init__(self, plant, elements, iterations, seconds=120.0):
        self.p, self.n = plant, elements
        p = plant
        self.h = p.horizon / elements
        self.nodes = self.h * np.arange(elements + 1)
        self.points = (self.nodes[:-1, None] + self.h * TAU).ravel()
        # Variables are divided by typical sizes.
        X, U = ca.diag(ca.DM(p.x_size)), ca.diag(ca.DM(p.u_size))
        x, z = ca.SX.sym("x", p.nx), ca.SX.sym("z", p.nx, DEGREE)
        u = ca.SX.sym("u", p.nu, DEGREE)
        rate, cost = p.f.map(DEGREE)(X @ z, U @ u)
        curve = ca.horzcat(x, z)
        element = ca.Function("element", [x, z, u], [
            curve @ SLOPE - self.h * ca.inv(X) @ rate, curve @ END, self.h * (cost @ WEIGHT)])
        xs, zs = ca.MX.sym("xs", p.nx, elements + 1), ca.MX.sym("zs", p.nx, elements * DEGREE)
        us = ca.MX.sym("us", p.nu, elements * DEGREE)
        gap, end, cost = element.map(elements)(xs[:, :-1], zs, us)
        goal = ca.sum2(cost) + p.terminal(X @ xs[:, -1])
        self.solver = ca.nlpsol("solver", "ipopt", {
            "x": ca.veccat(xs, zs, us), "f": goal, "g": ca.veccat(gap, xs[:, 1:] - end)},
            {"expand": True, "print_time": False, "ipopt": {
                "tol": 1e-8, "constr_viol_tol": 1e-9, "max_iter": iterations, "print_level": 0, "sb": "yes",
                "max_wall_time": seconds, "bound_relax_factor": 0.0}})

    def solve(self, guess):
        p, n = self.p, self.n
        x, z, u = guess.sample(self.nodes, self.points)
        tile = lambda v, count: np.tile(v[:, None], count)
        low_x, high_x = p.x_low / p.x_size, p.x_high / p.x_size
        first = [tile(low_x, n + 1), tile(high_x, n + 1)]
        for i in range(p.nx):
            if i not in getattr(p, "free_first", []):
                first[0][i, 0] = first[1][i, 0] = p.x0[i] / p.x_size[i]
        if getattr(p, "stops", False):
            first[1][3, -1] = 0.1      # a car that stands still; or one that has no time to
        lower = ca.veccat(first[0], tile(low_x, n * DEGREE), tile(p.u_low / p.u_size, n * DEGREE))
        upper = ca.veccat(first[1], tile(high_x, n * DEGREE), tile(p.u_high / p.u_size, n * DEGREE))
        begin = ca.veccat(x / p.x_size[:, None], z / p.x_size[:, None], u / p.u_size[:, None])
        found = self.solver(x0=begin, lbx=lower, ubx=upper, lbg=0, ubg=0)
        flat, sizes = found["x"].full().ravel(), [p.nx * (n + 1), p.nx * n * DEGREE, p.nu * n * DEGREE]
        a, b, c = np.split(flat, np.cumsum(sizes)[:2])
        shape = lambda v, rows, size: v.reshape((rows, -1), order="F") * size[:, None]
        ok = self.solver.stats()["success"] and np.isfinite(float(found["f"]))
        return Solution(float(found["f"]), self.nodes, shape(a, p.nx, p.x_size), self.points,
                        shape(b, p.nx, p.x_size), shape(c, p.nu, p.u_size), ok)


# --- Starts --------------------------------------------------------------------------------------------------------

def simulate(p, control, nodes):
    """States at the nodes under control(t, x), as far as they stay within reason."""
    def rate(t, x):
        u = np.clip(control(t, x), p.u_low, p.u_high)
        return p.f(x, u)[0].full().ravel()
    far = lambda t, x: 50.0 - np.max(abs(x) / p.x_size)
    far.terminal = True
    with np.errstate(all="ignore"):
        got = solve_ivp(rate, (0, p.horizon), p.x0, t_eval=nodes, events=far, rtol=1e-5, atol=1e-7,
                        max_step=p.horizon / 50)
    x = np.full((p.nx, len(nodes)), np.nan)
    x[:, :got.y.shape[1]] = got.y
    for k in range(1, len(nodes)):
        if not np.isfinite(x[:, k]).all():
            x[:, k] = x[:, k - 1]
    return np.clip(x, np.where(np.isfinite(p.x_low), p.x_low, -1e9)[:, None],
                   np.where(np.isfinite(p.x_high), p.x_high, 1e9)[:, None])


def starts(p, mesh, count):
    """Named guesses: at rest, straight line, then in turn random curves and simulated random controls."""
    rng = np.random.default_rng(2026)
    nodes, points, T = mesh.nodes, mesh.points, p.horizon
    finite = np.isfinite(p.u_high - p.u_low)
    middle = np.array([(a + b) / 2 if ok else r for a, b, ok, r in zip(p.u_low, p.u_high, finite, p.rest)])
    waves = lambda t: np.array([np.sin(k * PI * t / T) / np.sqrt(k) for k in range(1, 9)])
    fill = lambda v: np.tile(v[:, None], len(points))
    clip = lambda u: np.clip(u, p.u_low[:, None], p.u_high[:, None])
    guess = lambda x, u: Solution(INF, nodes, x, points, np.array([np.interp(points, nodes, v) for v in x]),
                                  clip(u), True)
    line = np.outer(p.x0, 1 - nodes / T) + np.outer(p.target, nodes / T)
    yield "rest", guess(simulate(p, lambda t, x: p.rest, nodes), fill(p.rest))
    yield "line", guess(line, fill(p.rest))
    for i in range(count - 2):
        size = p.spread * (0.2 + 0.8 * rng.random())
        weights = rng.normal(size=(p.nu, 8))
        offset = np.where(rng.random() < 0.5, p.rest, middle)
        control = lambda t: offset[:, None] + size * p.u_size[:, None] * (weights @ waves(np.atleast_1d(t)))
        if i % 3 == 0:
            x = line + size * 0.5 * p.x_size[:, None] * (rng.normal(size=(p.nx, 8)) @ waves(nodes))
            yield f"curve {i}", guess(x, control(points))
        elif i % 3 == 1 or p.name != "reaction-wheel":
            yield f"control {i}", guess(simulate(p, lambda t, x: control(t)[:, 0], nodes), control(points))
        else:  # energy pumped in by pushing along with the motion, from a random first push and with random strength
            strength, side = 10 * (0.4 + 0.6 * rng.random()), rng.choice([-1, 1])
            goal = rng.choice([1.0, 1.0, 0.9])

            def pump(t, x):
                if t < 0.1:
                    return np.array([side * strength])
                energy = x[1] ** 2 / 2 + 78.4 * np.cos(x[0])
                if energy < 78.4 * goal and abs(x[0]) > 0.15:
                    return np.array([-strength * np.sign(x[1])])
                return np.array([(90 * np.sin(x[0]) + 10 * x[1]) / 1.08])
            x = simulate(p, pump, nodes)
            u = np.array([np.clip(pump(t, [np.interp(t, nodes, v) for v in x]), -10, 10) for t in points]).T
            yield f"pump {i}", guess(x, u)


# --- Integration of what was found ---------------------------------------------------------------------------------

def reintegrate(p, s):
    """Cost of the control found, by DOP853: of time alone, and with feedback around the trajectory if that fails."""
    n = len(s.nodes) - 1
    h = p.horizon / n
    basis = [np.poly1d(np.poly(np.delete(TAU, j)) / np.prod(TAU[j] - np.delete(TAU, j))) for j in range(DEGREE)]
    control = lambda k, t: s.u[:, DEGREE * k:DEGREE * (k + 1)] @ [b(t / h - k) for b in basis]
    line = np.concatenate([[0], TAU])
    state_basis = [np.poly1d(np.poly(np.delete(line, j)) / np.prod(line[j] - np.delete(line, j)))
                   for j in range(DEGREE + 1)]
    planned = lambda k, t: np.column_stack([s.x[:, k], s.z[:, DEGREE * k:DEGREE * (k + 1)]]) @ [
        b(t / h - k) for b in state_basis]

    def total(gains):
        y = np.append(s.x[:, 0], 0.0)
        for k in range(n):
            def rate(t, y):
                u = control(k, t)
                if gains is not None:
                    u = u - gains[k] @ (y[:-1] - planned(k, t))
                dx, c = p.f(y[:-1], np.clip(u, p.u_low, p.u_high))
                return np.append(dx.full().ravel(), float(c))
            got = solve_ivp(rate, (k * h, (k + 1) * h), y, method="DOP853", rtol=1e-9, atol=1e-10)
            y = got.y[:, -1]
            if not got.success or not np.isfinite(y).all() or np.max(abs(y[:-1]) / p.x_size) > 1e3:
                return INF, y
        return y[-1] + float(p.terminal(y[:-1])), y

    cost = total(None)[0]
    if abs(cost - s.cost) < 1e-5 * abs(s.cost):
        return cost, "open loop"
    # Gains of a linear-quadratic regulator along the trajectory, in sizes of states and inputs.
    Q, R = np.diag(p.x_size**-2.0), np.diag((0.3 * p.u_size) ** -2.0)
    P, gains = Q.copy(), [None] * n
    for k in reversed(range(n)):
        A, B = (m.full() for m in p.jacobians(s.z[:, DEGREE * k + 1], s.u[:, DEGREE * k + 1]))
        steps = 50
        for _ in range(steps):
            K = np.linalg.solve(R, B.T @ P)
            P = P + h / steps * (A.T @ P + P @ A - P @ B @ K + Q)
            P = (P + P.T) / 2
        gains[k] = np.linalg.solve(R, B.T @ P)
    return total(gains)[0], f"with feedback; open loop {cost:.6g}"


def solve(name, count, extra=()):
    p, begun = plant_of(name), time.time()
    coarse = Mesh(p, p.elements, 600, 30.0)
    found = []
    for label, guess in list(starts(p, coarse, count)) + list(extra):
        try:
            s = coarse.solve(guess)
        except RuntimeError as error:
            print(f"  {label}: {error}")
            continue
        if s.converged:
            found.append((s.cost, label, s))
    found.sort(key=lambda entry: entry[0])
    costs = np.array([c for c, _, _ in found])
    print(f"{name}: {len(found)} of {count + len(extra)} starts converged: " +
          ", ".join(f"{c:.5g} ({label})" for c, label, _ in found), flush=True)
    distinct = []
    for c, _, s in found:
        if not distinct or c > distinct[-1].cost * (1 + 2e-4) + 1e-9:
            distinct.append(s)
    others = [s.cost for s in distinct[1:]]
    best, elements, change = distinct[0], p.elements, INF
    # Coarse costs of neighbouring optima may change places on a finer mesh.
    if len(distinct) > 1:
        fine = Mesh(p, 2 * elements, 1500)
        tried = [s for s in (fine.solve(d) for d in distinct[:3]) if s.converged]
        previous, elements = best, 2 * elements
        best = min(tried, key=lambda s: s.cost) if tried else best
        change = abs(best.cost - previous.cost)
    while change > 1e-5 * abs(best.cost) and elements < 16 * p.elements:
        finer = Mesh(p, 2 * elements, 1500).solve(best)
        if not finer.converged:
            print(f"  {2 * elements} elements: not converged")
            break
        change, best, elements = abs(finer.cost - best.cost), finer, 2 * elements
        print(f"  {elements} elements: {best.cost:.9g}, change {change:.1e}", flush=True)
    again, how = reintegrate(p, best)
    row = {"plant": name, "optimum": f"{best.cost:.8g}", "mesh": elements,
           "mesh_change": f"{change / abs(best.cost):.1e}", "starts": count, "converged": len(found),
           "best_found": int((costs < costs[0] * (1 + 2e-4) + 1e-9).sum()),
           "spread": f"{(costs[-1] - costs[0]) / abs(costs[0]):.2g}",
           "other_optima": " ".join(f"{c:.5g}" for c in others[:4]),
           "reintegrated": f"{again:.8g}", "reintegration": how, "seconds": round(time.time() - begun)}
    print("  ", row, flush=True)
    return row, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plants", nargs="*")
    parser.add_argument("--starts", type=int, default=24)
    arguments = parser.parse_args()
    path = HERE / "optimum.csv"
    rows = {r["plant"]: r for r in csv.DictReader(path.open())} if path.exists() else {}
    for name in arguments.plants or BUILT_IN + OWN:
        row, _ = solve(name, arguments.starts)
        old = rows.get(name)
        if not arguments.plants or not old or float(row["optimum"]) < float(old["optimum"]) * (1 + 1e-5):
            rows[name] = row
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[n] for n in BUILT_IN + OWN if n in rows)


if __name__ == "__main__":
    main()
