// A sweep as a table like the paper's Table 1: systems by variants, a dot per seed, mean ± standard deviation.
import * as address from "./address.js";
import { ageLabel } from "./age.js";
import { get, mayWrite, postJson } from "./api.js";
import { button, chip, el, fill, toast } from "./dom.js";
import { Plots } from "./plots.js";
import { number, percent } from "./format.js";
import { Links } from "./links.js";
import { progress, sparkline } from "./list.js";

const SEEDS = { done: "done", failed: "failed", waiting: "waiting" };

export async function openSweep(main, page) {
  const path = `/api/sweep/${encodeURIComponent(page.route[1] ?? "")}`;
  const head = el("div", { class: "page-head" });
  const table = el("table", { class: "sweep" });
  const grid = new Plots({ links: new Links(), signal: page.signal });
  const opened = el("section", { class: "card table-card", hidden: true, "aria-live": "polite" });
  const load = async () => {
    const sweep = await get(path, page.signal);
    page.trail([{ text: "Studies", href: "#/" }, { text: sweep.name }]);
    showHead(head, sweep);
    showTable(table, sweep, (row, found) => showCell(opened, row, found));
    grid.update(sweep.exhibits ?? []);
  };
  await load();
  main.append(
    head,
    el(
      "section",
      { class: "card table-card sweep-card" },
      el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Cells" }, table),
      key(),
    ),
    opened,
    grid.element,
  );
  let timer = null;
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = null;
      load().catch(() => {});
    }, 500);
  };
  page.stream.on("change", ({ id }) => id === page.route[1] && soon()).on("again", soon);
}

function showHead(head, { name, status, cells, of, updated }) {
  fill(
    head,
    el(
      "div",
      { class: "grow" },
      el("div", { class: "title-row" }, el("h1", {}, name), chip(status), updated ? ageLabel(updated) : null),
    ),
    progress(cells, of, "cell"),
  );
}

function showTable(table, { columns, rows }, open) {
  fill(
    table,
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "system"),
        el("th", { scope: "col" }, "optimum"),
        el("th", { scope: "col" }, "optimal zero-order hold"),
        columns.map((column) => el("th", { scope: "col" }, column)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, row.title ?? row.system),
          el("td", { "data-name": "optimum" }, number(row.best, 4)),
          el("td", { "data-name": "optimal zero-order hold" }, number(row.held, 4)),
          columns.map((column) =>
            cell(
              column,
              row.cells.find((candidate) => candidate.variant === column),
              (found) => open(row, found),
            ),
          ),
        ),
      ),
    ),
  );
}

function cell(name, found, open) {
  if (!found) return el("td", { class: "quiet", "data-name": name }, "–");
  const done = found.seeds.filter((seed) => seed.state === "done").length;
  return el(
    "td",
    { class: "sweep-cell", "data-name": name },
    el(
      "button",
      { type: "button", class: "link sweep-mean", title: "Runs of this cell", onclick: () => open(found) },
      done === 0 ? el("span", { class: "quiet" }, "–") : spread(found),
    ),
    el(
      "div",
      { class: "seeds", role: "img", "aria-label": `${done} of ${found.seeds.length} seeds done` },
      found.seeds.map(dot),
    ),
    found.paper ? el("div", { class: "quiet small" }, `paper ${found.paper}`) : null,
  );
}

/** Mean and standard deviation, "20.20 ± 0.02", with the decimals that the latter resolves. */
function spread({ mean, std }) {
  if (typeof std !== "number" || typeof mean !== "number") return el("b", {}, number(mean, 4));
  const decimals = std > 0 ? Math.max(2, Math.min(6, Math.ceil(-Math.log10(std)))) : 2;
  return [el("b", {}, mean.toFixed(decimals).replace("-", "−")), ` ± ${std.toFixed(decimals)}`];
}

/** The runs of a cell: costs by episode, and the study in which each can be looked at. */
function showCell(host, { system, title }, { variant, settings, set, seeds }) {
  const name = (seed) => `${system}-${variant}-${seed}`.replace(/[^A-Za-z0-9_.]+/g, "-").slice(0, 80);
  const heads = ["seed", "state", "final cost", "above optimum", "cost by episode", "run"];
  const row = (one) =>
    el(
      "tr",
      {},
      el("td", {}, String(one.seed)),
      el("td", { class: "text-cell" }, one.reason ? `${one.state}: ${one.reason}` : one.state),
      el("td", {}, number(one.cost)),
      el("td", {}, percent(one.percent) || "–"),
      el("td", {}, sparkline(one.costs)),
      el("td", {}, button("Open as a study", { disabled: !mayWrite(), onclick: () => openRun(name(one.seed), { system, seed: one.seed, settings, set }) })),
    );
  fill(
    host,
    el("h3", {}, `${title || system} · ${variant}`),
    el("p", { class: "about" }, "A sweep stores results only. A run is computed again as a study, with the same numbers, and then opens."),
    el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Runs of the cell" },
      el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, seeds.map(row))),
    ),
  );
  host.hidden = false;
  host.scrollIntoView({ block: "nearest" });
}

/** Opens the study of a run; starts it if there is none. */
async function openRun(name, run) {
  try {
    const { items } = await get("/api/studies");
    const known = items.find((item) => item.kind === "study" && item.name === name);
    const id = known?.id ?? (await postJson("/api/new", { name, ...run })).id;
    location.hash = address.to(["study", id]);
  } catch (error) {
    toast([error.message, error.hint].filter(Boolean).join(" – "));
  }
}

function dot({ seed, state, cost, percent: share, reason }) {
  const details = [
    `seed ${seed}`,
    state,
    cost === null || cost === undefined ? null : `cost ${number(cost)}`,
    percent(share),
    reason,
  ];
  return el("span", { class: `seed ${SEEDS[state] ?? "waiting"}`, title: details.filter(Boolean).join(", ") });
}

function key() {
  const entry = (state, text) => el("span", {}, el("span", { class: `seed ${state}`, "aria-hidden": "true" }), text);
  return el(
    "p",
    { class: "key about" },
    "One dot per seed: ",
    entry("done", "done"),
    entry("failed", "failed"),
    entry("waiting", "waiting"),
  );
}
