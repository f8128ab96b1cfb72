// Age labels ("updated 2 s ago") that refresh themselves and turn grey when stale.
import { ago, moment, secondsSince } from "./format.js";
import { el } from "./dom.js";

const STALE = 60;

/** A label of the age of a moment. */
export function ageLabel(iso, prefix = "updated ") {
  const label = el("time", { class: "age", datetime: iso ?? "", title: moment(iso), "data-prefix": prefix });
  refresh(label);
  return label;
}

/** Sets the moment of an age label. */
export function setAge(label, iso) {
  label.setAttribute("datetime", iso ?? "");
  label.title = moment(iso);
  refresh(label);
}

function refresh(label) {
  const iso = label.getAttribute("datetime");
  const text = `${label.dataset.prefix}${ago(iso)}`;
  if (label.textContent !== text) label.textContent = text;
  label.classList.toggle("stale", (secondsSince(iso) ?? Infinity) > STALE);
}

/** Refreshes all age labels once per second. */
export function startAges() {
  setInterval(() => document.querySelectorAll("time.age").forEach(refresh), 1000);
}
