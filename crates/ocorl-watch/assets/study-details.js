// Details of a study: its episodes, notes, configuration (changed settings first), state of its data.
import { mayWrite, postJson } from "./api.js";
import { button, el, fill, icon, prose, toast } from "./dom.js";
import { errorParts } from "./errors.js";
import { duration, moment, number } from "./format.js";

export const NO_TOKEN = "Open the address that `ocorl watch` printed (it ends with #token=…) to write from this page.";

export class StudyDetails {
  constructor(context) {
    this.context = context;
    this.episodes = el("tbody", {});
    this.notes = el("ul", { class: "notes" });
    this.text = el("textarea", {
      rows: 2,
      "aria-label": "A note",
      placeholder: "Write a note …",
      disabled: !mayWrite(),
    });
    this.failure = el("div", { role: "alert" });
    this.configuration = el("div", {});
    this.health = el("dl", { class: "pairs" });
    const heads = ["episode", "state", "cost", "planned", "above optimum %", "measured", "planning", "running", "recorded"];
    this.table = el(
      "section",
      { class: "card table-card wide" },
      el("header", {}, el("div", { class: "grow" }, el("h3", {}, "Episodes"))),
      el(
        "div",
        { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Episodes" },
        el(
          "table",
          { class: "episodes-table" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              heads.map((head) =>
                el("th", { scope: "col", class: head === "state" || head === "recorded" ? "text-cell" : null }, head),
              ),
            ),
          ),
          this.episodes,
        ),
      ),
    );
    this.element = el(
      "div",
      { class: "study-details" },
      this.table,
      el("section", { class: "card" }, el("h3", {}, "Notes"), this.notes, this.noteForm(), this.failure),
      el("section", { class: "card" }, el("h3", {}, "Data"), this.health),
      el("section", { class: "card wide" }, el("h3", {}, "Configuration"), this.configuration),
    );
  }

  noteForm() {
    return el(
      "form",
      {
        class: "note-form",
        onsubmit: (event) => {
          event.preventDefault();
          this.addNote();
        },
      },
      this.text,
      button("Add note", { type: "submit", disabled: !mayWrite() }),
      mayWrite() ? null : el("p", { class: "hint" }, prose(NO_TOKEN)),
    );
  }

  async addNote() {
    const text = this.text.value.trim();
    if (!text) return;
    fill(this.failure);
    try {
      await postJson(`${this.context.path}/note`, { text });
      this.text.value = "";
      toast("Note added");
      await this.context.reload();
    } catch (error) {
      fill(this.failure, errorParts(error));
    }
  }

  show(summary) {
    this.showEpisodes(summary.rows);
    fill(
      this.notes,
      summary.notes.length > 0
        ? summary.notes.map((note) => el("li", {}, note))
        : el("li", { class: "quiet" }, "No notes yet."),
    );
    fill(
      this.health,
      summary.health.map(({ what, value }) => [el("dt", {}, what), el("dd", {}, value)]),
    );
    this.showConfiguration(summary.configuration);
  }

  showEpisodes(rows) {
    this.table.hidden = rows.length === 0;
    fill(
      this.episodes,
      rows.map((row) =>
        el(
          "tr",
          {},
          el(
            "td",
            {},
            el(
              "button",
              { type: "button", class: "link", onclick: () => this.context.links.tell("episode", row.episode) },
              String(row.episode),
            ),
          ),
          el(
            "td",
            { class: "text-cell", title: row.reason },
            row.outcome || row.status,
            row.reason ? `: ${row.reason}` : "",
          ),
          el("td", {}, cost(row)),
          el("td", {}, number(row.planned_cost)),
          el("td", {}, row.percent === null ? "–" : number(row.percent, 3)),
          el("td", {}, `${row.measured} of ${row.asked}`),
          el("td", {}, duration(row.planning_seconds)),
          el("td", {}, duration(row.running_seconds)),
          el("td", { class: "text-cell" }, row.told_at ? moment(row.told_at) : "–"),
        ),
      ),
    );
  }

  showConfiguration(settings) {
    const [changed, same] = [settings.filter((one) => one.changed), settings.filter((one) => !one.changed)];
    fill(
      this.configuration,
      changed.length > 0 ? table(changed, true) : el("p", { class: "quiet" }, "All settings are defaults."),
      same.length > 0
        ? el(
            "details",
            { open: this.configuration.querySelector("details")?.open ?? false },
            el("summary", {}, icon("next"), `${same.length} settings with default values`),
            table(same, false),
          )
        : null,
    );
  }
}

function cost({ cost: value, cost_from: from }) {
  return from && from !== "reported" && value !== null ? `${number(value)} (${from})` : number(value);
}

function table(settings, changed) {
  const heads = changed ? ["setting", "value", "default"] : ["setting", "value"];
  return el(
    "div",
    { class: "table-scroll" },
    el(
      "table",
      { class: "settings" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((head) => el("th", { scope: "col" }, head)),
        ),
      ),
      el(
        "tbody",
        {},
        settings.map((one) =>
          el(
            "tr",
            { class: changed ? "changed" : null },
            el("td", { class: "text-cell" }, el("code", {}, one.key)),
            el("td", { class: "text-cell" }, one.value),
            changed ? el("td", { class: "text-cell quiet" }, one.default ?? "–") : null,
          ),
        ),
      ),
    ),
  );
}
