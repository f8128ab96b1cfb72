// Shows errors from the server: message, details, hint.
import { button, el, icon, prose } from "./dom.js";

/** The parts of an error, without a card around them. */
export function errorParts(error) {
  const details = (error.details ?? []).filter((pair) => Array.isArray(pair));
  return [
    el("p", { class: "error-text" }, icon("damaged"), el("span", {}, sentence(error.message))),
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

/** Appends a card with the error and a button to retry. */
export function showError(host, error, again) {
  host.append(
    el(
      "div",
      { class: "card notice error", role: "alert" },
      el("h1", {}, error.status === 404 ? "Not found" : "Request failed"),
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

function sentence(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : "";
}
