// Interaction with a plot: hover, zoom, click, keys. Drawing is in chart.js.
import { hideTip, nearestPoint, readings, showTip, valueText } from "./hover.js";
import { ends, valueAt } from "./ticks.js";

const AXES = ["time", "episode"];

/** Base class of Chart with its event handlers. It uses these members of Chart: plot, panel, marks, x, y, settings, places(), refresh(). */
export class Interaction {
  cursor() {
    return {
      y: false,
      points: { show: false },
      drag: { x: true, y: true, uni: 24, dist: 6, setScale: false },
      bind: { dblclick: () => () => this.reset() },
    };
  }

  /** Subscribes to the cursor and the time window shared by the plots of the page. */
  follow() {
    const { links } = this.settings;
    const { signal } = this.ended;
    links.on("hover", ({ axis, value, from }) => this.cursorFrom(axis, value, from), signal);
    links.on("pin", () => this.mark(), signal);
    links.on("window", () => this.panel.x.label === "time" && this.refresh(), signal);
    this.mark();
  }

  /** The values of the axes at a position in pixels. */
  at([left, top]) {
    const { width, height } = this.places();
    return { x: valueAt(this.x, left / width), y: valueAt(this.y, 1 - top / height) };
  }

  // Cursor

  hovered() {
    const { left, top } = this.plot.cursor;
    const { links } = this.settings;
    const shared = AXES.includes(this.panel.x.label);
    if (left < 0 || top < 0) {
      hideTip(this.tip);
      if (this.pointing && shared) links.hover(this.panel.x.label, null, this);
      this.pointing = false;
      return;
    }
    this.pointing = true;
    this.showReadings([left, top]);
    if (shared) links.hover(this.panel.x.label, this.at([left, top]).x, this);
  }

  showReadings(cursor) {
    const place = this.places();
    const at = this.at(cursor);
    const { x } = this.panel;
    const title = AXES.includes(x.label) ? `${x.label} ${valueText(x, x.whole ? Math.round(at.x) : at.x)}` : "";
    showTip(this.tip, title, readings(this.panel, this.marks, place, at, cursor), cursor);
  }

  cursorFrom(axis, value, from) {
    if (from === this || this.panel.x.label !== axis) {
      if (axis === "time") this.track(value ?? this.settings.links.pinned);
      return;
    }
    const { x, width } = this.places();
    const left = value === null ? -10 : x(value);
    this.plot.setCursor({ left: left >= 0 && left <= width ? left : -10, top: left >= 0 ? 0 : -10 }, false);
  }

  /** Shows the selected time: a line in time plots, a dot in phase portraits. */
  mark() {
    const { pinned } = this.settings.links;
    this.track(pinned);
    const { x, width } = this.places();
    const left = this.panel.x.label === "time" && pinned !== null ? x(pinned) : NaN;
    this.pin.hidden = !(left >= 0 && left <= width);
    if (!this.pin.hidden) this.pin.style.transform = `translateX(${left}px)`;
  }

  track(time) {
    const state = time === null ? null : this.settings.tracker?.(this.panel, time);
    const { x, y, width, height } = this.places();
    const [left, top] = state ? [x(state[0]), y(state[1])] : [NaN, NaN];
    this.dot.hidden = !(left >= 0 && left <= width && top >= 0 && top <= height);
    if (!this.dot.hidden) this.dot.style.transform = `translate(${left}px, ${top}px)`;
  }

  // Zoom

  selected() {
    const { left, top, width, height } = this.plot.select;
    if (width < 4 && height < 4) return;
    const place = this.places();
    const [a, b] = [this.at([left, top + height]), this.at([left + width, top])];
    this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.dragged = performance.now();
    this.zoom(
      width >= 4 && width < place.width - 1 ? [a.x, b.x] : null,
      height >= 4 && height < place.height - 1 ? [a.y, b.y].sort((p, q) => p - q) : null,
    );
  }

  zoom(x, y) {
    if (y) this.view.y = y;
    if (x && this.panel.x.label === "time") this.settings.links.zoomTime(x);
    else if (x) this.view.x = x;
    this.refresh();
    this.settings.onView?.(this.view);
  }

  reset() {
    this.view = {};
    if (this.panel.x.label === "time" && this.settings.links.window) this.settings.links.zoomTime(null);
    this.refresh();
    this.settings.onView?.(this.view);
  }

  // Clicks and keys

  clicked() {
    if (performance.now() - (this.dragged ?? -1000) < 250) return;
    const { left, top } = this.plot.cursor;
    if (left >= 0) this.choose([left, Math.max(0, top)]);
  }

  choose(cursor) {
    const { onPick, onEpisode, links } = this.settings;
    const near = nearestPoint(this.marks, this.places(), cursor, ["points", "colored_points"], 12);
    if (near) onPick?.(this.panel, near.mark.x[near.index], near.mark.y[near.index]);
    const at = this.at(cursor);
    if (this.panel.x.label === "episode") onEpisode?.(Math.round(at.x));
    else if (this.panel.y.label === "episode") onEpisode?.(Math.round(near ? near.mark.y[near.index] : at.y));
    if (this.panel.x.label === "time") links.pin(near ? near.mark.x[near.index] : at.x, this);
  }

  key(event) {
    if (event.target !== this.host) return;
    const { width, height } = this.places();
    const here = this.plot.cursor.left >= 0 ? this.plot.cursor.left : width / 2;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step)
      this.moveCursor(Math.max(0, Math.min(width, here + (step * width) / (event.shiftKey ? 10 : 50))), height / 3);
    else if (event.key === "Enter") this.choose([here, height / 3]);
    else if (event.key === "+" || event.key === "=") this.scale(here / width, 0.5);
    else if (event.key === "-") this.scale(here / width, 2);
    else if (event.key === "0" || event.key === "Escape") this.reset();
    else return;
    event.preventDefault();
  }

  moveCursor(left, top) {
    this.plot.setCursor({ left, top });
  }

  /** Zooms by `factor` around a position on the x axis, given as a share of its length. */
  scale(share, factor) {
    const [from, to] = [share - share * factor, share + (1 - share) * factor];
    this.zoom([valueAt(this.x, from), valueAt(this.x, to)], null);
    return ends(this.x);
  }
}
