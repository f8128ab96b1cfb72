// The list of studies and sweeps with their state; studies can be selected for comparison.
import * as address from "./address.js";
import { ageLabel } from "./age.js";
import { get, mayWrite } from "./api.js";
import { button, chip, el, fill, icon } from "./dom.js";
import { count, number } from "./format.js";

const MOST = 20;

export async function openList(main, page) {
  const list = new List(main, page);
  page.trail([]);
  await list.load();
  page.stream
    .on("change", () => list.soon())
    .on("list", () => list.soon())
    .on("again", () => list.soon());
}

class List {
  constructor(main, page) {
    Object.assign(this, { page, rows: new Map(), chosen: new Set(), items: [], timer: null });
    this.filter = el("input", {
      type: "search",
      class: "filter",
      placeholder: "Filter by name, system, state …",
      "aria-label": "Filter studies",
      value: address.param("filter") ?? "",
      oninput: () => this.filtered(),
    });
    this.lead = el("p", { class: "lead" });
    this.tallies = el("div", { class: "tallies" });
    this.rowsHost = el("ul", { class: "studies" });
    this.empty = el("div", { class: "card notice", hidden: true });
    this.tray = el("div", { class: "tray", hidden: true, role: "region", "aria-label": "Studies to compare" });
    main.append(
      el(
        "div",
        { class: "page-head" },
        el("div", { class: "grow" }, el("h1", {}, "Studies"), this.lead),
        el("label", { class: "filter-box" }, icon("search"), this.filter),
      ),
      this.tallies,
      this.rowsHost,
      this.empty,
      this.tray,
    );
  }

  async load() {
    const { root, version, writable, items } = await get("/api/studies", this.page.signal);
    this.items = items;
    fill(this.lead, `in `, el("code", {}, root), ` · ocorl ${version}`, mayWrite() && writable ? null : " · read only");
    this.show();
  }

  /** Changes arrive in bursts; one reload serves all of them. */
  soon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (!this.page.signal.aborted) this.load().catch(() => {});
    }, 300);
  }

  filtered() {
    address.note({ filter: this.filter.value.trim() });
    this.show();
  }

  show() {
    const terms = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => {
      const text = [item.name, item.title, item.system, item.strategy, item.status, item.kind].join(" ").toLowerCase();
      return terms.every((term) => text.includes(term));
    };
    const shown = this.items.filter(fits);
    this.rowsHost.replaceChildren(...shown.map((item) => this.row(item)));
    this.rowsHost.hidden = shown.length === 0;
    this.showTallies();
    this.showEmpty(shown.length);
    this.showTray();
  }

  showTallies() {
    const tally = (status) => this.items.filter((item) => item.status === status).length;
    const states = ["running", "waiting", "done", "idle", "damaged"].filter((status) => tally(status) > 0);
    fill(
      this.tallies,
      states.map((status) =>
        el(
          "button",
          {
            type: "button",
            class: "tally",
            title: `show only ${status}`,
            "aria-pressed": String(this.filter.value.trim() === status),
            onclick: () => {
              this.filter.value = this.filter.value.trim() === status ? "" : status;
              this.filtered();
            },
          },
          chip(status),
          el("b", {}, String(tally(status))),
        ),
      ),
    );
  }

  showEmpty(shown) {
    this.empty.hidden = shown > 0;
    if (this.items.length > 0)
      fill(
        this.empty,
        el("h2", {}, "No study matches the filter"),
        el(
          "p",
          {},
          button("Show all", {
            onclick: () => {
              this.filter.value = "";
              this.filtered();
            },
          }),
        ),
      );
    else
      fill(
        this.empty,
        el("h2", {}, "No studies yet"),
        el("p", {}, "Start one in the watched folder; it appears here by itself:"),
        el("pre", {}, "ocorl run pendulum --out studies/pendulum"),
      );
  }

  /** The row of an item; reused while the item is unchanged, so that focus and check marks stay. */
  row(item) {
    const state = JSON.stringify(item);
    const known = this.rows.get(item.id);
    if (known?.state === state) return known.element;
    const element = item.kind === "sweep" ? sweepRow(item) : this.studyRow(item);
    this.rows.set(item.id, { state, element });
    return element;
  }

  studyRow(item) {
    const damaged = item.status === "damaged";
    const tick = el("input", {
      type: "checkbox",
      "aria-label": `Compare ${item.name}`,
      checked: this.chosen.has(item.id),
      disabled: damaged,
      onchange: (event) => this.choose(item.id, event.target.checked),
    });
    const details = [
      item.title ?? item.system,
      item.strategy,
      item.seed === null || item.seed === undefined ? null : `seed ${item.seed}`,
    ];
    return el(
      "li",
      { class: `study ${damaged ? "is-damaged" : ""}`, "data-id": item.id },
      el("label", { class: "tick" }, tick),
      el(
        "div",
        { class: "study-name" },
        el("a", { href: address.to(["study", item.id]) }, item.name),
        damaged
          ? el("span", { class: "error-line" }, `damaged: ${item.error}`)
          : el("span", { class: "sub" }, details.filter(Boolean).join(" · ")),
      ),
      damaged ? el("div", { class: "progress-cell" }) : progress(item.episodes, item.of, "episode"),
      el(
        "div",
        { class: "cost-cell" },
        damaged
          ? null
          : [
              el("span", { class: "figure" }, number(item.last_cost)),
              el("span", { class: "sub" }, item.best_cost === null ? "no cost yet" : `lowest ${number(item.best_cost)}`),
            ],
      ),
      el("div", { class: "chip-cell" }, chip(item.status)),
      ageLabel(item.updated, ""),
    );
  }

  choose(id, chosen) {
    if (chosen) this.chosen.add(id);
    else this.chosen.delete(id);
    this.showTray();
  }

  showTray() {
    const amount = this.chosen.size;
    this.tray.hidden = amount === 0;
    const fits = amount >= 2 && amount <= MOST;
    const advice = amount < 2 ? "select one more to compare" : amount > MOST ? `at most ${MOST} can be compared` : "";
    fill(
      this.tray,
      el(
        "span",
        { class: "grow" },
        `${count(amount, "study").replace("studys", "studies")} selected`,
        advice ? ` – ${advice}` : "",
      ),
      button("Clear", { onclick: () => this.clear() }),
      el(
        "a",
        {
          class: `button primary ${fits ? "" : "disabled"}`,
          href: fits ? address.to(["compare"], { ids: [...this.chosen].join(",") }) : null,
          "aria-disabled": String(!fits),
          role: "link",
        },
        "Compare",
      ),
    );
  }

  clear() {
    this.chosen.clear();
    this.rowsHost.querySelectorAll("input[type=checkbox]").forEach((tick) => {
      tick.checked = false;
    });
    this.showTray();
  }
}

function sweepRow(item) {
  return el(
    "li",
    { class: "study", "data-id": item.id },
    el("span", { class: "tick" }, icon("grid")),
    el(
      "div",
      { class: "study-name" },
      el("a", { href: address.to(["sweep", item.id]) }, item.name),
      el("span", { class: "sub" }, "sweep"),
    ),
    progress(item.cells, item.of, "cell"),
    el("div", { class: "cost-cell" }),
    el("div", { class: "chip-cell" }, chip(item.status)),
    ageLabel(item.updated, ""),
  );
}

/** A progress bar with its text: "5 of 20 episodes". */
export function progress(done, of, word) {
  const text = of ? `${done ?? 0} of ${of} ${word}s` : count(done ?? 0, word);
  return el(
    "div",
    { class: "progress-cell" },
    el("span", {}, text),
    of ? el("progress", { max: of, value: Math.min(done ?? 0, of), "aria-label": text }) : null,
  );
}
