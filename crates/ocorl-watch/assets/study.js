// The page of one study: its result in one sentence, what needs attention, the pending plan, and its episodes.
import { ageLabel, setAge } from "./age.js";
import { get, mayWrite, postJson } from "./api.js";
import { button, chip, el, fill, icon, prose, toast } from "./dom.js";
import { EpisodeView } from "./episode.js";
import { StudyDetails } from "./study-details.js";
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
    const id = page.route[1] ?? "";
    Object.assign(this, { page, main, summary: null, id, path: `/api/study/${encodeURIComponent(id)}`, live: null });
    this.links = new Links();
    this.age = ageLabel(null);
    this.head = el("div", { class: "study-head" });
    this.warnings = el("div", { class: "warnings", role: "status" });
    const context = { id, path: this.path, links: this.links, page, reload: () => this.load() };
    this.liveBar = new LiveBar();
    this.pendingPlan = new PendingPlan(context);
    context.repaint = () => this.summary && this.pendingPlan.show(this.summary, this.live);
    context.details = this.details = new StudyDetails(context);
    this.episode = new EpisodeView(context);
    this.early = el("div", {});
    this.element = el(
      "div",
      { class: "study-page" },
      this.head,
      this.liveBar.element,
      this.warnings,
      this.pendingPlan.element,
      this.episode.element,
      this.early,
    );
  }

  async load() {
    const study = await get(this.path, this.page.signal);
    this.summary = study.summary;
    this.showHead();
    this.showWarnings();
    this.pendingPlan.show(study.summary, this.live);
    if (!this.element.isConnected) {
      this.main.append(this.element);
      get(`${this.path}/live`, this.page.signal)
        .then((live) => this.showLive(live))
        .catch(() => {});
    }
    this.details.show(study.summary);
    await this.episode.show(study, this.live);
    // Before the first episode there are no tabs: the details stand alone.
    fill(this.early, this.episode.element.hidden ? this.details.element : null);
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
    if (Boolean(this.shownLive) !== Boolean(live)) this.showHead();
    this.shownLive = live;
    this.showChip();
    this.pendingPlan.show(this.summary, live);
    this.episode.running(live);
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
    const { title, name, strategy, planner, seed, episodes, of, measurements, verdict } = this.summary;
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
    const signs = { good: "done", fair: "idle", bad: "failed", open: "waiting" };
    fill(
      this.head,
      el(
        "div",
        { class: "grow" },
        el(
          "div",
          { class: "title-row" },
          el("h1", {}, title || name),
          this.chip,
          this.age,
          el("span", { class: "lead" }, details.filter(Boolean).join(" · ")),
        ),
        el("p", { class: `verdict ${verdict.tone}` }, icon(signs[verdict.tone]), el("span", {}, verdict.text)),
      ),
      this.runButton(),
      el(
        "a",
        { class: "button", href: `${this.path}/report.html`, target: "_blank", rel: "noopener" },
        icon("download"),
        el("span", {}, "Report"),
      ),
    );
  }

  /** Every warning stays until its cause is gone, and says what to do. */
  showWarnings() {
    fill(
      this.warnings,
      this.summary.warnings.map(({ text, episode, action, row }) =>
        el(
          "div",
          { class: "card warning" },
          icon("damaged"),
          el("p", { class: "grow" }, el("b", {}, text), " ", prose(action)),
          episode === null
            ? null
            : [
                button("Look", { onclick: () => this.episode.choose(episode) }),
                row === null
                  ? button("Discard", { kind: "danger", disabled: !mayWrite(), onclick: () => this.discard(episode, text) })
                  : button("Include", { disabled: !mayWrite(), onclick: () => this.include(episode, row) }),
              ],
        ),
      ),
    );
  }

  discard(episode, reason) {
    return this.write("discard", { episode, reason }, `Episode ${episode} discarded; its data are kept and not learned from`);
  }

  include(episode, row) {
    return this.write("select", { episode, rows: [row], include: true }, `Row ${row} of episode ${episode} is learned from again`);
  }

  async write(what, body, done) {
    try {
      await postJson(`${this.path}/${what}`, body);
      toast(done);
      await this.load();
    } catch (error) {
      toast([error.message, error.hint].filter(Boolean).join(" – "));
    }
  }

  /** Stops a simulated run, or continues it. */
  runButton() {
    const { hardware, rows, episodes, of } = this.summary;
    if ((hardware && rows.length > 0) || !mayWrite()) return null;
    if (this.live) return button("Stop", { kind: "danger", onclick: () => this.write("stop", {}, "Stopping") });
    if (hardware) return null;
    const more = episodes < of ? of : of + 5;
    const text = episodes < of ? "Continue" : "5 more episodes";
    return button(text, { picture: "play", onclick: () => this.write("run", { episodes: more }, "Started") });
  }
}
