// Data of marks: their points, their values near the cursor, and the CSV table behind them.

/** Data points of a mark as [x, y, value]; rules have one coordinate only. */
export function places(mark) {
  switch (mark.kind) {
    case "line":
    case "points":
      return zip(mark.x, mark.y);
    case "step":
      return stepPlaces(mark);
    case "colored_line":
    case "colored_points":
      return zip(mark.x, mark.y, mark.value);
    case "band":
      return [...zip(mark.x, mark.lower), ...zip(mark.x, mark.upper)];
    case "heat":
      return [...mark.x_edges.map((x) => [x, undefined]), ...mark.y_edges.map((y) => [undefined, y])];
    case "arrows":
      return zip(mark.x, mark.y);
    case "interval_y":
      return [...zip(mark.x, mark.low), ...zip(mark.x, mark.high)];
    case "interval_x":
      return [...zip(mark.low, mark.y), ...zip(mark.high, mark.y)];
    case "note":
      return [[mark.x, mark.y]];
    case "horizontal":
      return [[undefined, mark.y]];
    case "vertical":
      return [[mark.x, undefined]];
    default:
      return [];
  }
}

function zip(...lists) {
  const length = Math.min(...lists.map((list) => list.length));
  return Array.from({ length }, (_, i) => lists.map((list) => list[i]));
}

function stepPlaces({ x, y }) {
  const pairs = zip(x, y);
  if (x.length > y.length && y.length > 0) pairs.push([x[y.length], y.at(-1)]);
  return pairs;
}

/** The values that determine colours. */
export function colorValues(marks) {
  return marks.flatMap((mark) => (mark.kind === "heat" ? mark.values : (mark.value ?? [])));
}

/** Whether x never decreases along a mark, so that it has one value at each x. */
export function forward(mark) {
  if (!["line", "step", "band", "colored_line"].includes(mark.kind)) return false;
  return mark.x.every((x, i) => i === 0 || x === null || mark.x[i - 1] === null || x >= mark.x[i - 1]);
}

/** Whether all marks may touch the frame: curves with increasing x may, loops and points keep a margin. */
export function touching(marks) {
  return marks.every((mark) => forward(mark) || ["horizontal", "vertical", "note"].includes(mark.kind));
}

/** The y of a forward mark at x: interpolated, constant (step), or a pair (band); `null` outside. */
export function valueOver(mark, x) {
  const i = before(mark.x, x);
  if (i < 0) return null;
  if (mark.kind === "step") return heldValue(mark, i, x);
  if (mark.kind !== "band") return mixed(mark.x, mark.y, i, x);
  const pair = [mixed(mark.x, mark.lower, i, x), mixed(mark.x, mark.upper, i, x)];
  return pair.includes(null) ? null : pair;
}

function heldValue(mark, i, x) {
  const end = mark.x.at(-1);
  if (x > end) return null;
  return mark.y[Math.min(i, mark.y.length - 1)] ?? null;
}

/** The last index with list[i] <= x. */
function before(list, x) {
  let [low, high] = [-1, list.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (list[middle] !== null && list[middle] <= x) low = middle;
    else high = middle - 1;
  }
  return low;
}

function mixed(xs, ys, i, x) {
  const [a, b] = [ys[i], ys[i + 1]];
  if (a === null || a === undefined) return null;
  if (xs[i] === x) return a;
  if (b === null || b === undefined) return null;
  return a + ((x - xs[i]) / (xs[i + 1] - xs[i])) * (b - a);
}

/** The value of a heat map at (x, y). */
export function cellValue(mark, x, y) {
  const [i, j] = [before(mark.x_edges, x), before(mark.y_edges, y)];
  const columns = mark.x_edges.length - 1;
  if (i < 0 || j < 0 || i >= columns || j >= mark.y_edges.length - 1) return null;
  return mark.values[j * columns + i] ?? null;
}

/** Labels of a figure in the order of their first appearance, each with its marks. */
export function labelled(panels) {
  const entries = new Map();
  for (const mark of panels.flatMap((panel) => panel.marks)) {
    if (!mark.label || mark.kind === "note") continue;
    if (!entries.has(mark.label)) entries.set(mark.label, []);
    entries.get(mark.label).push(mark);
  }
  return entries;
}

/** All data of a figure as a tidy table, as `Figure::csv` writes it. */
export function csv(figure) {
  const rows = ["panel,series,mark,x,y,value"];
  figure.panels.forEach((panel, index) => {
    for (const mark of panel.marks) {
      const series = mark.kind === "note" ? mark.text : (mark.label ?? "");
      for (const [x, y, value] of places(mark)) {
        rows.push([panel.title || index + 1, series, mark.kind, x, y, value].map(field).join(","));
      }
    }
  });
  return `${rows.join("\n")}\n`;
}

/** One CSV field; a text that a spreadsheet would take for a formula is prefixed with a quote. */
export function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
