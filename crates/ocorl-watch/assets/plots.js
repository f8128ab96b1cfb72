// Plots drawn by the server, in cards. Everything on them is drawn already; this file links them: a time or an episode under the cursor
// is shown in all plots that have it. Each panel says what its axes show (t, x0, u1, episode), their ends, and its size.
import { getText } from "./api.js";
import { button, el, fill, icon, shape } from "./dom.js";
import { number } from "./format.js";
import { Zoom } from "./zoom.js";

/** The picture of a text written by the server. */
export function picture(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

/** An axis of a panel: what it shows, and the maps between values and pixels. */
function axis(text, size, upward) {
  const [shows, low, high, kind] = (text ?? "").split(" ");
  const [from, to, log] = [Number(low), Number(high), kind === "log"];
  const place = (value) => {
    const share = ((log ? Math.log10(value) : value) - from) / (to - from);
    return (upward ? 1 - share : share) * size;
  };
  const value = (at) => {
    const share = upward ? 1 - at / size : at / size;
    const found = from + share * (to - from);
    return log ? 10 ** found : found;
  };
  return { shows, place, value };
}

/** The panels of a picture whose axes are known. */
export function panelsOf(svg) {
  return [...svg.querySelectorAll("g.panel[data-x]")].map((group) => {
    const [width, height] = group.dataset.size.split(" ").map(Number);
    const [x, y] = [axis(group.dataset.x, width, false), axis(group.dataset.y, height, true)];
    const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(group.getScreenCTM().inverse());
    const at = (event) => {
      const point = place(event);
      const inside = point.x >= 0 && point.x <= width && point.y >= -6 && point.y <= height + 6;
      return inside ? point : null;
    };
    return { group, width, height, x, y, at, place };
  });
}

/** Pictures of figures and stages that were parsed already; each is on the page once. */
const PARSED = new WeakMap();

/** Parses what the server drew, once for each answer. */
function parsed(owner, parse) {
  if (!PARSED.has(owner)) PARSED.set(owner, parse());
  return PARSED.get(owner);
}

/** The pictures of a figure, each with its panels. */
export function picturesOf({ drawn }) {
  return parsed(drawn, () => drawn.panels.map(placed));
}

function placed(text) {
  const svg = picture(text);
  svg.setAttribute("tabindex", "0");
  return { svg, panels: panelsOf(svg) };
}

/** The drawing of a stage, with the paths of everything that moves. */
export function stageOf(stage) {
  return parsed(stage, () => {
    const svg = picture(stage.svg);
    const groups = stage.moving.map((moving) => ({ moving, paths: [...svg.querySelectorAll(`g.${moving.name} path`)] }));
    return { svg, groups };
  });
}

/** State or control `shows` (x0, u1) of a trajectory at a time, interpolated; NaN if it has none. */
export function valueAt({ t, x, u }, shows, time) {
  if (shows === "t") return time;
  const rows = shows?.startsWith("x") ? x : u;
  const index = Number(shows?.slice(1));
  if (!rows || !t.length) return NaN;
  let [low, high] = [0, t.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (t[middle] <= time) low = middle;
    else high = middle - 1;
  }
  const next = Math.min(low + 1, t.length - 1);
  const share = next > low ? Math.max(0, Math.min(1, (time - t[low]) / (t[next] - t[low]))) : 0;
  const [from, to] = [rows[low]?.[index], rows[next]?.[index]];
  return from + share * (to - from);
}

/** A card with one figure: title, caption, panels, files. Options: `links`, `source` (address of its files), `choose` (one panel). */
class Card {
  constructor(exhibit, options) {
    Object.assign(this, { options, chosen: 0, pictures: [] });
    this.title = el("h3", {});
    this.about = el("p", { class: "about" });
    this.chooser = el("select", {
      class: "select",
      "aria-label": "Which panel",
      onchange: () => {
        this.chosen = Number(this.chooser.value);
        this.show();
      },
    });
    this.files = el("span", { class: "files" });
    this.host = el("div", { class: "pictures" });
    this.readout = el("p", { class: "readout", "aria-live": "off" });
    this.element = el(
      "section",
      { class: "card exhibit", "data-exhibit": exhibit.id },
      el("header", {}, el("div", { class: "grow" }, this.title, this.about), this.chooser, this.files),
      this.host,
      this.readout,
    );
    this.host.addEventListener("pointermove", (event) => this.moved(event));
    this.host.addEventListener("pointerleave", () => this.left());
    if (options.source) this.zoom = new Zoom(this);
    this.host.addEventListener("click", (event) => !this.zoom?.dragged && this.clicked(event));
    this.update(exhibit, options);
  }

  update(exhibit, options) {
    Object.assign(this, { exhibit, motion: options.motion ?? null, options: { ...this.options, ...options } });
    this.show();
  }

  get panels() {
    return this.pictures.flatMap(({ panels }) => panels);
  }

  /** Shows a panel with other ends of its axes, drawn by the server; without ends as it was. */
  async redraw(index, ends) {
    const { exhibit, options } = this;
    const panel = this.first + index;
    const range = ends.map(([axis, low, high]) => `&${axis}=${low}:${high}`).join("");
    const address = `${options.source}/${exhibit.id}.svg${options.query ? `${options.query}&` : "?"}panel=${panel}${range}`;
    const now = ends.length ? placed(await getText(address, options.signal)) : picturesOf(exhibit)[panel];
    if (exhibit !== this.exhibit || !this.pictures[index]) return;
    const focused = this.pictures[index].svg === document.activeElement;
    this.pictures[index].svg.replaceWith(now.svg);
    this.pictures[index] = now;
    if (focused) now.svg.focus({ preventScroll: true });
    this.drawLive();
    this.showAt(this.options.links?.shown ?? null);
  }

  show() {
    const { id, title, about, drawn } = this.exhibit;
    this.about.title = about;
    const one = this.options.choose?.includes(id);
    this.title.textContent = title;
    this.about.textContent = about;
    this.chooser.hidden = !one || drawn.panels.length < 2;
    this.chosen = Math.min(this.chosen, drawn.panels.length - 1);
    if (!this.chooser.hidden) {
      fill(
        this.chooser,
        drawn.names.map((name, i) => el("option", { value: i }, name || `panel ${i + 1}`)),
      );
      this.chooser.value = String(this.chosen);
    }
    this.first = one ? this.chosen : 0;
    this.pictures = picturesOf(this.exhibit).slice(this.first, one ? this.chosen + 1 : undefined);
    this.host.className = `pictures columns-${one ? 1 : drawn.columns}`;
    fill(
      this.host,
      this.pictures.map(({ svg }) => svg),
    );
    this.zoom?.forget();
    this.showFiles();
    this.drawLive();
    this.showAt(this.options.links?.shown ?? null);
  }

  showFiles() {
    const { source, query } = this.options;
    if (!source) return;
    fill(
      this.files,
      ["svg", "png", "csv"].map((kind) =>
        el(
          "a",
          { href: `${source}/${this.exhibit.id}.${kind}${query ?? ""}`, download: "", title: `Download as ${kind.toUpperCase()}` },
          kind.toUpperCase(),
        ),
      ),
    );
  }

  /** The panel and point under the cursor. */
  under(event) {
    for (const panel of this.panels) {
      const point = panel.at(event);
      if (point) return { panel, point };
    }
    return null;
  }

  moved(event) {
    const found = this.under(event);
    if (!found) return this.left();
    const { panel, point } = found;
    const [x, y] = [panel.x.value(point.x), panel.y.value(point.y)];
    const title = panel.group.querySelector("title")?.textContent;
    this.readout.textContent = [title, `${number(x, 4)}, ${number(y, 4)}`].filter(Boolean).join(": ");
    this.options.links?.hover(panel.x.shows, x);
  }

  left() {
    this.readout.textContent = "";
    this.options.links?.hover(null, null);
  }

  /** Selects the time or the episode under the cursor; in a plane of states the nearest time of the trajectory. */
  clicked(event) {
    const found = this.under(event);
    const { links } = this.options;
    if (!found || !links) return;
    const { panel, point } = found;
    const value = panel.x.value(point.x);
    if (panel.x.shows === "episode") links.tell("episode", Math.round(value));
    else if (panel.y.shows === "episode") links.tell("episode", Math.round(panel.y.value(point.y)));
    else if (panel.x.shows === "t") links.pin(value);
    else if (this.motion) links.pin(this.nearest(panel, point));
  }

  nearest(panel, point) {
    const away = (time) =>
      Math.hypot(
        panel.x.place(valueAt(this.motion, panel.x.shows, time)) - point.x,
        panel.y.place(valueAt(this.motion, panel.y.shows, time)) - point.y,
      );
    return this.motion.t.reduce((best, time) => (away(time) < away(best) ? time : best), this.motion.t[0] ?? 0);
  }

  /** Shows a time (or an episode) in every panel that has it. */
  showAt(at) {
    for (const panel of this.panels) {
      panel.cursor?.remove();
      panel.cursor = null;
      if (!at) continue;
      const group = shape("g", { class: "cursor" });
      if (panel.x.shows === at.axis) {
        const x = panel.x.place(at.value);
        if (x < -1 || x > panel.width + 1) continue;
        group.append(shape("path", { d: `M${x} 0V${panel.height}`, class: "cursor-line" }));
      }
      if (at.axis === "t" && this.motion) {
        const x = panel.x.place(valueAt(this.motion, panel.x.shows, at.value));
        const y = panel.y.place(valueAt(this.motion, panel.y.shows, at.value));
        if (Number.isFinite(x) && Number.isFinite(y)) group.append(shape("circle", { cx: x, cy: y, r: 5, class: "cursor-dot" }));
      }
      panel.group.append(group);
      panel.cursor = group;
    }
  }

  /** The running episode so far. */
  drawLive(path = this.live) {
    this.live = path;
    for (const panel of this.panels) {
      panel.running?.remove();
      if (!path?.t?.length) continue;
      const points = path.t.map((time) => [
        panel.x.place(valueAt(path, panel.x.shows, time)),
        panel.y.place(valueAt(path, panel.y.shows, time)),
      ]);
      if (points.some(([x, y]) => !Number.isFinite(x) || !Number.isFinite(y))) continue;
      panel.running = shape("path", { d: `M${points.map((point) => point.join(" ")).join("L")}`, class: "running-path" });
      panel.group.append(panel.running);
    }
  }
}

/** Cards of figures; new data update the cards that are there. */
export class Plots {
  constructor(options) {
    Object.assign(this, { options, cards: new Map(), motion: null });
    this.element = el("div", { class: "exhibits" });
    options.links?.on("shown", (at) => this.each((card) => card.showAt(at)), options.signal);
  }

  each(act) {
    this.cards.forEach(act);
  }

  update(exhibits, options = {}) {
    const gone = new Set(this.cards.keys());
    for (const exhibit of exhibits) {
      gone.delete(exhibit.id);
      const known = this.cards.get(exhibit.id);
      if (known) known.update(exhibit, options);
      else {
        this.cards.set(exhibit.id, new Card(exhibit, { ...this.options, ...options }));
      }
    }
    // Elements that stand in their place already keep their focus.
    exhibits.forEach(({ id }, place) => {
      const { element } = this.cards.get(id);
      if (this.element.children[place] !== element) this.element.insertBefore(element, this.element.children[place] ?? null);
    });
    for (const id of gone) {
      this.cards.get(id).element.remove();
      this.cards.delete(id);
    }
  }

  running(path) {
    this.each((card) => card.drawLive(path));
  }
}

/** The strip of episodes: its plot is the slider that selects one. */
export class Strip {
  constructor(choose) {
    Object.assign(this, { choose, last: 0, episode: 0, panels: [] });
    this.element = el("div", {
      class: "strip",
      role: "slider",
      tabindex: 0,
      "aria-label": "Episode",
      "aria-valuemin": 0,
      onkeydown: (event) => this.key(event),
      onpointerdown: (event) => {
        this.element.setPointerCapture(event.pointerId);
        this.to(event);
      },
      onpointermove: (event) => event.buttons === 1 && this.to(event),
    });
  }

  update(strip, last) {
    this.last = last;
    this.element.hidden = !strip;
    if (!strip) return;
    fill(
      this.element,
      Object.entries(strip).map(([name, text]) => {
        const svg = picture(text);
        svg.classList.add(name);
        return svg;
      }),
    );
    this.panels = [...this.element.children].flatMap(panelsOf);
    this.element.setAttribute("aria-valuemax", String(last));
    this.show(this.episode);
  }

  to(event) {
    const panel = this.panels.find(({ group }) => group.getBoundingClientRect().width > 0);
    if (!panel) return;
    this.select(Math.round(panel.x.value(panel.place(event).x)));
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 5, PageDown: -5 };
    const ends = { Home: 0, End: this.last };
    const wanted = ends[event.key] ?? (event.key in steps ? this.episode + steps[event.key] : null);
    if (wanted === null) return;
    event.preventDefault();
    this.select(wanted);
  }

  select(episode) {
    const inside = Math.max(0, Math.min(this.last, episode));
    if (inside !== this.episode) this.choose(inside);
  }

  show(episode) {
    this.episode = episode;
    this.element.setAttribute("aria-valuenow", String(episode));
    this.element.setAttribute("aria-valuetext", `episode ${episode} of ${this.last}`);
    for (const panel of this.panels) {
      panel.cursor?.remove();
      const x = panel.x.place(episode);
      panel.cursor = shape("path", { d: `M${x} -6V${panel.height + 6}`, class: "chosen-line" });
      panel.group.append(panel.cursor);
    }
  }
}

/** The system to scale, moving along its trajectories; its slider selects the time. */
export class StageView {
  constructor(links, signal) {
    Object.assign(this, { links, stage: null, time: 0, playing: false, until: 1, groups: [] });
    this.host = el("div", { class: "stage" });
    this.toggle = button("", { picture: "play", label: "Play", kind: "square", onclick: () => this.play(!this.playing) });
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step: "any",
      value: 0,
      "aria-label": "Time",
      oninput: () => links.pin(Number(this.slider.value)),
    });
    this.clock = el("output", { class: "clock" });
    this.key = el(
      "p",
      { class: "stage-key about" },
      ["executed", "planned", "optimal"].map((name) => el("span", { class: `key-${name}` }, name)),
      el("span", { class: "key-sample" }, "considered possible"),
    );
    this.element = el(
      "section",
      { class: "card stage-card", "aria-label": "The system" },
      this.host,
      this.key,
      el("div", { class: "player" }, this.toggle, this.slider, this.clock),
    );
    links.on("shown", (at) => at?.axis === "t" && this.draw(at.value), signal);
    signal.addEventListener("abort", () => this.play(false));
  }

  update(stage, { horizon, time_unit: unit }) {
    this.element.classList.toggle("empty", !stage);
    Object.assign(this, { stage, unit, until: horizon || 1 });
    this.slider.max = String(this.until);
    const drawn = stage && stageOf(stage);
    fill(this.host, drawn?.svg);
    this.groups = drawn?.groups ?? [];
    this.draw(this.links.pinned ?? this.time);
  }

  /** Moves every system to a time. */
  draw(time) {
    this.time = Math.max(0, Math.min(this.until, time));
    for (const { moving, paths } of this.groups) {
      const points = frameAt(moving, this.time);
      let at = 0;
      moving.parts.forEach((count, i) => {
        let d = "";
        for (let k = 0; k < count; k += 1, at += 2) d += `${k ? "L" : "M"}${points[at].toFixed(1)} ${points[at + 1].toFixed(1)}`;
        paths[i]?.setAttribute("d", count === 1 ? `${d}h0` : d);
      });
    }
    this.slider.value = String(this.time);
    this.clock.textContent = `${number(this.time, 3)} ${this.unit ?? ""}`;
  }

  play(on) {
    this.playing = on;
    fill(this.toggle, icon(on ? "pause" : "play"));
    this.toggle.setAttribute("aria-label", on ? "Pause" : "Play");
    if (!on) return;
    if (this.time >= this.until - 1e-9) this.time = 0;
    let last = performance.now();
    // With prefers-reduced-motion the system moves twice per second.
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const speed = Math.max(1, this.until / 8);
    const frame = (now) => {
      if (!this.playing) return;
      if (!calm || now - last >= 500) {
        this.links.pin(Math.min(this.until, this.time + ((now - last) / 1000) * speed));
        last = now;
      }
      if (this.time >= this.until) this.play(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}

/** The points of a moving system at a time, between its frames. */
function frameAt({ times, frames }, time) {
  let next = times.findIndex((t) => t > time);
  if (next < 0) next = times.length;
  const [low, high] = [Math.max(0, next - 1), Math.min(next, times.length - 1)];
  const share = high > low ? (time - times[low]) / (times[high] - times[low]) : 0;
  return frames[low].map((from, i) => from + share * (frames[high][i] - from));
}
