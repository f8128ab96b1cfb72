// A sweep as a table like the paper's Table 1: systems by variants, a dot per seed, mean ± standard deviation.
import { ageLabel } from "./age.js";
import { get } from "./api.js";
import { chip, el, fill } from "./dom.js";
import { Plots } from "./plots.js";
import { number, percent } from "./format.js";
import { Links } from "./links.js";
import { progress } from "./list.js";

const SEEDS = { done: "done", failed: "failed", waiting: "waiting" };

export async function openSweep(main, page) {
  const path = `/api/sweep/${encodeURIComponent(page.route[1] ?? "")}`;
  const head = el("div", { class: "page-head" });
  const table = el("table", { class: "sweep" });
  const grid = new Plots({ links: new Links(), signal: page.signal });
  const load = async () => {
    const sweep = await get(path, page.signal);
    page.trail([{ text: "Studies", href: "#/" }, { text: sweep.name }]);
    showHead(head, sweep);
    showTable(table, sweep);
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

function showTable(table, { columns, rows }) {
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
            ),
          ),
        ),
      ),
    ),
  );
}

function cell(name, found) {
  if (!found) return el("td", { class: "quiet", "data-name": name }, "–");
  const done = found.seeds.filter((seed) => seed.state === "done").length;
  return el(
    "td",
    { class: "sweep-cell", "data-name": name },
    el("div", { class: "sweep-mean" }, done === 0 ? el("span", { class: "quiet" }, "–") : spread(found)),
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
