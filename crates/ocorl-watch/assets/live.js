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

/** The trajectory as marks for a panel: over time for a state or control, as a curve in a phase portrait. */
export function pathMarks(path, panel, { states, controls }) {
  if (!path || path.t.length === 0) return [];
  const state = (name) => states.findIndex((entry) => entry.name === name);
  const looks = { label: "now", color: { series: 0 }, dash: "solid" };
  const at = (rows, index) => rows.map((row) => row[index] ?? null);
  if (panel.x.label !== "time") {
    const [i, j] = [state(panel.x.label), state(panel.y.label)];
    return i < 0 || j < 0 ? [] : [{ kind: "line", x: at(path.x, i), y: at(path.x, j), ...looks }];
  }
  const name = [panel.y.label, panel.title].find((candidate) =>
    [...states, ...controls].some((entry) => entry.name === candidate),
  );
  if (state(name) >= 0) return [{ kind: "line", x: path.t, y: at(path.x, state(name)), ...looks }];
  const control = controls.findIndex((entry) => entry.name === name);
  return control < 0 ? [] : [{ kind: "step", x: path.t, y: at(path.u, control), ...looks }];
}

/** A figure of empty panels for a running episode without stored data. */
export function emptyStates({ states, controls, time_unit: unit, horizon }) {
  const axis = (label, of) => ({ label, unit: of, scale: "linear", range: null });
  const panels = [...states, ...controls].map((entry) => ({
    title: entry.name,
    x: { ...axis("time", unit), range: [0, horizon] },
    y: axis(entry.name, entry.unit),
    marks: [],
  }));
  return {
    id: "states",
    title: "States and controls",
    about: "live",
    figure: { title: "", subtitle: "", columns: 2, panels },
  };
}
