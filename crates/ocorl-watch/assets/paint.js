// Draws the marks of a panel on a canvas, with the same appearance as shapes.rs and ink.rs.
import { level, markColor, shade, LEVELS } from "./colors.js";

const LAYERS = ["heat", "band", "curve", "points", "note"];
const LAYER_OF = { heat: "heat", band: "band", points: "points", colored_points: "points", note: "note" };

/**
 * Paints marks inside (0, 0, width, height).
 * `scene`: { marks, x, y, shadeOf, width, height, colors }: x and y map values to pixels, shadeOf maps a value to a position on the colour map.
 * Returns whether anything was painted.
 */
export function paint(ctx, scene) {
  const { marks, width, height } = scene;
  const arrows = arrowScale(scene);
  let painted = false;
  for (const layer of LAYERS) {
    const some = marks.filter((mark) => (LAYER_OF[mark.kind] ?? "curve") === layer);
    ctx.save();
    if (layer !== "points" && layer !== "note") clip(ctx, width, height);
    for (const mark of some) {
      ctx.save();
      painted = paintMark(ctx, mark, scene, arrows) || painted;
      ctx.restore();
    }
    ctx.restore();
  }
  return painted;
}

function clip(ctx, width, height) {
  ctx.beginPath();
  ctx.rect(0, 0, width, height);
  ctx.clip();
}

function paintMark(ctx, mark, scene, arrows) {
  if (mark.kind === "colored_line") return coloredLine(ctx, mark, scene);
  if (mark.kind === "heat") return heat(ctx, mark, scene);
  if (mark.kind === "note") return note(ctx, mark, scene);
  if (mark.kind === "points" || mark.kind === "colored_points") return points(ctx, mark, scene);
  const path = outline(mark, scene, arrows);
  if (!path) return false;
  if (mark.kind === "arrows" && scene.marks.some((other) => other.kind === "heat")) halo(ctx, path, scene.colors);
  strokeMark(ctx, mark, path, scene.colors);
  return true;
}

/** Strokes or fills a mark of one colour. */
export function strokeMark(ctx, mark, path, colors) {
  const { color, round } = markColor(mark.color, colors);
  ctx.strokeStyle = color;
  ctx.lineJoin = "round";
  if (mark.kind === "band") {
    ctx.fillStyle = color;
    ctx.globalAlpha = 0.22;
    ctx.lineWidth = 0.5;
    ctx.fill(path);
    ctx.stroke(path);
    return;
  }
  ctx.lineWidth = { line: 1.8, step: 1.8, arrows: 1.2 }[mark.kind] ?? 1.4;
  ctx.lineCap = mark.dash === "dashed" ? "butt" : "round";
  ctx.setLineDash(dashes(mark.dash, round));
  ctx.stroke(path);
}

function dashes(dash, round) {
  if (dash === "dashed") return [7, 4];
  if (dash === "dotted") return [0.1, 4];
  return [[], [10, 4, 1, 4], [10, 4, 1, 4, 1, 4]][Math.min(round, 2)];
}

/** The path of a mark of one colour; `null` if none of its points has a position. */
function outline(mark, { x, y, width, height }, arrows) {
  const path = new Path2D();
  let any = false;
  const polyline = (points) => {
    any = runs(points).reduce((drawn, run) => traced(path, run) || drawn, any);
  };
  if (mark.kind === "line") polyline(mark.x.map((v, i) => [x(v), y(mark.y[i])]));
  if (mark.kind === "step") polyline(stairs(mark, x, y));
  if (mark.kind === "band") any = bandPath(path, mark, x, y);
  if (mark.kind === "arrows") any = arrowPath(path, mark, arrows);
  if (mark.kind === "interval_y") {
    mark.x.forEach((v, i) => {
      any = bar(path, [x(v), y(mark.low[i])], [x(v), y(mark.high[i])], 3, 0) || any;
    });
  }
  if (mark.kind === "interval_x") {
    mark.y.forEach((v, i) => {
      any = bar(path, [x(mark.low[i]), y(v)], [x(mark.high[i]), y(v)], 0, 3) || any;
    });
  }
  if (mark.kind === "horizontal")
    polyline([
      [0, y(mark.y)],
      [width, y(mark.y)],
    ]);
  if (mark.kind === "vertical")
    polyline([
      [x(mark.x), 0],
      [x(mark.x), height],
    ]);
  return any ? path : null;
}

const placed = ([a, b]) => Number.isFinite(a) && Number.isFinite(b);

function runs(points) {
  const found = [[]];
  for (const point of points) {
    if (placed(point)) found.at(-1).push(point);
    else if (found.at(-1).length > 0) found.push([]);
  }
  return found.filter((run) => run.length > 0);
}

function traced(path, run) {
  path.moveTo(...run[0]);
  if (run.length === 1) path.lineTo(run[0][0] + 0.01, run[0][1]);
  for (const point of run.slice(1)) path.lineTo(...point);
  return true;
}

function stairs(mark, x, y) {
  return mark.y.slice(0, mark.x.length).flatMap((v, i) => {
    const end = mark.x[Math.min(i + 1, mark.x.length - 1)];
    return [
      [x(mark.x[i]), y(v)],
      [x(end), y(v)],
    ];
  });
}

function bandPath(path, mark, x, y) {
  const slices = mark.x.map((v, i) => [x(v), y(mark.lower[i]), y(mark.upper[i])]);
  let run = [];
  let any = false;
  const close = () => {
    if (run.length > 0) {
      traced(path, [...run.map(([a, low]) => [a, low]), ...run.toReversed().map(([a, , high]) => [a, high])]);
      path.closePath();
      any = true;
    }
    run = [];
  };
  for (const slice of slices) {
    if (slice.every(Number.isFinite)) run.push(slice);
    else close();
  }
  close();
  return any;
}

function bar(path, from, to, dx, dy) {
  if (!placed(from) || !placed(to)) return false;
  for (const [a, b] of [
    [from, to],
    [from, from],
    [to, to],
  ]) {
    const cap = a === b;
    path.moveTo(a[0] - (cap ? dx : 0), a[1] - (cap ? dy : 0));
    path.lineTo(b[0] + (cap ? dx : 0), b[1] + (cap ? dy : 0));
  }
  return true;
}

/** The common scale of the arrows of all marks: the longest has a fixed share of the panel. */
function arrowScale(scene) {
  const all = scene.marks.filter((mark) => mark.kind === "arrows").map((mark) => arrowVectors(mark, scene));
  const longest = Math.max(0, ...all.flat().map(({ dx, dy }) => Math.hypot(dx, dy)));
  const most = Math.max(1, ...all.map((list) => list.length));
  const share = Math.max(0.02, Math.min(0.12, 0.9 / Math.sqrt(most)));
  return { scene, longest, reach: share * Math.sqrt(scene.width * scene.height) };
}

function arrowVectors(mark, { x, y, width, height }) {
  const slope = (place, v) => {
    const step = 1e-6 * Math.max(1, Math.abs(v));
    return (place(v + step) - place(v - step)) / (2 * step);
  };
  return mark.x.flatMap((v, i) => {
    const at = [x(v), y(mark.y[i])];
    if (!inside(at, width, height)) return [];
    const [dx, dy] = [mark.dx[i] * slope(x, v), mark.dy[i] * slope(y, mark.y[i])];
    return placed([dx, dy]) ? [{ at, dx, dy }] : [];
  });
}

function arrowPath(path, mark, { scene, longest, reach }) {
  const arrows = arrowVectors(mark, scene);
  for (const { at, dx, dy } of arrows) {
    const scale = longest > 0 ? reach / longest : 0;
    arrow(path, at, dx * scale, dy * scale);
  }
  return arrows.length > 0;
}

/** An arrow centred at a point; a dot if the arrow is too short to see. */
export function arrow(path, [x, y], dx, dy) {
  const length = Math.hypot(dx, dy);
  if (length < 1) return traced(path, [[x, y]]);
  const [tipX, tipY] = [x + dx / 2, y + dy / 2];
  const head = Math.min(0.45 * length, 5) / length;
  const barb = (side) => [tipX - head * (dx - side * 0.6 * dy), tipY - head * (dy + side * 0.6 * dx)];
  traced(path, [
    [x - dx / 2, y - dy / 2],
    [tipX, tipY],
  ]);
  return traced(path, [barb(1), [tipX, tipY], barb(-1)]);
}

function halo(ctx, path, colors) {
  ctx.save();
  ctx.globalAlpha = 0.75;
  ctx.strokeStyle = colors.background;
  ctx.lineWidth = 3;
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.stroke(path);
  ctx.restore();
}

export function inside([x, y], width, height) {
  return x >= -0.5 && x <= width + 0.5 && y >= -0.5 && y <= height + 0.5;
}

function points(ctx, mark, { x, y, shadeOf, width, height, colors }) {
  const { color } = markColor(mark.color, colors);
  let any = false;
  mark.x.forEach((v, i) => {
    const at = [x(v), y(mark.y[i])];
    if (!inside(at, width, height)) return;
    const share = mark.value ? shadeOf(mark.value[i]) : 0;
    if (Number.isNaN(share)) return;
    glyph(
      ctx,
      mark.marker,
      at,
      mark.value ? shade(level(share)) : color,
      mark.value ? colors.quiet : colors.background,
      colors,
    );
    any = true;
  });
  return any;
}

const CORNERS = {
  square: [
    [-3.6, -3.6],
    [3.6, -3.6],
    [3.6, 3.6],
    [-3.6, 3.6],
  ],
  diamond: [
    [0, -5],
    [5, 0],
    [0, 5],
    [-5, 0],
  ],
  triangle: [
    [0, -4.8],
    [4.6, 3.4],
    [-4.6, 3.4],
  ],
};
const STROKES = {
  cross: [
    [-3.5, -3.5, 3.5, 3.5],
    [3.5, -3.5, -3.5, 3.5],
  ],
  plus: [
    [-4.5, 0, 4.5, 0],
    [0, -4.5, 0, 4.5],
  ],
  bar: [[0, -4.5, 0, 4.5]],
};

/** Draws one marker. Series differ in shape too, not in colour alone. */
export function glyph(ctx, marker, [x, y], color, edge, colors) {
  const path = new Path2D();
  if (STROKES[marker]) {
    for (const [a, b, c, d] of STROKES[marker]) {
      path.moveTo(x + a, y + b);
      path.lineTo(x + c, y + d);
    }
    ctx.strokeStyle = color;
    ctx.lineWidth = marker === "bar" ? 1.4 : 1.8;
    ctx.stroke(path);
    return;
  }
  if (CORNERS[marker]) {
    CORNERS[marker].forEach(([a, b], i) => path[i === 0 ? "moveTo" : "lineTo"](x + a, y + b));
    path.closePath();
  } else path.arc(x, y, marker === "dot" ? 2 : 4, 0, 2 * Math.PI);
  ctx.fillStyle = marker === "ring" ? colors.background : color;
  ctx.fill(path);
  if (marker === "dot") return;
  ctx.strokeStyle = marker === "ring" ? color : edge;
  ctx.lineWidth = marker === "ring" ? 1.8 : 0.8;
  ctx.stroke(path);
}

/** Draws a line whose colour changes linearly with the value between two points: one piece per colour level. */
function coloredLine(ctx, mark, { x, y, shadeOf, colors }) {
  const line = mark.x.map((v, i) => [x(v), y(mark.y[i]), shadeOf(mark.value[i])]);
  const casing = new Path2D();
  const found = runs(line.map((point) => (point.every(Number.isFinite) ? point : [NaN, NaN])));
  if (found.length === 0) return false;
  for (const run of found)
    traced(
      casing,
      run.map(([a, b]) => [a, b]),
    );
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.save();
  ctx.globalAlpha = 0.4;
  ctx.strokeStyle = colors.quiet;
  ctx.lineWidth = 3.4;
  ctx.stroke(casing);
  ctx.restore();
  ctx.lineWidth = 2.2;
  for (const run of found)
    for (const piece of pieces(run)) {
      const path = new Path2D();
      traced(path, piece.points);
      ctx.strokeStyle = shade(piece.level);
      ctx.stroke(path);
    }
  return true;
}

function pieces(run) {
  if (run.length === 1) return [{ level: level(run[0][2]), points: [run[0].slice(0, 2)] }];
  const found = [];
  for (let i = 1; i < run.length; i += 1) {
    const [p, q] = [run[i - 1], run[i]];
    const parts = Math.max(1, Math.ceil(Math.abs(q[2] - p[2]) * LEVELS));
    const at = (share) => [p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])];
    for (let k = 0; k < parts; k += 1) {
      const here = level(p[2] + ((k + 0.5) / parts) * (q[2] - p[2]));
      if (found.at(-1)?.level === here) found.at(-1).points.push(at((k + 1) / parts));
      else found.push({ level: here, points: [at(k / parts), at((k + 1) / parts)] });
    }
  }
  return found;
}

function heat(ctx, mark, { x, y, shadeOf }) {
  const columns = mark.x_edges.length - 1;
  const [xs, ys] = [mark.x_edges.map(x), mark.y_edges.map(y)];
  let any = false;
  mark.values.forEach((value, index) => {
    const [i, j] = [index % columns, Math.floor(index / columns)];
    const share = shadeOf(value);
    if (Number.isNaN(share) || ![xs[i], xs[i + 1], ys[j], ys[j + 1]].every(Number.isFinite)) return;
    ctx.fillStyle = shade(level(share));
    // Half a pixel of overlap on each side avoids seams between cells.
    const [left, top] = [Math.min(xs[i], xs[i + 1]), Math.min(ys[j], ys[j + 1])];
    ctx.fillRect(left, top, Math.abs(xs[i + 1] - xs[i]) + 0.5, Math.abs(ys[j + 1] - ys[j]) + 0.5);
    any = true;
  });
  return any;
}

/** Draws a text to the upper right of its point; left or below where there is no room. */
function note(ctx, mark, { x, y, width, height, colors, font }) {
  const at = [x(mark.x), y(mark.y)];
  if (!inside(at, width, height)) return false;
  ctx.font = font;
  const wide = ctx.measureText(mark.text).width;
  const right = at[0] + 6 + wide + 4 <= width;
  const left = !right && at[0] - 6 - wide >= 4;
  ctx.textAlign = right ? "left" : left ? "right" : "center";
  const place = right ? at[0] + 6 : left ? at[0] - 6 : width / 2;
  const line = at[1] - 6 - 11 >= 0 ? at[1] - 6 : at[1] + 15;
  ctx.lineWidth = 3;
  ctx.lineJoin = "round";
  ctx.strokeStyle = colors.background;
  ctx.fillStyle = mark.color === "muted" ? colors.ink : markColor(mark.color, colors).color;
  ctx.strokeText(mark.text, place, line);
  ctx.fillText(mark.text, place, line);
  return true;
}
