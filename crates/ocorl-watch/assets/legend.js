// Legends: a sample of the marks of each label. A click (or Enter) hides and shows a series.
import { el, fill } from "./dom.js";
import { LEVELS, markColor, shade } from "./colors.js";
import { arrow, glyph, strokeMark } from "./paint.js";
import { colors } from "./theme.js";
import { labelled } from "./marks.js";

const [WIDE, HIGH] = [26, 14];

/** Draws a sample of marks on a small canvas. */
export function sample(...marks) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = el("canvas", { class: "sample", width: WIDE * ratio, height: HIGH * ratio, "aria-hidden": "true" });
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  for (const mark of marks) {
    ctx.save();
    draw(ctx, mark, colors());
    ctx.restore();
  }
  return canvas;
}

function draw(ctx, mark, palette) {
  const middle = [WIDE / 2, HIGH / 2];
  if (mark.kind === "colored_line" || mark.kind === "heat") return shades(ctx, mark.kind === "heat" ? 10 : 3);
  if (mark.kind === "colored_points") return glyph(ctx, mark.marker, middle, shade(LEVELS / 2), palette.quiet, palette);
  if (mark.kind === "points") {
    return glyph(ctx, mark.marker, middle, markColor(mark.color, palette).color, palette.background, palette);
  }
  const path = new Path2D();
  if (mark.kind === "band") path.rect(0, 2, WIDE, HIGH - 4);
  else if (mark.kind === "arrows") arrow(path, middle, WIDE - 6, 0);
  else if (mark.kind === "interval_y")
    segments(path, [
      [13, 1, 13, 13],
      [10, 1, 16, 1],
      [10, 13, 16, 13],
    ]);
  else if (mark.kind === "interval_x")
    segments(path, [
      [3, 7, 23, 7],
      [3, 4, 3, 10],
      [23, 4, 23, 10],
    ]);
  else segments(path, [[1, 7, WIDE - 1, 7]]);
  return strokeMark(ctx, mark, path, palette);
}

function segments(path, lines) {
  for (const [a, b, c, d] of lines) {
    path.moveTo(a, b);
    path.lineTo(c, d);
  }
}

function shades(ctx, thick) {
  for (let i = 0; i < WIDE; i += 1) {
    ctx.fillStyle = shade(Math.floor((i / WIDE) * LEVELS));
    ctx.fillRect(i, (HIGH - thick) / 2, 1.5, thick);
  }
}

/** Fills `host` with one button per label; `hidden` is the set of hidden labels. */
export function showLegend(host, panels, hidden, changed) {
  const entries = [...labelled(panels)].map(([label, marks]) => {
    const shown = !hidden.has(label);
    return el(
      "button",
      {
        type: "button",
        class: "legend-entry",
        "aria-pressed": String(shown),
        title: shown ? "hide" : "show",
        onclick: () => {
          if (!hidden.delete(label)) hidden.add(label);
          changed();
        },
      },
      sample(...distinct(marks)),
      el("span", {}, label),
    );
  });
  host.hidden = entries.length === 0;
  fill(host, entries);
}

function distinct(marks) {
  const looks = (mark) => JSON.stringify([mark.kind, mark.color, mark.dash, mark.marker]);
  return [...new Map(marks.map((mark) => [looks(mark), mark])).values()];
}
