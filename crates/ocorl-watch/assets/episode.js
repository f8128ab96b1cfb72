// One episode: the stage, the state space, why it measured there; details in tabs. Episodes are loaded once and kept, so that the strip
// can be scrubbed.
import * as address from "./address.js";
import { get } from "./api.js";
import { el, fill, toast } from "./dom.js";
import { Plots, StageView, Strip, picturesOf, stageOf } from "./plots.js";
import { DataTable } from "./table.js";

/** Plots of the first screen; all others are in tabs. */
const FIRST = ["phase", "uncertainty"];
const TABS = [
  ["states", "Over time"],
  ["slices", "Model"],
  ["field", "Field"],
  ["calibration", "Calibration"],
  ["controller", "Controller"],
  ["data", "Data"],
  ["study", "Whole study"],
  ["settings", "Settings, notes"],
];
/** Largest number of episodes that are kept. */
const MOST = 64;
/** Milliseconds without another episode after which tabs and address follow. */
const REST = 120;

/** Waits until the browser has nothing else to do. */
const rest = () => new Promise((resolve) => (window.requestIdleCallback ?? setTimeout)(resolve));

export class EpisodeView {
  constructor({ path, links, page, details }) {
    Object.assign(this, { path, links, page, details, cache: new Map(), views: new Map(), live: null });
    const asked = address.param("episode");
    this.wanted = asked !== null && /^\d+$/.test(asked) ? Number(asked) : null;
    this.strip = new Strip((episode) => this.choose(episode));
    this.stage = new StageView(links, page.signal);
    const options = { links, signal: page.signal, source: `${path}/figure` };
    this.first = new Plots({ ...options, choose: ["phase"] });
    this.rest = new Plots(options);
    this.study = new Plots(options);
    this.table = new DataTable({
      name: "measurements",
      caption: "Measurements",
      note: "residual [σ]: distance from the prediction made without the measurement, in standard deviations of model and noise; ‖σ‖: uncertainty there before and after learning from the episode",
    });
    this.caption = el("output", { class: "episode-caption" });
    this.problem = el("p", { class: "notice-line", hidden: true, role: "status" });
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Details" });
    this.tab = address.param("tab") ?? "states";
    this.panel = el("div", { class: "tab-panel", role: "tabpanel", id: "tab-panel" });
    this.element = el(
      "section",
      { class: "episode", "aria-label": "One episode" },
      el("div", { class: "card strip-card" }, this.caption, this.strip.element),
      this.problem,
      el("div", { class: "first" }, this.stage.element, this.first.element),
      this.tabs,
      this.panel,
    );
    links.on("episode", (episode) => this.choose(episode), page.signal);
    let noted = null;
    links.on(
      "pin",
      (time) => {
        clearTimeout(noted);
        noted = setTimeout(() => !page.signal.aborted && address.note({ t: time === null ? null : Number(time.toPrecision(5)) }), 400);
      },
      page.signal,
    );
    const time = Number(address.param("t") ?? NaN);
    if (Number.isFinite(time)) links.pin(time);
  }

  /** Updates the view after a change of the study. */
  async show({ summary, strip, exhibits }, live) {
    const changed = this.summary?.updated !== summary.updated;
    Object.assign(this, { summary, live });
    const numbers = summary.rows.map((row) => row.episode);
    this.last = Math.max(0, ...numbers, summary.pending ?? 0, live?.episode ?? 0);
    this.element.hidden = numbers.length === 0 && !live;
    // New episodes change the scale of σ, which is one for the whole study.
    if (changed) [...this.cache.keys()].forEach((episode) => this.forget(episode));
    this.strip.update(strip, this.last);
    this.study.update(exhibits);
    if (!this.element.hidden) await this.load();
  }

  /** The newest episode with content: the running one, else the last recorded one. */
  newest() {
    if (this.live) return Math.min(this.live.episode, this.last);
    const stored = this.summary.rows.filter((row) => row.measured > 0 || row.cost !== null);
    return stored.at(-1)?.episode ?? this.last;
  }

  get number() {
    return Math.min(this.wanted ?? this.newest(), this.last);
  }

  /** Shows an episode: at once if it is loaded, so that the strip can be scrubbed. */
  choose(episode) {
    if (episode < 0 || episode > this.last) return;
    this.wanted = episode;
    this.showCaption();
    clearTimeout(this.noted);
    this.noted = setTimeout(() => !this.page.signal.aborted && address.note({ episode }), REST);
    // Several events may come within one frame; only the last is drawn.
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.load().catch((error) => error.name !== "AbortError" && toast(error.message));
    });
  }

  async load() {
    const episode = this.number;
    this.showCaption();
    const loaded = this.views.get(episode);
    if (!loaded) this.element.setAttribute("aria-busy", "true");
    const view = loaded ?? (await this.fetch(episode));
    // Meanwhile another episode may have been chosen.
    if (episode !== this.number) return;
    this.element.removeAttribute("aria-busy");
    this.draw(view);
    this.preload();
  }

  /** The view of an episode, requested once. */
  fetch(episode) {
    const known = this.cache.get(episode);
    if (known) return known;
    // While the learner plans an episode, the study does not contain it yet.
    const stored = this.summary.rows.some((row) => row.episode === episode);
    if (!stored && this.summary.pending !== episode) return null;
    const asked = get(`${this.path}/episode/${episode}`, this.page.signal).then(
      (view) => {
        if (this.cache.get(episode) === asked) this.views.set(episode, view);
        return view;
      },
      (error) => {
        this.forget(episode);
        if (error.status === 404) return null;
        throw error;
      },
    );
    this.cache.set(episode, asked);
    if (this.cache.size > MOST) this.forget(this.cache.keys().next().value);
    return asked;
  }

  forget(episode) {
    this.cache.delete(episode);
    this.views.delete(episode);
  }

  /** Loads the other episodes, nearest first, and parses what the first screen shows of them while the page rests. */
  async preload() {
    if (this.loading || this.live) return;
    this.loading = true;
    const order = Array.from({ length: this.last + 1 }, (_, i) => i).sort(
      (a, b) => Math.abs(a - this.number) - Math.abs(b - this.number),
    );
    try {
      for (const episode of order.slice(0, MOST - 4)) {
        if (this.page.signal.aborted) break;
        const view = await this.fetch(episode);
        await rest();
        if (view?.stage) stageOf(view.stage);
        view?.exhibits.filter(({ id }) => FIRST.includes(id)).forEach(picturesOf);
      }
    } catch {
      // The episode is requested again when it is chosen.
    }
    this.loading = false;
  }

  draw(view) {
    this.view = view;
    this.problem.hidden = !view?.missing;
    this.problem.textContent = view?.missing ? `${view.missing}. Complete it with: ocorl report STUDY` : "";
    this.stage.update(view?.stage ?? null, this.summary);
    const exhibits = view?.exhibits ?? [];
    this.first.update(
      FIRST.map((id) => exhibits.find((one) => one.id === id)).filter(Boolean),
      this.options,
    );
    this.first.element.parentElement.classList.toggle("without-stage", !view?.stage);
    this.running(this.live);
    clearTimeout(this.resting);
    if (this.panel.firstChild) this.resting = setTimeout(() => this.drawRest(), REST);
    else this.drawRest();
  }

  /** The details below the first screen follow when the strip rests. */
  drawRest() {
    this.table.show(this.view?.measurements ?? { columns: [], rows: [] }, `episode-${this.number}.csv`);
    this.showTabs();
    this.running(this.live);
  }

  get options() {
    return { query: `?episode=${this.number}`, motion: this.view?.motion ?? null };
  }

  showTabs() {
    const exhibits = this.view?.exhibits ?? [];
    const there = TABS.filter(([id]) => ["data", "study", "settings"].includes(id) || exhibits.some((one) => one.id === id));
    if (!there.some(([id]) => id === this.tab)) this.tab = there[0][0];
    const focused = this.tabs.contains(document.activeElement);
    fill(
      this.tabs,
      there.map(([id, name], i) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            class: "tab",
            "aria-selected": String(id === this.tab),
            "aria-controls": "tab-panel",
            tabindex: id === this.tab ? 0 : -1,
            onclick: () => this.open(id),
            onkeydown: (event) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
              if (step) this.open(there[(i + step + there.length) % there.length][0], true);
            },
          },
          name,
        ),
      ),
    );
    if (focused) this.tabs.querySelector("[aria-selected=true]").focus();
    const content = { data: this.table.element, study: this.study.element, settings: this.details.element }[this.tab];
    if (!content)
      this.rest.update(
        exhibits.filter((one) => one.id === this.tab),
        this.options,
      );
    const wanted = content ?? this.rest.element;
    if (this.panel.firstChild !== wanted) fill(this.panel, wanted);
  }

  open(id, focus = false) {
    this.tab = id;
    address.note({ tab: id === "states" ? null : id });
    this.showTabs();
    if (focus) this.tabs.querySelector("[aria-selected=true]").focus();
  }

  /** Draws the running episode over the plots. */
  running(live) {
    this.live = live;
    const path = live && live.episode === this.number ? live.path : null;
    for (const plots of [this.first, this.rest]) plots.running(path);
  }

  showCaption() {
    const episode = this.number;
    const row = this.summary.rows.find((one) => one.episode === episode);
    const about = { estimated: "≈ " }[row?.cost_from] ?? "";
    const parts = [
      episode === 0 ? "exploratory" : null,
      row && row.cost !== null ? `cost ${about}${row.cost.toPrecision(5)}` : row?.status,
      row?.percent !== null && row?.percent !== undefined ? percentAbove(row.percent) : null,
      row ? `${row.measured} measurements` : null,
      row?.status === "failed" ? `aborted: ${row.outcome}` : null,
    ];
    fill(this.caption, el("b", {}, `Episode ${episode}`), ` of ${this.last} · ${parts.filter(Boolean).join(" · ")}`);
    this.strip.show(episode);
  }
}

function percentAbove(percent) {
  if (percent >= 200) return `${Number((percent / 100 + 1).toPrecision(2))} × optimum`;
  const size = Number(Math.abs(percent).toPrecision(2));
  return `${size} % ${percent < 0 ? "below the best known" : "above the optimum"}`;
}
