// What the server refused, in its own words: the sentence, the details, the hint.
import { button, el, icon, prose } from "./dom.js";

/** The parts of an error, without a card around them. */
export function errorParts(error) {
  const details = (error.details ?? []).filter((pair) => Array.isArray(pair));
  return [
    el("p", { class: "error-words" }, icon("damaged"), el("span", {}, sentence(error.message))),
    details.length > 0
      ? el(
          "dl",
          { class: "details" },
          details.map(([what, value]) => [el("dt", {}, what), el("dd", {}, String(value))]),
        )
      : null,
    error.hint ? el("p", { class: "hint" }, prose(error.hint)) : null,
  ];
}

/** A whole card, with a way to try again. */
export function showError(host, error, again) {
  host.append(
    el(
      "div",
      { class: "card notice error", role: "alert" },
      el("h1", {}, error.status === 404 ? "Not found" : "That did not work"),
      errorParts(error),
      el(
        "p",
        { class: "row" },
        again ? button("Try again", { kind: "primary", onclick: again }) : null,
        el("a", { class: "button", href: "#/" }, "All studies"),
      ),
    ),
  );
}

function sentence(words) {
  return words ? words[0].toUpperCase() + words.slice(1) : "";
}
