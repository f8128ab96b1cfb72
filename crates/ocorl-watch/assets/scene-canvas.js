// A canvas in the coordinates of a scene: y upward, equal scales in both directions, the whole scene visible.

export class SceneCanvas {
  constructor(ctx, width, height, [left, bottom, right, top], colors) {
    this.ctx = ctx;
    this.colors = colors;
    const margin = 18;
    this.scale = Math.min((width - 2 * margin) / (right - left), (height - 2 * margin) / (top - bottom));
    this.middle = [width / 2, height / 2];
    this.center = [(left + right) / 2, (bottom + top) / 2];
    this.width = width;
    this.height = height;
  }

  /** Position of a scene point on the canvas, in pixels. */
  to([x, y]) {
    return [this.middle[0] + (x - this.center[0]) * this.scale, this.middle[1] - (y - this.center[1]) * this.scale];
  }

  line(points, color, thick = 2, { alpha = 1, dash = [] } = {}) {
    if (points.length < 2) return;
    const { ctx } = this;
    ctx.save();
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = color;
    ctx.lineWidth = thick;
    ctx.lineCap = ctx.lineJoin = "round";
    ctx.setLineDash(dash);
    ctx.beginPath();
    points.forEach((point, i) => ctx[i === 0 ? "moveTo" : "lineTo"](...this.to(point)));
    ctx.stroke();
    ctx.restore();
  }

  shape(points, color, alpha = 1) {
    const { ctx } = this;
    ctx.save();
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.beginPath();
    points.forEach((point, i) => ctx[i === 0 ? "moveTo" : "lineTo"](...this.to(point)));
    ctx.closePath();
    ctx.fill();
    ctx.restore();
  }

  /** A disc with a radius in pixels. */
  disc(point, radius, color, alpha = 1) {
    const { ctx } = this;
    ctx.save();
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.arc(...this.to(point), radius, 0, 2 * Math.PI);
    ctx.fill();
    ctx.restore();
  }

  label(text, point, color) {
    const { ctx } = this;
    ctx.fillStyle = color;
    ctx.font = "11px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.fillText(text, ...this.to(point));
  }
}

/** A point rotated by an angle, then translated. */
export function turned([x, y], angle, [dx, dy]) {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return [dx + x * cos - y * sin, dy + x * sin + y * cos];
}

/** The bounding box of the points, at least `least` wide and high, with a margin. */
export function around(points, least, margin) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const low = (list) => list.reduce((a, b) => Math.min(a, b), Infinity);
  const high = (list) => list.reduce((a, b) => Math.max(a, b), -Infinity);
  const grown = (from, to) => {
    const more = Math.max(0, (least - (to - from)) / 2) + margin;
    return [from - more, to + more];
  };
  const [left, right] = grown(low(xs), high(xs));
  const [bottom, top] = grown(low(ys), high(ys));
  return [left, bottom, right, top];
}
