// The page of one study: headline numbers, the running episode, the pending plan, the whole study, one episode, details.
import { ageLabel, setAge } from "./age.js";
import * as address from "./address.js";
import { get } from "./api.js";
import { chip, el, fill, icon, prose, toast } from "./dom.js";
import { EpisodeView } from "./episode.js";
import { ExhibitGrid } from "./exhibits.js";
import { StudyDetails } from "./study-details.js";
import { headline } from "./headline.js";
import { Links } from "./links.js";
import { LiveBar } from "./live.js";
import { PendingPlan } from "./pending-plan.js";

export async function openStudy(main, page) {
  const study = new StudyPage(page, main);
  page.stream
    .on("change", ({ id }) => id === study.id && study.soon())
    .on("again", () => study.soon())
    .on("live", ({ id, live }) => id === study.id && study.showLive(live));
  await study.load();
}

class StudyPage {
  constructor(page, main) {
    Object.assign(this, {
      page,
      main,
      summary: null,
      id: page.route[1] ?? "",
      path: `/api/study/${encodeURIComponent(page.route[1] ?? "")}`,
      live: null,
    });
    this.links = new Links();
    this.age = ageLabel(null);
    this.head = el("div", { class: "page-head" });
    this.numbers = el("section", { class: "numbers", "aria-label": "Headline numbers" });
    const context = { id: this.id, path: this.path, links: this.links, page, reload: () => this.load() };
    this.liveBar = new LiveBar();
    this.pendingPlan = new PendingPlan(context);
    this.overall = new ExhibitGrid({
      links: this.links,
      source: `${this.path}/figure`,
      signal: page.signal,
      onEpisode: (number) => this.episode.choose(number),
    });
    this.episode = new EpisodeView(context);
    this.details = new StudyDetails(context);
    this.heading = el("h2", { class: "section" }, "Whole study");
    this.begin = el(
      "div",
      { class: "card notice", hidden: true },
      el("h2", {}, "No measurements yet"),
      el(
        "p",
        {},
        prose("Plan the first episode with `ocorl study ask`; the plan and its measurement times appear here."),
      ),
    );
    this.element = el(
      "div",
      { class: "study-page" },
      this.head,
      this.liveBar.element,
      this.numbers,
      this.pendingPlan.element,
      this.begin,
      this.heading,
      this.overall.element,
      this.episode.element,
      this.details.element,
    );
    this.keepTime();
  }

  /** Keeps the time window and the selected time in the address. */
  keepTime() {
    const pair = (address.param("window") ?? "").split(",").map(Number);
    if (pair.length === 2 && pair[0] < pair[1]) this.links.window = pair;
    const time = Number(address.param("t") ?? NaN);
    if (Number.isFinite(time)) this.links.pinned = time;
    const short = (value) => Number(value.toPrecision(5));
    this.links.on(
      "window",
      ({ range }) => address.note({ window: range ? range.map(short).join(",") : null }),
      this.page.signal,
    );
    let timer = null;
    this.links.on(
      "pin",
      ({ time: now }) => {
        clearTimeout(timer);
        timer = setTimeout(
          () => !this.page.signal.aborted && address.note({ t: now === null ? null : short(now) }),
          400,
        );
      },
      this.page.signal,
    );
  }

  async load() {
    const { summary, exhibits } = await get(this.path, this.page.signal);
    this.summary = summary;
    this.showHead();
    headline(this.numbers, summary);
    this.pendingPlan.show(summary, this.live);
    this.overall.update(exhibits);
    this.heading.hidden = exhibits.length === 0;
    this.begin.hidden = exhibits.length > 0 || summary.rows.length > 0;
    if (!this.element.isConnected) this.mount();
    // Deferred, so that the visible part is painted first.
    setTimeout(() => this.details.show(summary));
    await this.episode.show(summary, this.live);
  }

  /** Shows the page as soon as the summary is loaded; the episode follows. */
  mount() {
    this.main.append(this.element);
    get(`${this.path}/live`, this.page.signal)
      .then((live) => this.showLive(live))
      .catch(() => {});
  }

  soon() {
    this.timer ??= setTimeout(async () => {
      try {
        await this.load();
      } catch (error) {
        if (error.name !== "AbortError") toast(error.message);
      }
      this.timer = null;
    }, 120);
  }

  showLive(live) {
    const ended = this.live && !live;
    this.live = live;
    if (!this.summary) return;
    if (live) this.summary.updated = live.at;
    setAge(this.age, this.summary.updated);
    this.liveBar.show(live, this.summary);
    this.showChip();
    this.pendingPlan.show(this.summary, live);
    this.episode.showLive(live);
    if (ended) this.soon();
  }

  status() {
    const { over, pending } = this.summary;
    if (this.live) return "running";
    if (over) return "done";
    return pending === null || pending === undefined ? "idle" : "waiting";
  }

  showChip() {
    const now = chip(this.status());
    this.chip?.replaceWith(now);
    this.chip = now;
  }

  showHead() {
    const { title, name, strategy, planner, seed, episodes, of, measurements } = this.summary;
    this.page.trail([{ text: "Studies", href: "#/" }, { text: name }]);
    setAge(this.age, this.summary.updated);
    this.showChip();
    const details = [
      strategy,
      planner,
      `seed ${seed}`,
      of ? `${episodes} of ${of} episodes` : `${episodes} episodes`,
      `${measurements} measurements`,
    ];
    fill(
      this.head,
      el(
        "div",
        { class: "grow" },
        el("div", { class: "title-row" }, el("h1", {}, title || name), this.chip, this.age),
        el("p", { class: "lead" }, details.filter(Boolean).join(" · ")),
      ),
      el(
        "a",
        { class: "button", href: `${this.path}/report.html`, target: "_blank", rel: "noopener" },
        icon("download"),
        el("span", {}, "Report"),
      ),
    );
  }
}
