// Figures with every kind of mark, to test the renderer of the page.

const line = (from, to, count) => Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));
export const axis = (label, unit = "", more = {}) => ({ label, unit, scale: "linear", range: null, ...more });
export const mark = (kind, fields, { label = null, series = 0, muted = false, dash = "solid" } = {}) => ({
  kind,
  ...fields,
  label,
  color: muted ? "muted" : { series },
  dash,
});
export const figure = (panels, title = "", columns = 2) => ({ title, subtitle: "", panels, columns });
export const exhibit = (id, title, about, panels) => ({ id, title, about, figure: figure(panels) });

const t = line(0, 10, 101);

const curves = () => ({
  title: "Curves with gaps",
  x: axis("time", "s"),
  y: axis("theta", "rad"),
  marks: [
    mark(
      "band",
      { x: t, lower: t.map((s) => Math.cos(s) - 0.3), upper: t.map((s) => Math.cos(s) + 0.3) },
      { label: "prediction" },
    ),
    mark("line", { x: t, y: t.map((s, i) => (i > 40 && i < 50 ? null : Math.cos(s))) }, { label: "plan" }),
    mark("step", { x: line(0, 10, 11), y: line(0, 9, 10).map((s) => Math.sin(s)) }, { label: "held", series: 2 }),
    mark("horizontal", { y: 1.4 }, { label: "limit", muted: true, dash: "dashed" }),
    mark("vertical", { x: 5 }, { label: "half", muted: true, dash: "dotted" }),
    mark("points", { x: [1, 3, 6, 9], y: [0.5, -1, 0.9, -0.8], marker: "cross" }, { label: "measured", series: 1 }),
    mark("note", { x: 6, y: 0.9, text: "a note <b>not bold</b>" }, { muted: true }),
  ],
});

const markers = () => ({
  title: "Markers",
  x: axis("x"),
  y: axis("y"),
  marks: ["circle", "ring", "square", "diamond", "triangle", "cross", "plus", "bar", "dot"].map((marker, i) =>
    mark("points", { x: [1, 2, 3], y: [i, i + 0.3, i], marker }, { label: marker, series: i }),
  ),
});

const phase = () => {
  const s = line(0, 6 * Math.PI, 301);
  const [x, y] = [s.map((v) => 3 * Math.exp(-v / 12) * Math.cos(v)), s.map((v) => 3 * Math.exp(-v / 12) * Math.sin(v))];
  return {
    title: "Phase portrait",
    x: axis("theta", "rad"),
    y: axis("omega", "rad/s"),
    color: axis("‖σ‖"),
    marks: [
      mark("colored_line", { x, y, value: s.map((v) => 0.3 * Math.exp(-v / 9)) }, { label: "executed" }),
      mark(
        "colored_points",
        { x: [2.5, 0.2, -1], y: [1, 2, -1], value: [0.3, 0.2, 0.05], marker: "circle" },
        { label: "chosen" },
      ),
      mark(
        "points",
        { x: [x[30], x[90], x[180]], y: [y[30], y[90], y[180]], marker: "cross" },
        { label: "measured", series: 1 },
      ),
    ],
  };
};

const field = () => {
  const [edges, centers] = [line(-2, 2, 21), line(-1.8, 1.8, 9)];
  const values = [];
  for (let j = 0; j < 20; j += 1)
    for (let i = 0; i < 20; i += 1) values.push(Math.hypot(edges[i] + 0.1, edges[j] + 0.1));
  const grid = centers.flatMap((y) => centers.map((x) => [x, y]));
  return {
    title: "Field on a heat map",
    x: axis("theta", "rad"),
    y: axis("omega", "rad/s"),
    color: axis("error"),
    marks: [
      mark("heat", { x_edges: edges, y_edges: edges, values }, { label: "error" }),
      mark(
        "arrows",
        {
          x: grid.map(([x]) => x),
          y: grid.map(([, y]) => y),
          dx: grid.map(([, y]) => y),
          dy: grid.map(([x]) => -Math.sin(x)),
        },
        { label: "field", series: 6 },
      ),
    ],
  };
};

const intervals = () => ({
  title: "Intervals, categories, log axis",
  x: axis("cost", "", { scale: "log" }),
  y: axis("", "", { categories: ["max determinant", "max kernel distance", "equidistant"] }),
  marks: [
    mark("interval_x", { y: [0, 1, 2], low: [20.18, 20.2, 20.1], high: [20.25, 20.4, 400] }, { label: "20-80 %" }),
    mark("points", { x: [20.2, 20.3, 60], y: [0, 1, 2], marker: "diamond" }, { label: "median", series: 1 }),
    mark("vertical", { x: 20.16 }, { label: "optimum", muted: true, dash: "dashed" }),
  ],
});

const categories = () => ({
  title: "Categories below",
  x: axis("", "", {
    categories: ["max determinant", "max kernel distance", "equidistant", "receding horizon", "random"],
  }),
  y: axis("regret", "", { scale: "log" }),
  marks: [
    mark(
      "interval_y",
      { x: [0, 1, 2, 3, 4], low: [0.01, 0.02, 0.1, 1, 10], high: [0.1, 0.05, 3, 20, 4000] },
      { label: "range" },
    ),
    mark("points", { x: [0, 1, 2, 3, 4], y: [0.03, 0.03, 1, 5, 100], marker: "square" }, { label: "mean", series: 3 }),
  ],
});

const large = () => ({
  title: "Large numbers",
  x: axis("episode", "", { whole: true }),
  y: axis("events"),
  marks: [mark("line", { x: [0, 1, 2, 3], y: [1e9, 2e9, 2.5e9, 9e9] }, { label: "many" })],
});

const empty = () => ({ title: "Nothing", x: axis("x"), y: axis("y"), marks: [mark("line", { x: [null], y: [null] })] });

/** Figure cards with all kinds of marks. */
export function gallery() {
  return [
    exhibit("curves", "Curves", "lines, steps, bands, rules, notes, gaps", [curves(), markers()]),
    exhibit("plane", "Planes", "loops, colours, fields", [phase(), field()]),
    exhibit("ranges", "Ranges", "intervals, categories, logarithms", [intervals(), categories()]),
    exhibit("rest", "The rest", "large numbers, no data", [large(), empty()]),
  ];
}
