// The list of studies and sweeps with their state; studies can be selected for comparison.
import * as address from "./address.js";
import { ageLabel } from "./age.js";
import { get, mayWrite } from "./api.js";
import { button, chip, el, fill, icon } from "./dom.js";
import { count, number } from "./format.js";
import { NewStudy } from "./new-study.js";
import { picture } from "./plots.js";

const MOST = 20;
const last = (value) => value ?? Infinity;
/** Columns of the list with the order that their heads select. */
const HEADS = [["", null], ["study", "name"], ["episodes", null], ["cost above optimum", "cost above optimum"], ["state", "state"], ["updated", "newest"]];
/** Orders of the list; the server's is newest first. */
const ORDERS = {
  newest: null,
  name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
  "cost above optimum": (a, b) => last(a.percent) - last(b.percent),
  system: (a, b) => (a.system ?? "").localeCompare(b.system ?? "") || last(a.percent) - last(b.percent),
  state: (a, b) => a.status.localeCompare(b.status),
};

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
    this.sort = el(
      "select",
      { class: "select", "aria-label": "Sort by", onchange: () => this.sorted() },
      Object.keys(ORDERS).map((name) => el("option", { value: name }, `by ${name}`)),
    );
    this.sort.value = Object.hasOwn(ORDERS, address.param("sort") ?? "") ? address.param("sort") : "newest";
    this.lead = el("p", { class: "lead" });
    this.heads = el("div", { class: "study heads", role: "group", "aria-label": "Sort" });
    this.creator = new NewStudy();
    this.tallies = el("div", { class: "tallies" });
    this.rowsHost = el("ul", { class: "studies" });
    this.empty = el("div", { class: "card notice", hidden: true });
    this.tray = el("div", { class: "tray", hidden: true, role: "region", "aria-label": "Studies to compare" });
    main.append(
      el(
        "div",
        { class: "page-head" },
        el("div", { class: "grow" }, el("h1", {}, "Studies"), this.lead),
        this.creator.opener,
        this.sort,
        el("label", { class: "filter-box" }, icon("search"), this.filter),
      ),
      this.tallies,
      el("div", { class: "list" }, this.heads, this.rowsHost),
      this.empty,
      this.tray,
      this.creator.element,
    );
  }

  async load() {
    const { root, version, writable, systems, strategies, items } = await get("/api/studies", this.page.signal);
    this.items = items;
    this.creator.offer(systems, strategies, writable);
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

  sorted() {
    address.note({ sort: this.sort.value === "newest" ? null : this.sort.value });
    this.show();
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
    const order = ORDERS[this.sort.value];
    if (order) shown.sort(order);
    this.rowsHost.replaceChildren(...shown.map((item) => this.row(item)));
    this.rowsHost.parentElement.hidden = shown.length === 0;
    this.showHeads();
    this.showTallies();
    this.showEmpty(shown.length);
    this.showTray();
  }

  showHeads() {
    const head = ([text, order]) =>
      order
        ? el("button", { type: "button", class: "head", "aria-pressed": String(this.sort.value === order), onclick: () => this.sortBy(order) }, text)
        : el("span", { class: "head" }, text);
    const focused = [...this.heads.children].indexOf(document.activeElement);
    fill(this.heads, HEADS.map(head));
    this.heads.children[focused]?.focus();
  }

  sortBy(order) {
    this.sort.value = order;
    this.sorted();
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
              sparkline(item.costs),
              el(
                "span",
                { class: "cost-words" },
                el("span", { class: `figure ${tone(item)}` }, result(item)),
                el(
                  "span",
                  { class: "sub" },
                  item.last_cost === null ? "no cost yet" : `cost ${number(item.last_cost)}`,
                  item.aborted > 0 ? ` · ${item.aborted} aborted` : "",
                ),
              ),
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

/** How good the last episode is: as the study's page judges it. */
function tone({ percent }) {
  if (percent === null || percent === undefined) return "";
  return percent <= 2 ? "good" : percent <= 50 ? "fair" : "bad";
}

function result({ percent, last_cost: cost }) {
  if (percent === null || percent === undefined) return cost === null ? "" : "optimum unknown";
  if (percent >= 200) return `${number(percent / 100 + 1, 2)} × optimum`;
  return `${percent < 0 ? "−" : "+"}${number(Math.abs(percent), 2)} %`;
}

/** The costs of the latest episodes on a logarithmic scale. */
export function sparkline(costs) {
  const there = (costs ?? []).map((cost, i) => [i, cost]).filter(([, cost]) => cost > 0);
  const [width, height] = [90, 26];
  if (there.length < 2) return el("span", { class: "sparkline" });
  const logs = there.map(([, cost]) => Math.log(cost));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const points = there.map(([i], k) => {
    const y = high > low ? (logs[k] - low) / (high - low) : 0.5;
    return `${((i / (costs.length - 1)) * width).toFixed(1)} ${((1 - y) * (height - 6) + 3).toFixed(1)}`;
  });
  const svg = picture(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true"><path d="M${points.join("L")}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>`,
  );
  return el("span", { class: "sparkline" }, svg);
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
