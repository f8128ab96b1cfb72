// Headline numbers with their reference values: optimum, optimal zero-order hold, paper.
import { el, fill } from "./dom.js";
import { number, percent } from "./format.js";

export function headline(host, { numbers }) {
  host.hidden = numbers.length === 0;
  fill(
    host,
    numbers.map(({ what, value, compare }) =>
      el(
        "div",
        { class: "card number" },
        el(
          "div",
          { class: `number-value ${value === null ? "none" : ""}` },
          value === null ? "not finite" : number(value, 6),
        ),
        el("div", { class: "number-what" }, what),
        compare?.length ? el("dl", { class: "against" }, compare.map(comparison)) : null,
      ),
    ),
  );
}

function comparison({ with: what, value, percent: share }) {
  const better = share !== null && share !== undefined && share <= 0;
  return [
    el("dt", {}, what),
    el(
      "dd",
      {},
      el("span", { class: "against-value" }, number(value, 5)),
      el("span", { class: `share ${better ? "better" : ""}` }, percent(share)),
    ),
  ];
}
