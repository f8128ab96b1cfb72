// The view of one episode, selected by a slider: plots, animation, measurements. Follows the newest episode until one is selected.
import * as address from "./address.js";
import { get } from "./api.js";
import { button, el, fill, icon, toast } from "./dom.js";
import { ExhibitGrid } from "./exhibits.js";
import { number } from "./format.js";
import { emptyStates, pathMarks } from "./live.js";
import { Player, stateAt } from "./motion.js";
import { DataTable } from "./table.js";

const STEP = 900;
const PAUSE = 40;
const ORDER = ["phase", "states", "uncertainty", "calibration", "slices", "controller"];

/** Order of the plots: phase portrait beside the animation, then the trajectories, then the model. */
function inOrder(exhibits) {
  const place = ({ id }) => (ORDER.includes(id) ? ORDER.indexOf(id) : ORDER.length);
  return exhibits.toSorted((a, b) => place(a) - place(b));
}

export class EpisodeView {
  constructor({ path, links, page }) {
    Object.assign(this, { path, links, page, cache: new Map(), live: null, playing: null });
    const asked = address.param("episode");
    this.wanted = asked !== null && /^\d+$/.test(asked) ? Number(asked) : null;
    this.slider = el("input", {
      type: "range",
      min: 0,
      step: 1,
      id: "episode",
      "aria-label": "Episode",
      oninput: () => this.choose(Number(this.slider.value)),
    });
    this.caption = el("output", { class: "episode-caption", for: "episode" });
    this.play = button("", {
      picture: "play",
      label: "Play all episodes",
      kind: "square",
      onclick: () => this.togglePlay(),
    });
    this.follow = button("Newest", {
      kind: "toggle",
      "aria-pressed": "true",
      label: "Follow the newest episode",
      onclick: () => this.choose(null),
    });
    this.player = new Player(links, page.signal);
    this.grid = new ExhibitGrid(
      {
        links,
        signal: page.signal,
        source: `${path}/figure`,
        onPick: (panel, x, y) => this.pick(panel, x, y),
        onEpisode: (episode) => this.choose(episode),
        tracker: (panel, time) => this.trackedAt(panel, time),
      },
      [this.player.element],
    );
    this.table = new DataTable({
      name: "measurements",
      caption: "Measurements",
      note: "residual [σ]: distance of a measurement from the prediction, in standard deviations of model and noise",
    });
    const step = (by, name, label) =>
      button("", {
        picture: name,
        label,
        kind: "square",
        onclick: () => this.choose(Math.max(0, Math.min(this.last, this.number + by))),
      });
    this.bar = el(
      "div",
      { class: "episode-bar", role: "group", "aria-label": "Choose the episode" },
      step(-1, "previous", "Previous episode"),
      this.play,
      step(1, "next", "Next episode"),
      el("div", { class: "slider-box" }, this.caption, this.slider),
      this.follow,
    );
    this.problem = el("p", { class: "about", hidden: true });
    this.element = el(
      "section",
      { class: "episode", "aria-label": "One episode" },
      el("h2", { class: "section" }, "Episode by episode"),
      this.bar,
      this.problem,
      this.grid.element,
      this.table.element,
    );
    links.on(
      "episode",
      (episode) => {
        this.choose(episode);
        this.element.scrollIntoView({ behavior: "smooth" });
      },
      page.signal,
    );
    page.signal.addEventListener("abort", () => clearInterval(this.playing));
  }

  /** Updates the view after each change of the study. */
  async show(summary, live) {
    Object.assign(this, { summary, live });
    const numbers = summary.rows.map((row) => row.episode);
    this.last = Math.max(0, ...numbers, summary.pending ?? 0, live?.episode ?? 0);
    this.element.hidden = numbers.length === 0 && summary.pending === null && !live;
    this.slider.max = String(this.last);
    this.slider.disabled = this.last === 0;
    if (!this.element.hidden) await this.load();
  }

  /** The newest episode with content: the running one, else the last recorded one. */
  newest() {
    if (this.live) return this.live.episode;
    const stored = this.summary.rows.filter((row) => row.measured > 0 || row.cost !== null);
    return stored.at(-1)?.episode ?? this.last;
  }

  get number() {
    return Math.min(this.wanted ?? this.newest(), this.last);
  }

  /** Selects an episode; `null` follows the newest. */
  choose(episode) {
    if (episode !== null && (episode < 0 || episode > this.last)) return;
    this.wanted = episode;
    address.note({ episode });
    this.showBar(this.number);
    // A dragged slider passes many episodes; only the one where it rests is loaded.
    clearTimeout(this.waiting);
    this.waiting = setTimeout(
      () => this.load().catch((error) => error.name !== "AbortError" && toast(error.message)),
      PAUSE,
    );
  }

  async load() {
    const episode = this.number;
    this.showBar(episode);
    this.asking?.abort();
    this.asking = new AbortController();
    this.grid.element.setAttribute("aria-busy", "true");
    const view = await this.fetch(episode, AbortSignal.any([this.asking.signal, this.page.signal]));
    if (episode !== this.number) return;
    this.grid.element.removeAttribute("aria-busy");
    this.view = view;
    this.problem.hidden = view !== null;
    this.problem.textContent = view
      ? ""
      : this.isLive()
        ? `Episode ${episode} is running; nothing is stored yet.`
        : `Nothing is stored of episode ${episode} yet.`;
    this.render(episode, view);
  }

  async fetch(episode, signal) {
    const row = this.summary.rows.find((candidate) => candidate.episode === episode);
    if (!row) return null;
    const state = JSON.stringify(row);
    const known = this.cache.get(episode);
    if (known?.state === state) return known.view;
    try {
      const view = await get(`${this.path}/episode/${episode}`, signal);
      this.cache.set(episode, { state, view });
      return view;
    } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  render(episode, view) {
    const exhibits = view?.exhibits ?? (this.isLive() ? [emptyStates(this.summary)] : []);
    this.motion = this.isLive() && this.live.path ? this.live.path : (view?.motion ?? null);
    this.player.show(this.summary, this.motion, this.isLive());
    this.grid.update(inOrder(exhibits), { query: { episode } });
    this.grid.over((panel) => this.nowMarks(panel));
    this.table.show(view?.measurements ?? { columns: [], rows: [] }, `measurements-episode-${episode}.csv`);
  }

  showBar(episode) {
    this.slider.value = String(episode);
    const row = this.summary.rows.find((candidate) => candidate.episode === episode);
    const details = [
      row?.cost === null || row?.cost === undefined ? null : `cost ${number(row.cost)}`,
      row ? `${row.measured}/${row.asked} measured` : null,
      this.isLive() ? "running" : row && row.status !== "complete" ? row.status : null,
    ];
    fill(
      this.caption,
      el("b", {}, `Episode ${episode}`),
      el("span", { class: "quiet" }, ` of ${this.last}`),
      ` ${details
        .filter(Boolean)
        .map((detail) => `· ${detail}`)
        .join(" ")}`,
    );
    this.slider.setAttribute("aria-valuetext", `episode ${episode}`);
    this.follow.setAttribute("aria-pressed", String(this.wanted === null));
  }

  togglePlay() {
    const stop = () => {
      clearInterval(this.playing);
      this.playing = null;
      this.play.replaceChildren(icon("play"));
    };
    if (this.playing) {
      stop();
      return;
    }
    this.play.replaceChildren(icon("pause"));
    if (this.number >= this.last) this.choose(0);
    this.playing = setInterval(() => (this.number >= this.last ? stop() : this.choose(this.number + 1)), STEP);
  }

  // The running episode

  isLive() {
    return this.live !== null && this.live.episode === this.number;
  }

  showLive(live) {
    const other = live?.episode !== this.live?.episode;
    this.live = live;
    if (!this.summary) return;
    if (other) {
      this.show(this.summary, live).catch(() => {});
      return;
    }
    if (!this.isLive() || !live.path) return;
    this.motion = live.path;
    this.grid.over((panel) => this.nowMarks(panel));
    this.player.show(this.summary, this.motion, true);
  }

  nowMarks(panel) {
    return this.isLive() ? pathMarks(this.live.path, panel, this.summary) : [];
  }

  trackedAt(panel, time) {
    if (!this.motion || panel.x.label === "time") return null;
    const index = (name) => this.summary.states.findIndex((state) => state.name === name);
    const [i, j] = [index(panel.x.label), index(panel.y.label)];
    const state = i < 0 || j < 0 ? null : stateAt(this.motion, time)?.x;
    return state ? [state[i], state[j]] : null;
  }

  /** Highlights the table row of a clicked marker. */
  pick(panel, x, y) {
    const { columns, rows } = this.view?.measurements ?? { columns: [], rows: [] };
    const [i, j] = [columns.indexOf(panel.x.label === "time" ? "t" : panel.x.label), columns.indexOf(panel.y.label)];
    if (i < 0 || rows.length === 0) return;
    const away = (row) => Math.abs(row[i] - x) + (j >= 0 && panel.x.label !== "time" ? Math.abs(row[j] - y) : 0);
    const best = rows.reduce((found, row, index) => (away(row) < away(rows[found]) ? index : found), 0);
    this.table.mark(best);
  }
}
