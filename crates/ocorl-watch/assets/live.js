// The running episode: phase, elapsed time, progress, and its trajectory so far as marks for the plots.
import { el, fill } from "./dom.js";
import { duration, number } from "./format.js";

const PHASES = {
  planning: "planning the next episode",
  running: "running",
  learning: "updating the model",
};

/** A status bar, visible while an episode runs. */
export class LiveBar {
  constructor() {
    this.caption = el("span", { class: "live-caption" });
    this.clock = el("span", { class: "live-clock" });
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Progress of the episode" });
    this.element = el(
      "section",
      { class: "card live-card", hidden: true, "aria-label": "Running now" },
      el("span", { class: "pulse", "aria-hidden": "true" }),
      this.caption,
      this.progress,
      this.clock,
    );
  }

  show(live, { time_unit: unit }) {
    this.element.hidden = !live;
    if (!live) return;
    fill(this.caption, el("b", {}, `Episode ${live.episode}`), " ", PHASES[live.phase] ?? live.phase);
    const moving = live.t !== null && live.horizon > 0;
    this.progress.hidden = !moving;
    this.progress.max = live.horizon || 1;
    this.progress.value = live.t ?? 0;
    this.clock.textContent = moving
      ? `${number(live.t, 3)} of ${number(live.horizon, 3)} ${unit}`
      : `for ${duration(live.since)}`;
  }
}
