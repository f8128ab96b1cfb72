// A study on hardware, step by step: plan, check, run, upload, review.
import { mayWrite, post, postJson } from "./api.js";
import { button, el, fill, icon, prose, toast } from "./dom.js";
import { errorParts } from "./errors.js";
import { NO_TOKEN } from "./study-details.js";
import { number } from "./format.js";
import { wrongLines } from "./upload.js";

const LARGEST = 16e6;

export class PendingPlan {
  constructor(context) {
    Object.assign(this, { context, plan: null });
    this.steps = el("ol", { class: "steps", "aria-label": "Steps" });
    this.what = el("div", { class: "next-what" });
    this.answer = el("div", { class: "upload-answer", "aria-live": "polite" });
    this.file = el("input", {
      type: "file",
      id: "measured",
      accept: ".csv,.json,.txt,text/csv,application/json",
      disabled: !mayWrite(),
      onchange: () => this.send(this.file.files[0]),
    });
    this.drop = el(
      "label",
      { class: `drop ${mayWrite() ? "" : "disabled"}`, for: "measured" },
      icon("upload"),
      el("b", {}, "Upload measurements"),
      el("span", { class: "quiet" }, "choose measured.csv, or drop it here"),
      this.file,
    );
    this.reason = el("input", {
      type: "text",
      class: "text",
      "aria-label": "Why the episode failed",
      placeholder: "Why did it fail?",
      disabled: !mayWrite(),
    });
    this.failForm = el(
      "form",
      {
        class: "fail-form",
        onsubmit: (event) => {
          event.preventDefault();
          this.fail();
        },
      },
      this.reason,
      button("Mark as failed", { type: "submit", kind: "danger", disabled: !mayWrite() }),
    );
    this.element = el(
      "section",
      { class: "card next", hidden: true, "aria-label": "Next episode" },
      this.steps,
      this.what,
      el(
        "div",
        { class: "next-do" },
        this.drop,
        mayWrite() ? null : el("p", { class: "hint" }, prose(NO_TOKEN)),
        this.answer,
        el("details", { class: "fail" }, el("summary", {}, icon("next"), "Episode aborted"), this.failForm),
      ),
    );
    this.listen();
  }

  listen() {
    const over = (on) => (event) => {
      event.preventDefault();
      this.drop.classList.toggle("over", on && mayWrite());
    };
    this.drop.addEventListener("dragover", over(true));
    this.drop.addEventListener("dragleave", over(false));
    this.drop.addEventListener("drop", (event) => {
      over(false)(event);
      if (mayWrite()) this.send(event.dataTransfer.files[0]);
    });
  }

  show(summary, live) {
    const { next, hardware, over } = summary;
    const planning = this.planning || live?.phase === "planning";
    this.element.hidden = !(next || (hardware && !over)) || (Boolean(live) && !planning);
    if (this.element.hidden) return;
    const state = JSON.stringify([next, planning, summary.rows.length, summary.episodes]);
    if (state === this.plan) return;
    this.plan = state;
    this.element.classList.toggle("to-plan", !next);
    this.showSteps(next ? 1 : summary.rows.length > 0 ? 4 : 0);
    if (next) this.showPlan(summary);
    else this.showReview(summary, planning);
  }

  /** The steps of an episode; `now` is the current one. */
  showSteps(now) {
    fill(
      this.steps,
      ["Plan", "Check", "Run", "Upload", "Review"].map((name, i) =>
        el("li", { class: i < now ? "past" : null, "aria-current": i === now ? "step" : null }, name),
      ),
    );
  }

  showPlan(summary) {
    const { next } = summary;
    fill(
      this.what,
      el("h2", {}, `Next: run episode ${next.episode} and measure`),
      next.checks.length
        ? el(
            "ul",
            { class: "checks", "aria-label": "Check before the run" },
            next.checks.map(({ what, value, fine }) =>
              el("li", { class: fine ? "fine" : "look" }, icon(fine ? "done" : "damaged"), el("span", {}, el("b", {}, what), `: ${value}`)),
            ),
          )
        : null,
      this.times(summary),
      next.worth ? el("p", { class: "about" }, next.worth) : null,
      el(
        "p",
        { class: "row" },
        el(
          "a",
          { class: "button primary", href: `${this.context.path}/plan.json`, download: "plan.json" },
          icon("download"),
          el("span", {}, "plan.json"),
        ),
      ),
    );
  }

  /** After an upload: what came in, and the next plan. */
  showReview(summary, planning) {
    const last = summary.rows.findLast((row) => row.status !== "pending" && row.status !== "discarded");
    const wait = planning ? "Planning …" : `Plan ${last ? "next" : "first"} episode`;
    fill(
      this.what,
      el("h2", {}, last ? `Review episode ${last.episode}, then plan the next` : "Plan the first episode"),
      last
        ? el(
            "p",
            { class: "about" },
            `${last.measured} measurements${last.cost === null ? "" : `, cost ${number(last.cost)}${last.cost_from === "estimated" ? " (estimated)" : ""}`}. Residuals of each row are in the tab Data. If the data are wrong, discard the episode before planning.`,
          )
        : null,
      el(
        "p",
        { class: "row" },
        button(wait, { kind: "primary", disabled: !mayWrite() || planning, onclick: () => this.ask() }),
        last
          ? button(`Discard episode ${last.episode}`, {
              kind: "danger",
              disabled: !mayWrite() || planning,
              onclick: () => this.discard(last.episode),
            })
          : null,
      ),
    );
  }

  /** Plans the next episode; the server stops when this page is left. */
  async ask() {
    await this.act("ask", {}, "Planned");
  }

  async discard(episode) {
    await this.act("discard", { episode, reason: "discarded on the page" }, `Episode ${episode} discarded`);
  }

  async act(what, body, done) {
    this.planning = what === "ask";
    this.plan = null;
    fill(this.answer);
    this.context.repaint?.();
    try {
      await postJson(`${this.context.path}/${what}`, body);
      toast(done);
    } catch (error) {
      fill(this.answer, el("div", { class: "refused" }, errorParts(error)));
    }
    this.planning = false;
    await this.context.reload();
  }

  times({ next, time_unit: unit }) {
    const rule = next.rule ? el("p", {}, "Further measurement times are chosen during the run: ", el("b", {}, next.rule), ".") : null;
    return [
      rule,
      ...next.measure_at.map(
        (times, start) =>
          times.length > 0 && [
            next.measure_at.length > 1 ? el("h3", {}, `From initial state ${start}`) : null,
            el(
              "p",
              { class: "about" },
              `Measure states and controls at these ${times.length} times${unit ? ` [${unit}]` : ""}; the episode takes ${number(next.horizon)}${unit ? ` ${unit}` : ""}.`,
            ),
            el(
              "ol",
              { class: "times" },
              times.map((time) => el("li", {}, number(time, 4))),
            ),
          ],
      ),
    ];
  }

  /** Checks a file: what it would store, and how far each measurement is from its prediction. Nothing is stored yet. */
  async send(file) {
    if (!file) return;
    this.file.value = "";
    if (file.size > LARGEST) {
      const hint = "The limit is 16 MB; `ocorl study tell` accepts larger files.";
      fill(this.answer, errorParts({ message: `${file.name} is too large`, hint }));
      return;
    }
    const upload = { name: file.name, text: await file.text(), json: file.name.endsWith(".json") };
    const checked = await this.sent("check", upload);
    if (checked) this.showChecked(upload, checked);
  }

  /** Sends an upload; a refusal is shown at its rows. */
  async sent(where, { text, json }) {
    try {
      return await post(`${this.context.path}/${where}`, text, json ? "application/json" : "text/csv");
    } catch (error) {
      fill(this.answer, el("div", { class: "refused" }, errorParts(error), json ? null : wrongLines(text, error.rows ?? [])));
      return null;
    }
  }

  showChecked(upload, { episode, notes, far, rows }) {
    const most = Math.max(far, ...rows.map((row) => row.residual ?? 0));
    const odd = rows.filter((row) => row.residual > far).length;
    const known = rows.some((row) => row.residual !== null);
    const ticks = rows.map((row, i) => el("input", { type: "checkbox", checked: true, "aria-label": `Learn from row ${i + 1}` }));
    const record = button("Record", { kind: "primary", onclick: () => this.record(upload, ticks) });
    const verdict = !known
      ? "There is no model yet to compare them with."
      : odd
        ? `${odd} are more than ${far} σ from their prediction: are units, signs and times right?`
        : "All are near their prediction.";
    fill(
      this.answer,
      el(
        "div",
        { class: odd ? "refused" : "accepted" },
        el("p", {}, icon(odd ? "damaged" : "done"), el("span", {}, el("b", {}, `${upload.name}: ${rows.length} measurements for episode ${episode}. `), verdict)),
        notes.length ? el("ul", {}, notes.map((note) => el("li", {}, note))) : null,
        el(
          "div",
          { class: "table-scroll checked-rows", tabindex: "0", role: "region", "aria-label": "Residuals before recording" },
          el(
            "table",
            {},
            el("thead", {}, el("tr", {}, ["learn", "t", "residual [σ]"].map((head) => el("th", { scope: "col" }, head)))),
            el("tbody", {}, rows.map((row, i) => residualRow(row, ticks[i], far, most))),
          ),
        ),
        el("p", { class: "row" }, record, button("Cancel", { onclick: () => fill(this.answer) })),
      ),
    );
    record.focus({ preventScroll: true });
  }

  /** Records a checked file; rows without a tick are kept, and not learned from. */
  async record(upload, ticks) {
    const excluded = ticks.flatMap((tick, i) => (tick.checked ? [] : [i + 1]));
    const receipt = await this.sent("measured", upload);
    if (!receipt) return;
    this.accepted(upload.name, receipt);
    try {
      if (excluded.length) await postJson(`${this.context.path}/select`, { episode: receipt.episode, rows: excluded, include: false });
    } catch (error) {
      this.answer.append(el("div", { class: "refused" }, errorParts(error)));
    }
    await this.context.reload();
    // Residuals and plots of the new data; the page shows the data without waiting for them.
    if (receipt.closed) postJson(`${this.context.path}/complete`, {}).then(() => this.context.reload(), () => {});
  }

  accepted(name, { episode, stored, known, notes, closed }) {
    const again = known > 0 ? `, ${known} were recorded before` : "";
    fill(
      this.answer,
      el(
        "div",
        { class: "accepted" },
        el(
          "p",
          {},
          icon("done"),
          el(
            "span",
            {},
            `${name}: ${stored} measurements stored${again}; episode ${episode} ${closed ? "is complete" : "is still open"}.`,
          ),
        ),
        notes?.length
          ? el(
              "ul",
              {},
              notes.map((note) => el("li", {}, note)),
            )
          : null,
      ),
    );
  }

  async fail() {
    const reason = this.reason.value.trim();
    if (!reason) {
      this.reason.focus();
      return;
    }
    try {
      await postJson(`${this.context.path}/fail`, { reason });
      this.reason.value = "";
      toast("Marked as failed");
      await this.context.reload();
    } catch (error) {
      fill(this.answer, el("div", { class: "refused" }, errorParts(error)));
    }
  }
}

function residualRow({ t, residual }, tick, far, most) {
  const share = residual === null ? 0 : Math.max(0.01, residual / most);
  return el(
    "tr",
    {},
    el("td", {}, el("label", { class: "tick" }, tick)),
    el("td", {}, number(t, 4)),
    el(
      "td",
      { class: residual > far ? "far" : null },
      el("span", { class: "bar-cell" }, el("meter", { min: 0, max: 1, value: share, "aria-hidden": "true" }), residual === null ? "–" : number(residual, 2)),
    ),
  );
}
