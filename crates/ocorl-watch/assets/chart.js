// One panel of a figure: uPlot provides axes, cursor and selection, paint.js draws the marks.
import { axisText } from "./format.js";
import { colors } from "./theme.js";
import { colorValues, places, touching } from "./marks.js";
import { LEVELS, shade } from "./colors.js";
import { paint } from "./paint.js";
import { Interaction } from "./interaction.js";
import { between, ends, placer, span, ticks, categoryTicks } from "./ticks.js";
import { el } from "./dom.js";

const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const SMALL = `11px ${FAMILY}`;
const TEXT = `12px ${FAMILY}`;
const ruler = document.createElement("canvas").getContext("2d");

function width(text) {
  ruler.font = SMALL;
  return ruler.measureText(text).width;
}

/** A plot in `host`. Settings: `links` (shared cursor), `hidden` (hidden labels), `logs` ({ x, y }: forced scales), `onPick` (a marker
 * was clicked), `onEpisode`, `onView` (zoomed or reset), `tracker` (time → position), `view`. */
export class Chart extends Interaction {
  constructor(host, panel, settings) {
    super();
    Object.assign(this, { host, panel, settings, overlay: [], view: settings.view ?? {} });
    this.ended = new AbortController();
    this.tip = el("div", { class: "tip", hidden: true });
    this.pin = el("div", { class: "pin", hidden: true });
    this.dot = el("div", { class: "tracker", hidden: true });
    host.tabIndex = 0;
    host.setAttribute("role", "group");
    host.addEventListener("keydown", (event) => this.key(event), { signal: this.ended.signal });
    this.measure();
    this.build();
    this.follow();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(host);
  }

  /** Shows new data of the same panel. */
  update(panel) {
    this.panel = panel;
    this.rebuild();
  }

  /** Draws marks of the running episode over those of the panel. */
  draw(marks) {
    this.overlay = marks;
    this.refresh();
  }

  /** Redraws after a change of hidden series, scales or colours. */
  refresh() {
    this.measure();
    const [x, y] = [ends(this.x), ends(this.y)];
    this.plot.batch(() => {
      this.plot.setScale("x", { min: x[0], max: x[1] });
      this.plot.setScale("y", { min: y[0], max: y[1] });
    });
    this.plot.redraw(false, true);
    this.mark();
  }

  rebuild() {
    this.plot.destroy();
    this.measure();
    this.build();
    this.mark();
  }

  destroy() {
    this.ended.abort();
    this.observer.disconnect();
    this.plot.destroy();
  }

  get marks() {
    return [...this.panel.marks, ...this.overlay].filter((mark) => !this.settings.hidden.has(mark.label));
  }

  /** Decides the axis ranges: all data, or the part to which the reader has zoomed. */
  measure() {
    const { panel, marks, settings } = this;
    const scaled = (axis, log) => ({ ...axis, scale: log === undefined ? axis.scale : log ? "log" : "linear" });
    const all = marks.flatMap(places).filter((place) => !place.includes(null));
    const filled = marks.some((mark) => mark.kind === "heat");
    const values = (at) => all.map((place) => place[at]).filter((value) => value !== undefined);
    this.x = span(scaled(panel.x, settings.logs.x), values(0), filled || touching(marks) ? 0 : 0.03);
    this.y = span(scaled(panel.y, settings.logs.y), values(1), filled ? 0 : 0.05);
    this.y.reversed = Boolean(panel.y.categories?.length);
    const shares = colorValues(marks).filter((value) => value !== null);
    this.color = shares.length > 0 ? span(panel.color ?? {}, shares, 0) : null;
    const window = panel.x.label === "time" ? settings.links.window : this.view.x;
    if (window) this.x = between(this.x, ...window);
    if (this.view.y) this.y = between(this.y, ...this.view.y);
  }

  build() {
    const size = this.size();
    const [x, y] = [ends(this.x), ends(this.y)];
    this.plot = new window.uPlot(
      {
        ...size,
        padding: [() => (this.yTicks().factor ? 20 : 10), () => this.barRoom(), 0, 0],
        legend: { show: false },
        scales: {
          x: { time: false, distr: this.x.log ? 3 : 1, range: () => ends(this.x) },
          y: { distr: this.y.log ? 3 : 1, dir: this.y.reversed ? -1 : 1, range: () => ends(this.y) },
        },
        axes: [this.axis("x"), this.axis("y")],
        series: [{}, { paths: () => null, points: { show: false } }],
        cursor: this.cursor(),
        hooks: {
          drawClear: [() => this.minorGrid()],
          draw: [() => this.paint()],
          setCursor: [() => this.hovered()],
          setSelect: [() => this.selected()],
        },
      },
      [x, y],
      this.host,
    );
    this.plot.over.append(this.pin, this.dot, this.tip);
    this.plot.over.addEventListener("click", (event) => this.clicked(event));
    this.host.setAttribute("aria-label", this.description());
  }

  description() {
    const { title, x, y } = this.panel;
    const names = [...new Set(this.panel.marks.map((mark) => mark.label).filter(Boolean))].join(", ");
    return `Plot ${title}: ${axisText(y)} over ${axisText(x)}. ${names}. Arrow keys move the cursor, plus zooms in, 0 resets.`;
  }

  size() {
    return { width: Math.max(160, this.host.clientWidth), height: Math.max(140, this.host.clientHeight) };
  }

  resize() {
    const size = this.size();
    if (size.width !== this.plot.width || size.height !== this.plot.height) this.plot.setSize(size);
    this.mark();
  }

  // Axes

  axis(side) {
    const level = side === "x";
    const axis = this.panel[side];
    const label = axisText(axis);
    const found = () => (level ? this.xTicks() : this.yTicks());
    return {
      scale: side,
      side: level ? 2 : 3,
      label: label || undefined,
      labelFont: TEXT,
      font: SMALL,
      labelSize: label ? 17 : 0,
      labelGap: 0,
      gap: 5,
      stroke: () => colors().quiet,
      rotate: level ? this.turn() : 0,
      size: () => (level ? this.below() : this.beside()),
      splits: () => found().major.map((tick) => tick.value),
      filter: (_, splits) => splits,
      values: () => found().major.map((tick) => tick.text),
      grid: { stroke: () => colors().grid, width: 1 },
      ticks: { show: false },
      border: { show: true, stroke: () => colors().quiet, width: 1 },
    };
  }

  inner() {
    const { bbox } = this.plot ?? {};
    const ratio = window.uPlot.pxRatio;
    const size = this.size();
    return bbox?.width > 0 ? [bbox.width / ratio, bbox.height / ratio] : [size.width - 70, size.height - 60];
  }

  xTicks() {
    const [wide] = this.inner();
    const categories = this.panel.x.categories ?? [];
    if (categories.length > 0) return categoryTicks(this.x, categories, wide, 14);
    return ticks(this.x, wide, Math.max(2, Math.min(9, Math.floor(wide / 44))), (text) => width(text) + 14);
  }

  yTicks() {
    const [, high] = this.inner();
    const categories = this.panel.y.categories ?? [];
    if (categories.length > 0) return categoryTicks(this.y, categories, high, 13);
    return ticks(this.y, high, Math.max(2, Math.min(9, Math.floor(high / 28))), () => 20);
  }

  /** Rotation of category names below the axis, in degrees. */
  turn() {
    const categories = this.panel.x.categories ?? [];
    const widest = Math.max(0, ...categories.map(width));
    return categories.length > 0 && widest + 8 > (this.size().width - 60) / categories.length ? 35 : 0;
  }

  below() {
    const widest = Math.max(0, ...(this.panel.x.categories ?? []).map(width));
    return this.turn() ? Math.min(110, widest * 0.58 + 18) : 21;
  }

  beside() {
    return Math.max(30, ...this.yTicks().major.map((tick) => width(tick.text) + 12));
  }

  minorGrid() {
    const { ctx, bbox } = this.plot;
    ctx.save();
    ctx.strokeStyle = colors().grid;
    ctx.lineWidth = 0.5 * window.uPlot.pxRatio;
    ctx.translate(bbox.left, bbox.top);
    ctx.beginPath();
    const [x, y] = [placer(this.x, bbox.width), placer(this.y, bbox.height, true)];
    for (const value of this.x.log ? this.xTicks().minor : []) {
      ctx.moveTo(x(value), 0);
      ctx.lineTo(x(value), bbox.height);
    }
    for (const value of this.y.log ? this.yTicks().minor : []) {
      ctx.moveTo(0, y(value));
      ctx.lineTo(bbox.width, y(value));
    }
    ctx.stroke();
    ctx.restore();
  }

  // Marks

  places() {
    const [wide, high] = this.inner();
    return { x: placer(this.x, wide), y: placer(this.y, high, true), width: wide, height: high };
  }

  paint() {
    const { ctx, bbox } = this.plot;
    const palette = colors();
    const scene = { ...this.places(), marks: this.marks, colors: palette, font: SMALL };
    scene.shadeOf = this.color ? clamped(placer(this.color, 1)) : () => NaN;
    ctx.save();
    ctx.translate(bbox.left, bbox.top);
    ctx.scale(window.uPlot.pxRatio, window.uPlot.pxRatio);
    ctx.textBaseline = "alphabetic";
    if (!paint(ctx, scene)) this.notice(ctx, scene, palette);
    this.factors(ctx, scene, palette);
    if (this.color) this.colorBar(ctx, scene, palette);
    ctx.restore();
  }

  notice(ctx, { width: wide, height: high }, palette) {
    ctx.font = TEXT;
    ctx.textAlign = "center";
    ctx.fillStyle = palette.muted;
    const positive = (this.x.log || this.y.log) && this.panel.marks.length > 0;
    ctx.fillText(positive ? "no positive values to show" : "no data", wide / 2, high / 2 + 4);
  }

  factors(ctx, { width: wide, height: high }, palette) {
    ctx.font = SMALL;
    ctx.fillStyle = palette.quiet;
    ctx.textAlign = "right";
    if (this.xTicks().factor) ctx.fillText(this.xTicks().factor, wide, high + 36);
    ctx.textAlign = "left";
    if (this.yTicks().factor) ctx.fillText(this.yTicks().factor, 0, -8);
  }

  colorTicks() {
    const [, high] = this.inner();
    return ticks(this.color, high, Math.max(2, Math.min(9, Math.floor(high / 28))), () => 20);
  }

  barRoom() {
    if (!this.color) return 14;
    const labels = this.colorTicks().major.map((tick) => width(tick.text));
    return 12 + 12 + 8 + Math.max(0, ...labels) + (axisText(this.panel.color ?? {}) ? 20 : 4);
  }

  /** Draws the colour bar right of the axes: colours, ticks, title. */
  colorBar(ctx, { width: wide, height: high }, palette) {
    const left = wide + 12;
    for (let index = 0; index < LEVELS; index += 1) {
      ctx.fillStyle = shade(index);
      ctx.fillRect(left, high * (1 - (index + 1) / LEVELS), 12, high / LEVELS + 0.5);
    }
    const { major, factor } = this.colorTicks();
    ctx.font = SMALL;
    ctx.fillStyle = palette.quiet;
    ctx.textAlign = "left";
    for (const tick of major) {
      ctx.fillRect(left + 12, high * (1 - tick.at) - 0.5, 3, 1);
      ctx.fillText(tick.text, left + 18, high * (1 - tick.at) + 4);
    }
    if (factor) ctx.fillText(factor, left, -4);
    ctx.font = TEXT;
    ctx.fillStyle = palette.ink;
    ctx.textAlign = "center";
    ctx.translate(wide + this.barRoom() - 5, high / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(axisText(this.panel.color ?? {}), 0, 0);
  }
}

function clamped(place) {
  return (value) => Math.max(0, Math.min(1, place(value)));
}
