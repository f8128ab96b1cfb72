// The application: opens the view that the address names, shows the breadcrumbs and the connection state.
import * as address from "./address.js";
import { takeToken } from "./api.js";
import { el, fill } from "./dom.js";
import { showError } from "./errors.js";
import { startAges } from "./age.js";
import { startTheme } from "./theme.js";
import { Stream } from "./stream.js";
import { openCompare } from "./compare.js";
import { openList } from "./list.js";
import { openStudy } from "./study.js";
import { openSweep } from "./sweep.js";

const PAGES = { studies: openList, study: openStudy, compare: openCompare, sweep: openSweep };
const STATES = { live: "live", polling: "polling every 3 s", gone: "no connection, trying again" };

const main = document.getElementById("main");
let page = null;

/** Opens the view that the address names, and closes the previous one. */
function show() {
  const { route, params } = address.read();
  const name = route[0] ?? "studies";
  page?.close.abort();
  page?.stream.close();
  const close = new AbortController();
  page = { close, signal: close.signal, route, params, trail, stream: new Stream(name === "study" ? route[1] : null) };
  page.stream.on("state", connection);
  fill(main);
  scrollTo(0, 0);
  const mine = page;
  const open = PAGES[name] ?? openNothing;
  open(main, mine).catch((error) => {
    if (!mine.signal.aborted && error.name !== "AbortError") showError(fill(main), error, show);
  });
}

async function openNothing(host, { trail: where }) {
  where([]);
  host.append(
    el(
      "div",
      { class: "card notice" },
      el("h1", {}, "Page not found"),
      el("p", {}, "No page has this address."),
      el("p", {}, el("a", { href: "#/" }, "All studies")),
    ),
  );
}

/** Shows the breadcrumbs: text and address of each step, the last without an address. */
function trail(steps) {
  fill(
    document.getElementById("trail"),
    steps.map(({ text, href }) =>
      el("span", { class: "step" }, href ? el("a", { href }, text) : el("span", { "aria-current": "page" }, text)),
    ),
  );
  document.title = steps.length > 0 ? `${steps.at(-1).text} · ocorl` : "ocorl";
}

function connection(state) {
  const label = document.getElementById("link");
  label.className = `link-state link-${state}`;
  fill(
    label,
    el("span", { class: "link-dot", "aria-hidden": "true" }),
    el("span", { class: "link-text" }, STATES[state]),
  );
  document.body.classList.toggle("gone", state === "gone");
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
takeToken();
startTheme(document.getElementById("theme"));
startAges();
addEventListener("hashchange", () => {
  takeToken();
  show();
});
show();
