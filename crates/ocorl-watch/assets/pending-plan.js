// The pending plan of a study on hardware: measurement times, download of plan.json, upload of measurements.
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
      { class: "card next", hidden: true, "aria-label": "Pending plan" },
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
    const { next } = summary;
    this.element.hidden = !next || Boolean(live);
    if (!next) return;
    const state = JSON.stringify(next);
    if (state === this.plan) return;
    this.plan = state;
    fill(
      this.what,
      el("h2", {}, `Next: run episode ${next.episode} and measure`),
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

  async send(file) {
    if (!file) return;
    this.file.value = "";
    if (file.size > LARGEST) {
      fill(
        this.answer,
        errorParts({
          message: `${file.name} is too large`,
          hint: "The limit is 16 MB; `ocorl study tell` accepts larger files.",
        }),
      );
      return;
    }
    const text = await file.text();
    const json = file.name.endsWith(".json");
    try {
      const receipt = await post(`${this.context.path}/measured`, text, json ? "application/json" : "text/csv");
      this.accepted(file.name, receipt);
      await this.context.reload();
    } catch (error) {
      fill(
        this.answer,
        el("div", { class: "refused" }, errorParts(error), json ? null : wrongLines(text, error.rows ?? [])),
      );
    }
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
