// Synthetic studies for work on the page without the program, in the format of the server.
import { axis, exhibit, gallery, mark } from "./gallery.js";
import { SYSTEMS } from "./systems.js";

const range = (count) => Array.from({ length: count }, (_, i) => i);
const random = (seed) => () => {
  seed = (seed * 1664525 + 1013904223) % 4294967296;
  return seed / 4294967296;
};
export const idOf = (number) => number.toString(16).padStart(16, "0");

const named = (pairs) => pairs.map(([name, unit]) => ({ name, unit }));

/** A trajectory from start to goal: late and oscillating in early episodes, smooth in later ones. */
export function motionOf(name, episode) {
  const system = SYSTEMS[name];
  const t = range(201).map((i) => (i * system.horizon) / 200);
  const wave = 1.2 / (1 + episode * episode);
  const done = episode === 0 ? 0.1 : 1;
  const x = t.map((s) =>
    system.from.map((from, i) => {
      const share = 1 / (1 + Math.exp(-12 * (s / system.horizon - 0.4)));
      return (
        from +
        done * share * (system.to[i] - from) +
        wave * Math.sin((9 * s) / system.horizon + i) * (s / system.horizon) +
        (i % 2 ? -1.5 * share * (1 - share) * 4 : 0) * done
      );
    }),
  );
  const u = t.map((s) =>
    system.controls.map((_, i) => 2.5 * Math.exp((-4 * s) / system.horizon) * Math.cos((8 * s) / system.horizon + i)),
  );
  return { t, x, u };
}

export function study({
  id,
  name,
  system = "pendulum",
  episodes = 6,
  of = 20,
  hardware = false,
  live = false,
  measured = 10,
  seed = 0,
  notes = [],
}) {
  const about = SYSTEMS[system];
  const costs = range(episodes).map((n) => about.best * (1 + (n === 0 ? 17 : 0.08 / (n * n)) + 0.0004));
  const next =
    hardware && episodes < of
      ? {
          episode: episodes,
          measure_at: [range(measured).map((i) => Number(((about.horizon * (i + 0.5)) / measured).toFixed(4)))],
          rule: null,
          horizon: about.horizon,
          worth:
            "The planned cost is uncertain by 0.21; the next episode is expected to narrow this to 0.08, which is worth its price.",
        }
      : null;
  const began = new Date(Date.now() - 3600e3);
  const rows = range(episodes).map((n) => ({
    episode: n,
    status: "complete",
    outcome: n === 3 && hardware ? "failed" : "completed",
    planned_cost: n ? about.best * (1 - 0.02 / n) : null,
    cost: costs[n],
    cost_from: hardware ? "estimated" : "reported",
    regret: costs[n] - about.best,
    measured,
    asked: measured,
    reason: n === 3 && hardware ? "belt tore" : null,
    asked_at: new Date(began.getTime() + n * 60e3).toISOString(),
    told_at: new Date(began.getTime() + n * 60e3 + 5e3).toISOString(),
    planning_seconds: 0.2 + 0.1 * n,
    running_seconds: 0.15,
  }));
  if (next || live)
    rows.push({
      ...rows[0],
      episode: episodes,
      status: "pending",
      outcome: "",
      planned_cost: about.best,
      cost: null,
      cost_from: null,
      regret: null,
      measured: 0,
      asked: measured,
      told_at: null,
      planning_seconds: null,
      running_seconds: null,
    });
  const last = costs.at(-1) ?? null;
  const against = (value) =>
    [
      ["optimum (known dynamics)", about.best],
      ["optimal zero-order hold", about.held],
      ["paper, final episode", about.paper],
    ].map(([what, other]) => ({
      with: what,
      value: other,
      percent: value === null ? null : (100 * (value - other)) / other,
    }));
  const summary = {
    name,
    title: about.title,
    system,
    seed,
    version: "0.1.0",
    began: began.toISOString(),
    updated: new Date(Date.now() - 4e3).toISOString(),
    strategy: "max-determinant",
    planner: "optimistic",
    hardware,
    episodes,
    of,
    measurements: episodes * measured,
    pending: next || live ? episodes : null,
    over: episodes >= of ? "episodes-used" : null,
    spent: 0,
    budget: null,
    horizon: about.horizon,
    time_unit: "s",
    states: named(about.states),
    controls: named(about.controls),
    angles: [0],
    numbers: [
      { what: "cost of the last episode", value: last, compare: against(last) },
      { what: "lowest cost", value: episodes ? Math.min(...costs) : null, compare: [] },
      { what: "first episode from which all are within 1 % of the optimum", value: 3, compare: [] },
      { what: "coverage of 95 % bands", value: 0.96, compare: [] },
    ].slice(0, episodes ? 4 : 1),
    rows,
    configuration: [
      { key: "episodes", value: String(of), default: "20", changed: of !== 20 },
      { key: "excitation.scale", value: "100", default: "1", changed: true },
      { key: "plan.intervals", value: "200", default: "200", changed: false },
      { key: "plan.restarts", value: "4", default: "4", changed: false },
      { key: "model.kernel", value: "rbf", default: "rbf", changed: false },
    ],
    notes,
    health: [
      { what: "database", value: "1.2 MB, 63 events" },
      { what: "jitter", value: "none" },
      { what: "duplicates", value: "none" },
      { what: "refused uploads", value: hardware ? "2, last: line 4, column 3 is not a number" : "none" },
    ],
    next,
    animation: system,
  };
  return { id, name, system, summary, measured, live, costs, exhibits: overall(about, costs, measured, episodes) };
}

function overall(about, costs, measured, episodes) {
  const x = range(episodes);
  const next = random(7);
  const times = x.flatMap((n) => range(measured).map(() => [next() * about.horizon, n]));
  const whole = axis("episode", "", { whole: true });
  let sum = 0;
  return [
    exhibit("cost", "Cost", "Cost and planned cost of each episode, beside the optimum with known dynamics.", [
      {
        title: "",
        x: whole,
        y: axis("cost", "", { scale: "log" }),
        marks: [
          mark("horizontal", { y: about.best }, { label: "optimum (known dynamics)", muted: true, dash: "dashed" }),
          mark("horizontal", { y: about.held }, { label: "optimal zero-order hold", muted: true, dash: "dotted" }),
          mark("line", { x, y: costs }, { label: "cost" }),
          mark("points", { x, y: costs, marker: "circle" }, { label: "cost" }),
          mark(
            "line",
            { x: x.slice(1), y: x.slice(1).map((n) => about.best * (1 - 0.02 / n)) },
            { label: "planned", series: 2, dash: "dashed" },
          ),
        ],
      },
    ]),
    exhibit("regret", "Regret", "summed over the episodes", [
      {
        title: "",
        x: whole,
        y: axis("cumulative regret"),
        marks: [mark("line", { x, y: costs.map((cost) => (sum += cost - about.best)) }, { label: "regret" })],
      },
    ]),
    exhibit("times", "Measurement times", "one stroke per measurement", [
      {
        title: "",
        x: axis("time", "s", { range: [0, about.horizon] }),
        y: axis("episode", "", { whole: true }),
        marks: [
          mark(
            "points",
            { x: times.map(([a]) => a), y: times.map(([, b]) => b), marker: "bar" },
            { label: "measured", series: 1 },
          ),
        ],
      },
    ]),
    exhibit("timeline", "Time spent", "wall-clock seconds of each episode", [
      {
        title: "",
        x: whole,
        y: axis("duration", "s"),
        marks: [
          mark("step", { x: [...x, episodes], y: x.map((n) => 0.2 + 0.1 * n) }, { label: "planning" }),
          mark("step", { x: [...x, episodes], y: x.map(() => 0.15) }, { label: "running", series: 1 }),
        ],
      },
    ]),
  ];
}

export function episodeView(found, number) {
  const about = SYSTEMS[found.system];
  if (
    number < 0 ||
    number > found.summary.episodes ||
    (number === found.summary.episodes && !found.summary.next && !found.live)
  )
    return null;
  const motion = motionOf(found.system, number);
  const { t, x, u } = motion;
  const at = range(found.measured).map((i) =>
    Math.max(0, Math.floor(((i + 0.3 + 0.4 * Math.sin(i * 7 + number)) * 190) / found.measured)),
  );
  const seconds = axis("time", "s");
  const band = (i) => (0.4 / (1 + number)) * (0.3 + Math.abs(Math.sin(i / 30)));
  const states = about.states.map(([name, unit], k) => ({
    title: name,
    x: seconds,
    y: axis(name, unit),
    marks: [
      mark(
        "band",
        { x: t, lower: x.map((row, i) => row[k] - band(i)), upper: x.map((row, i) => row[k] + band(i)) },
        { label: "prediction" },
      ),
      mark("line", { x: t, y: x.map((row) => row[k] + 0.03) }, { label: "plan", dash: "dashed" }),
      mark("line", { x: t, y: x.map((row) => row[k]) }, { label: "executed", series: 6 }),
      mark(
        "points",
        { x: at.map((i) => t[i]), y: at.map((i) => x[i][k]), marker: "cross" },
        { label: "measured", series: 1 },
      ),
    ],
  }));
  const controls = about.controls.map(([name, unit], k) => ({
    title: name,
    x: seconds,
    y: axis(name, unit),
    marks: [mark("step", { x: t, y: u.map((row) => row[k]) }, { label: "executed", series: 6 })],
  }));
  const pairs = about.states.flatMap((_, a) => about.states.slice(a + 1).map((__, b) => [a, a + 1 + b])).slice(0, 6);
  const phase = pairs.map(([a, b]) => ({
    title: `${about.states[a][0]}, ${about.states[b][0]}`,
    x: axis(...about.states[a]),
    y: axis(...about.states[b]),
    color: axis("‖σ‖ before"),
    marks: [
      mark(
        "colored_line",
        { x: x.map((row) => row[a]), y: x.map((row) => row[b]), value: t.map((_, i) => band(i)) },
        { label: "executed" },
      ),
      mark(
        "points",
        { x: at.map((i) => x[i][a]), y: at.map((i) => x[i][b]), marker: "cross" },
        { label: "measured", series: 1 },
      ),
    ],
  }));
  const levels = range(11).map((i) => i / 10);
  const exhibits = [
    exhibit("states", "States and controls", "plan, prediction, executed trajectory and measurements", [
      ...states,
      ...controls,
    ]),
    exhibit("phase", "Phase portrait", "coloured by the model uncertainty before the episode", phase),
    exhibit("uncertainty", "Uncertainty and chosen times", "model uncertainty along the trajectory", [
      {
        title: "",
        x: seconds,
        y: axis("‖σ‖"),
        marks: [
          mark("line", { x: t, y: t.map((_, i) => band(i)) }, { label: "executed trajectory", muted: true }),
          mark(
            "points",
            { x: at.map((i) => t[i]), y: at.map((i) => band(i)), marker: "cross" },
            { label: "measured", series: 1 },
          ),
        ],
      },
    ]),
    exhibit("calibration", "Calibration", "nominal against observed coverage", [
      {
        title: "",
        x: axis("nominal", "", { range: [0, 1] }),
        y: axis("observed", "", { range: [0, 1] }),
        marks: [
          mark("line", { x: levels, y: levels }, { label: "perfect", muted: true, dash: "dashed" }),
          mark("line", { x: levels, y: levels.map((v) => v ** 0.8) }, { label: "model" }),
          mark("points", { x: levels, y: levels.map((v) => v ** 0.8), marker: "circle" }, { label: "model" }),
        ],
      },
    ]),
  ];
  const columns = [
    "start",
    "t",
    "asked_t",
    ...about.states.map(([name]) => name),
    ...about.controls.map(([name]) => name),
    ...about.states.map(([name]) => `${name}_dot`),
    "residual [σ]",
  ];
  const rows = at.map((i, n) => [
    0,
    t[i],
    t[i],
    ...x[i],
    ...u[i],
    ...x[i].map((v) => v * 0.1),
    number ? (n === 2 ? 4.2 : 0.7 * Math.sin(n)) : null,
  ]);
  const pending = number === found.summary.episodes;
  return {
    episode: number,
    running: pending && Boolean(found.live),
    cost: found.costs[number] ?? null,
    exhibits: pending ? exhibits.slice(0, 1) : exhibits,
    measurements: { columns, rows: pending ? [] : rows },
    motion,
  };
}

export function item({ id, summary, live, costs }) {
  const status = live ? "running" : summary.next ? "waiting" : summary.over ? "done" : "idle";
  return {
    id,
    kind: "study",
    name: summary.name,
    title: summary.title,
    system: summary.system,
    strategy: summary.strategy,
    seed: summary.seed,
    episodes: summary.episodes,
    of: summary.of,
    measurements: summary.measurements,
    last_cost: costs.at(-1) ?? null,
    best_cost: costs.length ? Math.min(...costs) : null,
    status,
    pending: summary.pending,
    updated: summary.updated,
    error: null,
  };
}

export function sweep(id) {
  const columns = ["max-kernel-distance", "max-determinant", "equidistant"];
  const rows = Object.entries(SYSTEMS).map(([system, about], r) => ({
    system,
    title: about.title,
    best: about.best,
    held: about.held,
    cells: columns.map((variant, c) => {
      const filled = Math.max(0, Math.min(10, 34 - 6 * r - 3 * c));
      const seeds = range(10).map((seed) => ({
        seed,
        state: seed >= filled ? "waiting" : seed === 4 && c === 2 ? "failed" : "done",
        cost: seed < filled ? about.best * (1.001 + 0.0005 * seed) : null,
        percent: seed < filled ? 0.1 + 0.05 * seed : null,
        reason: seed === 4 && c === 2 ? "diverged" : null,
      }));
      return {
        variant,
        seeds,
        mean: filled ? about.best * 1.003 : null,
        std: filled > 1 ? about.best * 0.001 : null,
        paper: `${about.paper} ± 0.02`,
      };
    }),
  }));
  return { id, name: "sweeps/table1", status: "running", cells: 12, of: 21, columns, rows, exhibits: [] };
}

/** The studies of the mock server, by id. */
export function studies() {
  const made = [
    study({ id: idOf(1), name: "runs/cart-pole-live", system: "cart-pole", episodes: 3, of: 40, live: true }),
    study({
      id: idOf(2),
      name: "lab",
      episodes: 5,
      of: 20,
      hardware: true,
      notes: ["Cable on the left was loose until episode 2.", '<img src=x onerror="window.__hit=1">'],
    }),
    study({ id: idOf(3), name: "runs/pendulum-a", episodes: 20 }),
    study({ id: idOf(4), name: "runs/pendulum-b", episodes: 6, seed: 1 }),
    ...Object.keys(SYSTEMS)
      .filter((name) => name !== "pendulum")
      .map((system, i) => study({ id: idOf(10 + i), name: `runs/${system}`, system, episodes: 20 })),
    study({ id: idOf(30), name: "big", episodes: 40, of: 40, measured: 20 }),
    { ...study({ id: idOf(40), name: "gallery", episodes: 1, of: 1 }), exhibits: gallery() },
  ];
  return new Map(made.map((one) => [one.id, one]));
}
