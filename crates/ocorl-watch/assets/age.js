// "updated 2 s ago": labels that grow older by themselves and turn grey when stale.
import { ago, moment, secondsSince } from "./format.js";
import { el } from "./dom.js";

const STALE = 60;

/** A label of how old a moment is. */
export function ageLabel(iso, words = "updated ") {
  const label = el("time", { class: "age", datetime: iso ?? "", title: moment(iso), "data-words": words });
  refresh(label);
  return label;
}

/** The same label for a newer moment. */
export function setAge(label, iso) {
  label.setAttribute("datetime", iso ?? "");
  label.title = moment(iso);
  refresh(label);
}

function refresh(label) {
  const iso = label.getAttribute("datetime");
  const text = `${label.dataset.words}${ago(iso)}`;
  if (label.textContent !== text) label.textContent = text;
  label.classList.toggle("stale", (secondsSince(iso) ?? Infinity) > STALE);
}

/** Keeps all labels of the page true. */
export function startAges() {
  setInterval(() => document.querySelectorAll("time.age").forEach(refresh), 1000);
}
