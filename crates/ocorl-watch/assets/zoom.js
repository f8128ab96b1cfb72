// Zoom in a card's plots: drag a range with the mouse, or use the keys on a plot. The server draws the panel again with the new ends.
import { button, shape, toast } from "./dom.js";

/** Pixels that the mouse must move along an axis to select a range of it. */
const LEAST = 8;
/** Keys: factor of both ranges, or shift as a share of them. */
const FACTORS = { "+": 0.5, "=": 0.5, "-": 2 };
const SHIFTS = { ArrowLeft: [-0.25, 0], ArrowRight: [0.25, 0], ArrowDown: [0, -0.25], ArrowUp: [0, 0.25] };

export class Zoom {
  constructor(card) {
    Object.assign(this, { card, begun: null, dragged: false, zoomed: new Set() });
    this.reset = button("Whole range", { kind: "small", hidden: true, onclick: () => this.whole() });
    card.files.before(this.reset);
    const { host } = card;
    host.addEventListener("pointerdown", (event) => this.down(event));
    host.addEventListener("pointermove", (event) => this.moved(event));
    host.addEventListener("pointerup", () => this.up());
    host.addEventListener("pointercancel", () => this.drop());
    host.addEventListener("dblclick", () => this.whole());
    host.addEventListener("keydown", (event) => this.key(event));
  }

  /** New plots are shown whole. */
  forget() {
    this.zoomed.clear();
    this.reset.hidden = true;
  }

  whole() {
    const before = [...this.zoomed];
    this.forget();
    for (const index of before) this.card.redraw(index, []);
  }

  down(event) {
    this.dragged = false;
    if (event.button !== 0 || event.pointerType === "touch") return;
    const found = this.card.under(event);
    if (found) this.begun = { ...found, frame: null };
  }

  moved(event) {
    if (!this.begun || event.buttons !== 1) return this.drop();
    const { panel, point } = this.begun;
    const now = panel.place(event);
    const wide = Math.abs(now.x - point.x) >= LEAST;
    const high = panel.y.shows && Math.abs(now.y - point.y) >= LEAST;
    this.begun.frame?.remove();
    this.begun.range = null;
    this.dragged ||= wide || high;
    if (!wide && !high) return;
    const [left, right] = wide ? [point.x, now.x].sort((a, b) => a - b) : [0, panel.width];
    const [top, bottom] = high ? [point.y, now.y].sort((a, b) => a - b) : [0, panel.height];
    this.begun.frame = shape("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "zoom-frame" });
    panel.group.append(this.begun.frame);
    this.begun.range = { left, right, top, bottom };
  }

  up() {
    const { panel, range } = this.begun ?? {};
    this.drop();
    if (range) this.show(panel, range);
  }

  drop() {
    this.begun?.frame?.remove();
    this.begun = null;
  }

  key(event) {
    const index = this.card.pictures.findIndex(({ svg }) => svg === event.target);
    const panel = this.card.pictures[index]?.panels[0];
    if (!panel) return;
    const [factor, shift] = [FACTORS[event.key], SHIFTS[event.key]];
    if (event.key === "0" || event.key === "Escape") this.whole();
    else if (factor || (shift && this.zoomed.has(index))) {
      const [dx, dy] = shift ?? [0, 0];
      const around = (size, share) => [size * (0.5 + share - 0.5 * (factor ?? 1)), size * (0.5 + share + 0.5 * (factor ?? 1))];
      const [left, right] = around(panel.width, dx);
      const [top, bottom] = around(panel.height, -dy);
      this.show(panel, { left, right, top, bottom });
    } else return;
    event.preventDefault();
  }

  /** Shows the part of a panel between these places. */
  show(panel, { left, right, top, bottom }) {
    const index = this.card.pictures.findIndex(({ panels }) => panels.includes(panel));
    const ends = [["x", panel.x.value(left), panel.x.value(right)]];
    if (panel.y.shows) ends.push(["y", panel.y.value(bottom), panel.y.value(top)]);
    if (index < 0 || ends.flat().some((end) => typeof end === "number" && !Number.isFinite(end))) return;
    this.zoomed.add(index);
    this.reset.hidden = false;
    this.card.redraw(index, ends).catch((error) => error.name !== "AbortError" && toast(error.message));
  }
}
