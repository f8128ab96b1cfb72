"""Independent reference values for the optimal-control solver.

For each of the ten benchmark systems this script computes, on the true ODE and in
physical units (no scaling of states, controls or time),

* ``continuous``: the least cost over all control functions on [0, T];
* ``zoh``: the least cost over controls held constant on M-1 equal intervals.

The cost is the *integrated* running cost plus, where the task has one, the terminal
cost on the state; a terminal weight on the control is left out, because a control at
one instant costs nothing in continuous time.

Method: direct collocation at Gauss-Legendre points (three per element: order six for
states, costates and cost), CasADi for derivatives, IPOPT for the nonlinear programme.
Continuous controls are free at every collocation point (a quadratic per element). Each
problem is solved on a coarse grid from several starts (control at rest, straight line to
the target, seeded random curves); the best one is solved again on twice and four times as
many elements, and the change between these last two is the grid error. The winning
controls are then replayed through a Runge-Kutta integrator that knows nothing of the
collocation; a disagreement stops the script.

Usage, from the root of the repository (a few minutes on one core):

    pip install -r studies/ground_truth/requirements.txt
    python studies/ground_truth/solve.py            # writes tests/golden/optimal_control.toml
    python studies/ground_truth/solve.py pendulum   # named systems only, writes nothing
"""

import contextlib
import io
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

DATE = "2026-11-15"
DEGREE = 3  # collocation points per element
CONTINUOUS_ELEMENTS = 100  # coarse grid; the fine ones have 2 and 4 times as many
HOLD_ELEMENTS = 4  # the same, per hold interval
RANDOM_STARTS = 8
TOLERANCE = 1e-6  # relative; what a test against the golden values may ask for
IPOPT = {"tol": 1e-10, "constr_viol_tol": 1e-11, "dual_inf_tol": 1e-8, "acceptable_iter": 0,
         "max_iter": 500, "print_level": 0, "sb": "yes"}
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "optimal_control.toml"


# --- Right-hand sides: f(x, u) -> list of state derivatives ------------------------------

def cancer(x, u):
    return [0.3 * x[0] * ca.log(1 / x[0]) - 0.45 * u[0] * x[0]]


def glucose(x, u):
    return [-x[0] - x[1], -x[1] + u[0]]


def pendulum(x, u):
    return [x[1], 9.81 / 5.0 * ca.sin(x[0]) + u[0]]


def mountain_car(x, u):
    return [10 * x[1], 3.5 * u[0] - 2.5 * ca.cos(3 * x[0])]


def cart_pole(x, u, length=0.5, cart=1.0, pole=0.5, g=0.2):
    s, c = ca.sin(x[0]), ca.cos(x[0])
    d = cart + pole * s**2
    turn = -pole * length * s * c * x[1] ** 2 + (cart + pole) * g * s + c * u[0]
    push = -pole * length * s * x[1] ** 2 + pole * g * s * c + u[0]
    return [x[1], turn / (d * length), x[3], push / d]


def bicycle(x, u, wheelbase=1.0):
    return [x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), x[3] * u[0] / wheelbase, u[1]]


def furuta(x, u, J=1.0, M=0.0, m_a=1.0, m_p=1.0, l_a=1.0, l_p=1.0, g=0.2):
    """Parameters of the paper's runs, not those of the reference's last commit."""
    al, be = J + (M + m_a / 3 + m_p) * l_a**2, (M + m_p / 3) * l_p**2
    ga, de = (M + m_p / 2) * l_a * l_p, (M + m_p / 2) * g * l_p
    s, c = ca.sin(x[2]), ca.cos(x[2])
    d = al * be - ga**2 + (be**2 + ga**2) * s**2
    arm = (be * ga * (s**2 - 1) * s * x[1] ** 2 - 2 * be**2 * c * s * x[1] * x[3]
           + be * ga * s * x[3] ** 2 - ga * de * c * s + be * u[0])
    rod = (be * (al + be * s**2) * c * s * x[1] ** 2 + 2 * be * ga * (1 - s**2) * s * x[1] * x[3]
           - ga**2 * c * s * x[3] ** 2 + de * (al + be * s**2) * s - ga * c * u[0])
    return [x[1], arm / d, x[3], rod / d]


def quadrotor_2d(x, u, g=2.0, m=0.1, inertia=0.1):
    return [x[3], x[4], x[5], g - u[0] / m * ca.cos(x[2]), u[0] / m * ca.sin(x[2]), u[1] / inertia]


def quadrotor_3d(x, u, m=0.18, g=0.81):
    inertia = np.array([[2.5e-4, 0, 2.55e-6], [0, 2.32e-4, 0], [2.55e-6, 0, 3.738e-4]])
    (sp, cp), (st, ct), (ss, cs) = [(ca.sin(x[i]), ca.cos(x[i])) for i in (6, 7, 8)]
    omega, lift = x[9:12], u[0] / m
    yawing = -st * x[9] + ct * x[11]
    moment = ca.vertcat(2e-4 * u[1], 2e-4 * u[2], 1e-3 * u[3])
    spin = np.linalg.inv(inertia) @ (moment - ca.cross(omega, inertia @ omega))
    return [x[3], x[4], x[5],
            lift * (cs * st + ct * sp * ss), lift * (ss * st - cs * ct * sp), lift * cp * ct - g,
            ct * x[9] + st * x[11], x[10] - sp / cp * yawing, yawing / cp, spin]


def acrobot(x, u, m=1.0, l=1.0, g=0.2):
    """As coded in the reference: p2' has 3 g/l where the uniform rod has g/l."""
    s, c = ca.sin(x[0] - x[1]), ca.cos(x[0] - x[1])
    scale = 6 / (m * l**2) / (16 - 9 * c**2)
    w1, w2 = scale * (2 * x[2] - 3 * c * x[3]), scale * (8 * x[3] - 3 * c * x[2])
    half = m * l**2 / 2
    return [w1, w2, -half * (w1 * w2 * s + 3 * g / l * ca.sin(x[0])),
            -half * (-w1 * w2 * s + 3 * g / l * ca.sin(x[1])) + u[0]]


# --- Tasks --------------------------------------------------------------------------------

@dataclass
class Task:
    """Running cost sum(q (x-target)^2) + sum(r (u-rest)^2), terminal sum(qf (x-target)^2).

    `probe` is an independently computed test vector (x, u, xdot) of the right-hand side.
    """

    name: str
    rhs: callable
    start: list
    horizon: float
    q: list
    r: list
    qf: list
    probe: tuple
    target: list = None
    rest: list = None
    holds: int = 9
    x_min: float = -np.inf
    guess_target: list = None  # where the straight-line start ends, if not at the target
    refine: int = 1  # all grids of this task are so many times finer
    spread: float = 0.5  # size of the first random start; the i-th is i times as large

    def __post_init__(self):
        self.nx, self.nu = len(self.start), len(self.r)
        self.target = np.array(self.target or [0.0] * self.nx)
        self.rest = np.array(self.rest or [0.0] * self.nu)
        self.guess_target = np.array(self.guess_target or self.target)
        x, u = ca.SX.sym("x", self.nx), ca.SX.sym("u", self.nu)
        dx, du = x - self.target, u - self.rest
        running = ca.dot(self.q, dx**2) + ca.dot(self.r, du**2)
        self.f = ca.Function("f", [x, u], [ca.vertcat(*self.rhs(x, u)), running])
        self.terminal = ca.Function("terminal", [x], [ca.dot(self.qf, dx**2)])
        self.df_du = ca.Function("df_du", [x], [ca.jacobian(self.f(x, u)[0], u)])
        xdot = self.f(*self.probe[:2])[0].full().ravel()
        assert np.allclose(xdot, self.probe[2], rtol=1e-10, atol=1e-11), self.name


PI = np.pi
X4, U1, U2 = [0.3, -0.2, 0.5, 0.4], [0.7], [0.7, -0.4]  # arguments of the test vectors
X6 = X4 + [-0.1, 0.25]
X12 = X6 + [0.15, -0.35, 0.6, 0.2, -0.3, 0.1]
TASKS = [
    Task("cancer-treatment", cancer, [0.975], 20, [3], [1], [0], x_min=1e-3, guess_target=[0.54],
         probe=([0.6], U1, [-0.0970513877221])),
    Task("glucose-in-blood", glucose, [0.75, 0], 0.45, [200, 0], [100], [0, 0], target=[0.5, 0],
         probe=(X4[:2], U1, [-0.1, 0.9])),
    Task("pendulum", pendulum, [PI, 0], 10, [1, 1], [1], [1, 1],
         probe=(X4[:2], U1, [-0.2, 1.27981064547])),
    Task("mountain-car", mountain_car, [-PI / 6, 0], 1, [1, 1], [1], [1, 1], target=[PI / 6, 0],
         probe=(X4[:2], U1, [-2.0, 0.895975079323])),
    Task("cart-pole", cart_pole, [PI, 0, 0, 0], 10, [1] * 4, [1], [1] * 4,
         probe=(X4, U1, [-0.2, 1.44599579255, 0.4, 0.694931955913])),
    Task("bicycle", bicycle, [0] * 4, 10, [1] * 4, [1, 1], [1] * 4, target=[2, 1, PI / 6, 0],
         probe=(X4, U2, [0.351033024756, 0.191770215442, 0.28, -0.4])),
    Task("furuta-pendulum", furuta, [0, 0, PI, 0], 10, [1] * 4, [1], [1] * 4,
         probe=(X4, U1, [-0.2, 0.376731259064, 0.4, -0.335262093933])),
    Task("quadrotor-2d", quadrotor_2d, [-1, -1, 0, 0, 0, 0], 8, [1] * 6, [10, 10], [1] * 6,
         rest=[0.2, 0],
         probe=(X6, U2, [0.4, -0.1, 0.25, -4.14307793323, 3.35597877023, -4.0])),
    Task("quadrotor-3d", quadrotor_3d, [1, 1, 1] + [0] * 9, 15,
         [1, 1, 1, 1, 1, 1, 0.1, 0.1, 0.1, 1, 0.1, 0.1], [5, 0.8, 0.8, 0.3], [1] * 12,
         target=[0] * 8 + [1, 0, 0, 0], rest=[0.1458, 0, 0, 0], holds=19, spread=0.05,
         probe=(X12, [0.7, -0.4, 0.3, 0.2],
                [0.4, -0.1, 0.25, -0.792331294877, -1.203508891, 2.80209554948, 0.153584761824,
                 -0.32456201696, 0.164362445871, -0.307819324988, 0.269622844828, 0.534051469445])),
    Task("acrobot", acrobot, [0] * 4, 10, [1] * 4, [1], [1] * 4, target=[PI, PI, 0, 0], refine=2,
         probe=(X4, U1, [-0.035131448468, 1.24624611982, -0.0781608541358, 0.749105591376])),
]


# --- Transcription ------------------------------------------------------------------------

TAU = np.array(ca.collocation_points(DEGREE, "legendre"))
SLOPE, END, WEIGHT = ca.collocation_coeff(list(TAU))


@dataclass
class Solution:
    cost: float
    times: np.ndarray  # nodes and collocation points, increasing
    states: np.ndarray  # states at `times`, one column each
    point_times: np.ndarray
    controls: np.ndarray  # at the collocation points, one column each
    initial_control: np.ndarray
    converged: bool

    def sample(self, node_times, point_times):
        """States at both sets of times and controls at the second: a start on another grid."""
        rows = lambda t, grid, values: np.array([np.interp(t, grid, v) for v in values])
        return (rows(node_times, self.times, self.states),
                rows(point_times, self.times, self.states),
                rows(point_times, self.point_times, self.controls))


class Transcription:
    """The nonlinear programme of one task on one grid; `holds` = 0: continuous control."""

    def __init__(self, task, elements, holds=0):
        self.task, self.n, self.holds = task, elements, holds
        self.h = task.horizon / elements
        self.nodes = self.h * np.arange(elements + 1)
        self.points = (self.nodes[:-1, None] + self.h * TAU).ravel()
        x = ca.MX.sym("x", task.nx, elements + 1)
        z = ca.MX.sym("z", task.nx, elements * DEGREE)
        u = ca.MX.sym("u", task.nu, holds or elements * DEGREE)
        at_points = u @ ca.sparsify(ca.DM(self.hold_matrix())) if holds else u
        defect, end, cost = self._element().map(elements)(x[:, :-1], z, at_points)
        self.shapes = [v.shape for v in (x, z, u)]
        gaps = ca.veccat(x[:, 0] - ca.DM(task.start), defect, x[:, 1:] - end)
        problem = {"x": ca.veccat(x, z, u), "g": gaps,
                   "f": ca.sum2(cost) + task.terminal(x[:, -1])}
        self.solver = ca.nlpsol("solver", "ipopt", problem,
                                {"expand": True, "print_time": False, "ipopt": IPOPT})

    def _element(self):
        t = self.task
        x, z = ca.SX.sym("x", t.nx), ca.SX.sym("z", t.nx, DEGREE)
        u = ca.SX.sym("u", t.nu, DEGREE)
        xdot, running = t.f.map(DEGREE)(z, u)
        curve = ca.horzcat(x, z)
        return ca.Function("element", [x, z, u], [curve @ SLOPE - self.h * xdot, curve @ END,
                                                  self.h * (running @ WEIGHT)])

    def hold_matrix(self):
        """Spreads the hold values over the collocation points (holds x points)."""
        return np.kron(np.eye(self.holds), np.ones((1, self.n * DEGREE // self.holds)))

    def solve(self, guess):
        x, z, u = guess.sample(self.nodes, self.points)
        if self.holds:
            u = u.reshape(self.task.nu, self.holds, -1).mean(axis=2)
        lower = np.concatenate([np.full(np.prod(s), b) for s, b in
                                zip(self.shapes, (self.task.x_min, self.task.x_min, -np.inf))])
        found = self.solver(x0=ca.veccat(x, z, u), lbx=lower, lbg=0, ubg=0)
        return self._unpack(found, self.solver.stats()["success"])

    def _unpack(self, found, converged):
        t, flat, at = self.task, found["x"].full().ravel(), 0
        parts = []
        for shape in self.shapes:
            size = shape[0] * shape[1]
            parts.append(flat[at:at + size].reshape(shape, order="F"))
            at += size
        x, z, u = parts
        if self.holds:
            u, first = u @ self.hold_matrix(), u[:, 0]
        else:  # the control that is stationary for the costate at t = 0
            costate = -found["lam_g"][:t.nx]
            first = t.rest - (t.df_du(t.start).T @ costate).full().ravel() / (2 * np.array(t.r))
        times = np.concatenate([self.nodes, self.points])
        order = np.argsort(times)
        states = np.hstack([x, z])[:, order]
        return Solution(float(found["f"]), times[order], states, self.points, u, first, converged)

    def replay(self, controls, steps=20):
        """Node states and cost of the given controls by classical Runge-Kutta steps."""
        t, dt = self.task, self.h / steps
        u = ca.SX.sym("u", t.nu, DEGREE)
        y = y_start = ca.SX.sym("y", t.nx + 1)
        basis = [np.poly1d(np.poly(np.delete(TAU, j)) / np.prod(TAU[j] - np.delete(TAU, j)))
                 for j in range(DEGREE)]
        for k in range(steps):
            g = lambda y, s: ca.vertcat(*t.f(y[:-1], u @ ca.DM([b(s / steps) for b in basis])))
            k1 = g(y, k)
            k2 = g(y + dt / 2 * k1, k + 0.5)
            k3 = g(y + dt / 2 * k2, k + 0.5)
            k4 = g(y + dt * k3, k + 1)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path = ca.Function("step", [y_start, u], [y]).mapaccum(self.n)(t.start + [0], controls)
        path = np.hstack([np.array(t.start + [0.0])[:, None], path.full()])
        return path[:-1], path[-1, -1] + float(t.terminal(path[:-1, -1]))


# --- Starts and the search ------------------------------------------------------------------

def starts(task, grid):
    """Rollout at rest, straight line to the target, then random curves of growing size."""
    line = np.outer(task.start, 1 - grid.nodes / task.horizon)
    line += np.outer(task.guess_target, grid.nodes / task.horizon)
    rest = np.tile(task.rest[:, None], len(grid.points))
    curve = lambda x, u: Solution(np.inf, grid.nodes, x, grid.points, u, None, True)
    yield "rest", curve(grid.replay(rest)[0], rest)
    yield "line", curve(line, rest)
    rng = np.random.default_rng(2023)
    waves = lambda t: np.array([np.sin(k * PI * t / task.horizon) / k for k in range(1, 6)])
    for i in range(RANDOM_STARTS):
        size = task.spread * (i + 1)
        x = line + size * rng.normal(size=(task.nx, 5)) @ waves(grid.nodes)
        u = rest + size * rng.normal(size=(task.nu, 5)) @ waves(grid.points)
        yield f"random {i}", curve(np.maximum(x, task.x_min + 0.05), u)


def search(task, holds, extra=None):
    """The best solution on the finest grid and the change from the grid before it."""
    base = task.refine * (holds * HOLD_ELEMENTS or CONTINUOUS_ELEMENTS)
    coarse = Transcription(task, base, holds)
    guesses = list(starts(task, coarse)) + ([("continuous", extra)] if extra else [])
    found = [(name, coarse.solve(guess)) for name, guess in guesses]
    found = sorted(((n, s) for n, s in found if s.converged), key=lambda pair: pair[1].cost)
    optima = {}
    for name, solution in found:
        optima.setdefault(f"{solution.cost:.3f}", []).append(name)
    print(f"  {'zoh' if holds else 'continuous'}: {len(found)} of {len(guesses)} starts converged, to",
          "; ".join(f"{cost} ({', '.join(names)})" for cost, names in optima.items()))
    best = found[0][1]
    for factor in (2, 4):
        grid = Transcription(task, factor * base, holds)
        previous, best = best, grid.solve(best)
        assert best.converged, task.name
    replayed = grid.replay(best.controls)[1]
    print(f"    cost {best.cost:.10f}, grid before {previous.cost - best.cost:+.1e}, "
          f"replay {replayed - best.cost:+.1e}; initial control "
          f"{np.abs(best.initial_control - previous.initial_control).max():.1e}, final state "
          f"{np.abs(best.states[:, -1] - previous.states[:, -1]).max():.1e} from grid before")
    assert abs(replayed - best.cost) < TOLERANCE * best.cost, task.name
    return best, abs(best.cost - previous.cost)


def ipopt_version():
    """The version line of the banner IPOPT prints."""
    x, banner = ca.SX.sym("x"), io.StringIO()
    with contextlib.redirect_stdout(banner):
        ca.nlpsol("s", "ipopt", {"x": x, "f": x**2}, {"print_time": False})()
    return next(line for line in banner.getvalue().splitlines() if "Ipopt version" in line)


def header(worst):
    fine, hold = 4 * CONTINUOUS_ELEMENTS, 4 * HOLD_ELEMENTS
    return f'''# Written by studies/ground_truth/solve.py; do not edit by hand.
source = "CasADi {ca.__version__} ({ipopt_version()[len("This is "):].rstrip(".")}); direct collocation, {DEGREE} Gauss-Legendre points \
per element; continuous: {fine // 2} and {fine} elements; zoh: {hold // 2} and {hold} elements per hold \
(acrobot twice as many); best of {RANDOM_STARTS + 2} starts (zoh: {RANDOM_STARTS + 3})"
command = "python studies/ground_truth/solve.py"
date = "{DATE}"
units = "implemented cost (not Table 1's scaling)"
tolerance = {TOLERANCE}
tolerance_reason = "relative, on the costs: the two finest grids differ by at most {worst:.0e} relative and a \
Runge-Kutta replay of the controls agrees; the rest is room for the tested solver's own discretisation"
'''


def main(names):
    begun, blocks, worst = time.time(), [], 0.0
    for task in TASKS:
        if names and task.name not in names:
            continue
        print(task.name, flush=True)
        clock = time.time()
        best, error = search(task, 0)
        held, held_error = search(task, task.holds, best)
        print(f"  {time.time() - clock:.0f} s", flush=True)
        worst = max(worst, error / best.cost, held_error / held.cost)
        array = lambda values: "[" + ", ".join(f"{v + 0.0:#.10g}" for v in values) + "]"
        blocks.append("\n".join([
            f"\n[{task.name}]",
            f"continuous = {best.cost:#.11g}", f"continuous_grid_error = {error:.1e}",
            f"zoh = {held.cost:#.11g}", f"zoh_grid_error = {held_error:.1e}",
            f"holds = {task.holds}",
            f"initial_control = {array(best.initial_control)}",
            f"final_state = {array(best.states[:, -1])}", ""]))
    if not names:
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(header(worst) + "".join(blocks))
    print(f"{time.time() - begun:.0f} s in all")


if __name__ == "__main__":
    main(sys.argv[1:])
