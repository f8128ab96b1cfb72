// The animation of an episode, linked with the selected time of the plots.
import { button, el, fill, icon } from "./dom.js";
import { number } from "./format.js";
import { drawScene, sceneOf } from "./scenes.js";
import { colors, onTheme } from "./theme.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** State (interpolated) and control at a time; `null` for an empty trajectory. */
export function stateAt(motion, time) {
  const { t, x, u } = motion;
  if (t.length === 0) return null;
  let [low, high] = [0, t.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (t[middle] <= time) low = middle;
    else high = middle - 1;
  }
  const next = Math.min(low + 1, t.length - 1);
  const share = next > low ? Math.max(0, Math.min(1, (time - t[low]) / (t[next] - t[low]))) : 0;
  return { x: x[low].map((from, i) => from + share * (x[next][i] - from)), u: u?.[low] ?? [] };
}

export class Player {
  constructor(links, signal) {
    Object.assign(this, { links, signal, motion: null, scene: null, time: 0, playing: false, live: false });
    this.canvas = el("canvas", { class: "stage", role: "img" });
    this.toggle = button("", {
      picture: "play",
      label: "Play",
      kind: "square",
      onclick: () => (this.playing ? this.stop() : this.start()),
    });
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step: "any",
      value: 0,
      "aria-label": "Time",
      oninput: () => this.seek(Number(this.slider.value)),
    });
    this.clock = el("output", { class: "clock" });
    this.speed = el(
      "select",
      { class: "select", "aria-label": "Speed" },
      SPEEDS.map((speed) => el("option", { value: speed }, `${speed} ×`)),
    );
    this.speed.value = "1";
    this.element = el(
      "section",
      { class: "card animation", hidden: true, "aria-label": "Animation" },
      el(
        "header",
        {},
        el(
          "div",
          { class: "grow" },
          el("h3", {}, "Animation"),
          el("p", { class: "about" }, "executed trajectory; grey: goal"),
        ),
      ),
      this.canvas,
      el("div", { class: "player" }, this.toggle, this.slider, this.clock, this.speed),
    );
    links.on("pin", ({ time, from }) => from !== this && this.pinned(time), signal);
    links.on("hover", ({ axis, value }) => axis === "time" && !this.playing && this.draw(value ?? this.time), signal);
    onTheme(() => this.draw(this.time), signal);
    signal.addEventListener("abort", () => this.stop());
    new ResizeObserver(() => this.draw(this.time)).observe(this.canvas);
  }

  /** Shows a trajectory; while the episode runs, its latest state. */
  show(summary, motion, live) {
    const scene = sceneOf(summary.animation);
    this.element.hidden = !scene || !motion || motion.t.length === 0;
    if (this.element.hidden) {
      this.stop();
      return;
    }
    if (!this.motion && summary.horizon < 3) this.speed.value = "0.1";
    Object.assign(this, { scene, motion, live, unit: summary.time_unit, title: summary.title });
    this.bounds = scene.bounds(motion);
    this.slider.max = String(summary.horizon || motion.t.at(-1));
    if (live && !this.playing) this.time = motion.t.at(-1);
    else this.time = Math.min(this.links.pinned ?? this.time, motion.t.at(-1));
    this.draw(this.time);
  }

  start() {
    if (!this.motion) return;
    if (this.time >= this.motion.t.at(-1) - 1e-9) this.time = this.motion.t[0];
    this.playing = true;
    this.showToggle();
    let last = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      // With prefers-reduced-motion the animation updates twice per second.
      if (!calm.matches || now - last >= 500) {
        this.seek(this.time + ((now - last) / 1000) * Number(this.speed.value));
        last = now;
      }
      if (this.time >= this.motion.t.at(-1)) this.stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    this.playing = false;
    this.showToggle();
  }

  showToggle() {
    fill(this.toggle, icon(this.playing ? "pause" : "play"));
    this.toggle.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.toggle.title = this.playing ? "Pause" : "Play";
  }

  pinned(time) {
    if (time === null || !this.motion) return;
    this.time = Math.min(time, this.motion.t.at(-1));
    this.draw(this.time);
  }

  seek(time) {
    this.time = Math.max(this.motion.t[0], Math.min(time, this.motion.t.at(-1)));
    this.draw(this.time);
    this.links.pin(this.time, this);
  }

  draw(time) {
    if (this.element.hidden || !this.motion || this.canvas.clientWidth === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const now = stateAt(this.motion, time);
    drawScene(ctx, { ...this, width, height, time, now, colors: colors() });
    this.slider.value = String(time);
    this.clock.textContent = `${number(time, 3)} ${this.unit}`;
    this.canvas.setAttribute("aria-label", `${this.title} at time ${number(time, 3)} ${this.unit}`);
  }
}
