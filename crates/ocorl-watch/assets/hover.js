// The values under the cursor of a plot, and the tooltip that shows them.
import { cellValue, forward, valueOver } from "./marks.js";
import { axisText, number } from "./format.js";
import { el, fill } from "./dom.js";
import { sample } from "./legend.js";

const NEAR = 14;
const MOST = 9;

/** Whether the tooltip shows the values at the cursor's x (curves with increasing x) rather than the nearest point (loops, point clouds). */
export function readByX(panel) {
  const curves = panel.marks.filter((mark) => ["line", "step", "band", "colored_line"].includes(mark.kind));
  return curves.length > 0 && curves.every(forward);
}

/** The marker nearest to a position in pixels: { mark, index, distance }, or `null`. */
export function nearestPoint(marks, place, [left, top], kinds, limit) {
  let best = null;
  for (const mark of marks.filter((candidate) => kinds.includes(candidate.kind))) {
    for (let index = 0; index < Math.min(mark.x.length, mark.y.length); index += 1) {
      const distance = Math.hypot(place.x(mark.x[index]) - left, place.y(mark.y[index]) - top);
      if (distance <= limit && distance < (best?.distance ?? Infinity)) best = { mark, index, distance };
    }
  }
  return best;
}

/** Rows of the tooltip beside the cursor: { mark, name, text }. */
export function readings(panel, marks, place, at, cursor) {
  if (readByX(panel)) return readingsAtX(panel, marks, place, at, cursor);
  const heat = marks.find((mark) => mark.kind === "heat");
  const kinds = ["points", "colored_points", "line", "colored_line", "arrows"];
  const near = nearestPoint(marks, place, cursor, kinds, 30);
  const rows = near ? pointRows(panel, near) : [];
  const value = heat ? cellValue(heat, at.x, at.y) : null;
  if (value !== null) rows.push({ mark: heat, name: panel.color?.label || heat.label || "value", text: number(value) });
  return rows;
}

function pointRows(panel, { mark, index }) {
  const rows = [
    { mark, name: mark.label ?? (axisText(panel.x) || "x"), text: mark.label ? "" : number(mark.x[index]) },
    { name: panel.x.label || "x", text: valueText(panel.x, mark.x[index]) },
    { name: panel.y.label || "y", text: valueText(panel.y, mark.y[index]) },
  ];
  if (mark.value) rows.push({ name: panel.color?.label || "value", text: number(mark.value[index]) });
  return rows;
}

/** A value of an axis as text: its category name, or the number with its unit. */
export function valueText(axis, value) {
  if (axis.categories?.length) return axis.categories[Math.round(value)] ?? number(value);
  return axis.unit ? `${number(value)} ${axis.unit}` : number(value);
}

function readingsAtX(panel, marks, place, at, [left]) {
  const rows = [];
  for (const mark of marks) {
    const text = textAtX(panel, mark, place, at, left);
    if (text !== null) rows.push({ mark, name: mark.label ?? (panel.y.label || "y"), text });
  }
  return rows.slice(0, MOST);
}

function textAtX(panel, mark, place, at, left) {
  if (forward(mark)) {
    const value = valueOver(mark, at.x);
    if (value === null) return null;
    return Array.isArray(value) ? `${number(value[0])} … ${number(value[1])}` : valueText(panel.y, value);
  }
  if (mark.kind === "horizontal" && mark.label) return number(mark.y);
  if (!["points", "colored_points", "interval_y"].includes(mark.kind)) return null;
  const index = nearestIndex(mark.x, place.x, left);
  if (index < 0) return null;
  if (mark.kind === "interval_y") return `${number(mark.low[index])} … ${number(mark.high[index])}`;
  return valueText(panel.y, mark.y[index]);
}

function nearestIndex(xs, place, left) {
  let [best, distance] = [-1, NEAR];
  xs.forEach((x, i) => {
    const away = Math.abs(place(x) - left);
    if (away < distance) [best, distance] = [i, away];
  });
  return best;
}

/** Fills the tooltip and places it beside the cursor, inside the window. */
export function showTip(tip, title, rows, [left, top]) {
  if (rows.length === 0 && !title) return hideTip(tip);
  fill(
    tip,
    title ? el("div", { class: "tip-title" }, title) : null,
    rows.map((row) =>
      el(
        "div",
        { class: "tip-row" },
        row.mark ? sample(row.mark) : el("span", { class: "tip-gap" }),
        el("span", { class: "tip-name" }, row.name),
        el("span", { class: "tip-value" }, row.text),
      ),
    ),
  );
  tip.hidden = false;
  const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
  const frame = tip.parentElement.getBoundingClientRect();
  const room = document.documentElement.clientWidth - frame.left - 8;
  const beside = left + 16 + wide <= room ? left + 16 : left - wide - 16;
  const x = Math.max(8 - frame.left, beside);
  tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(top - high / 2)}px)`;
  return undefined;
}

export function hideTip(tip) {
  tip.hidden = true;
}
