// The comparison of two to twenty studies on the same axes.
import * as address from "./address.js";
import { get } from "./api.js";
import { chip, el, fill } from "./dom.js";
import { Plots } from "./plots.js";
import { number } from "./format.js";
import { Links } from "./links.js";

export async function openCompare(main, page) {
  const ids = page.params.get("ids") ?? "";
  const grid = new Plots({ links: new Links(), signal: page.signal });
  const body = el("tbody", {});
  page.trail([{ text: "Studies", href: "#/" }, { text: "Compare" }]);
  const load = async () => {
    const { exhibits, studies, settings } = await get(`/api/compare?ids=${encodeURIComponent(ids)}`, page.signal);
    grid.update(exhibits);
    body.replaceChildren(...studies.map(row));
    lead.textContent = `${studies.length} studies`;
    fill(differing, settings.length ? differences(studies, settings) : el("p", { class: "quiet" }, "All settings are the same."));
  };
  const lead = el("p", { class: "lead" });
  const differing = el("div", {});
  await load();
  const heads = ["study", "strategy", "seed", "episodes", "measured", "last cost", "lowest cost", "state"];
  main.append(
    el("div", { class: "page-head" }, el("div", { class: "grow" }, el("h1", {}, "Compare"), lead)),
    grid.element,
    el(
      "section",
      { class: "card table-card" },
      el(
        "div",
        { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The studies" },
        el(
          "table",
          {},
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              heads.map((head) =>
                el("th", { scope: "col", class: ["study", "strategy", "state"].includes(head) ? "text-cell" : null }, head),
              ),
            ),
          ),
          body,
        ),
      ),
    ),
    el("section", { class: "card table-card" }, el("h3", {}, "Settings that differ"), differing),
  );
  let timer = null;
  page.stream.on("change", ({ id }) => {
    if (ids.includes(id))
      timer ??= setTimeout(() => {
        timer = null;
        load().catch(() => {});
      }, 500);
  });
}

function differences(studies, settings) {
  const cell = (value) => el("td", { class: "text-cell" }, value ?? "–");
  return el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Settings that differ" },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ["setting", ...studies.map(({ name }) => name)].map((head) => el("th", { scope: "col", class: "text-cell" }, head)))),
      el("tbody", {}, settings.map(({ key, values }) => el("tr", {}, el("td", { class: "text-cell" }, el("code", {}, key)), values.map(cell)))),
    ),
  );
}

function row(item) {
  return el(
    "tr",
    {},
    el("td", { class: "text-cell" }, el("a", { href: address.to(["study", item.id]) }, item.name)),
    el("td", { class: "text-cell" }, item.strategy ?? "–"),
    el("td", {}, number(item.seed)),
    el("td", {}, item.of ? `${item.episodes} of ${item.of}` : number(item.episodes)),
    el("td", {}, number(item.measurements)),
    el("td", {}, number(item.last_cost)),
    el("td", {}, number(item.best_cost)),
    el("td", { class: "text-cell" }, chip(item.status)),
  );
}
