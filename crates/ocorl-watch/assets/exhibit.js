// A card with one figure: title, caption, legend, panels, and a menu (SVG, PNG, CSV, Python, axes).
import { button, copy, download, el, fill, icon } from "./dom.js";
import { Chart } from "./chart.js";
import { csv } from "./marks.js";
import { onTheme, theme } from "./theme.js";
import { showLegend } from "./legend.js";
import { pythonSnippet } from "./python.js";
import * as address from "./address.js";

/** Number of panels shown at first; a button shows the others. Model slices of a large system are hundreds. */
const MOST = 16;

const soon = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        soon.unobserve(target);
        target.dispatchEvent(new Event("seen"));
      }
    }
  },
  { rootMargin: "300px" },
);

/**
 * Options: `links`, `source` (address of the figure drawn by the server, without file ending; or none),
 * `query` (for that address), `onPick`, `onEpisode`, `tracker`, `choose` (show one panel at a time), `signal`.
 */
export class Exhibit {
  constructor(exhibit, options) {
    Object.assign(this, { exhibit, options, charts: [], hidden: new Set(), chosen: 0, all: false, overlays: () => [] });
    this.logs = { x: undefined, y: undefined };
    for (const side of ["x", "y"]) if (address.list("log").includes(`${exhibit.id}.${side}`)) this.logs[side] = true;
    for (const side of ["x", "y"])
      if (address.list("linear").includes(`${exhibit.id}.${side}`)) this.logs[side] = false;
    this.title = el("h3", {});
    this.about = el("p", { class: "about" });
    this.legend = el("div", { class: "legend", role: "group", "aria-label": "Series; press to hide or show" });
    this.chooser = el("select", {
      class: "select",
      "aria-label": "Which panel",
      hidden: true,
      onchange: () => this.choose(),
    });
    this.panels = el("div", { class: "panels" });
    this.more = button("", {
      kind: "all-panels",
      onclick: () => {
        this.all = true;
        this.show();
      },
    });
    this.element = el(
      "section",
      { class: "card exhibit", "data-exhibit": exhibit.id },
      el("header", {}, el("div", { class: "grow" }, this.title, this.about), this.chooser, this.menu()),
      this.legend,
      this.panels,
      this.more,
    );
    onTheme(() => this.restyle(), options.signal);
    options.signal?.addEventListener("abort", () => this.destroy());
    this.show();
  }

  /** Shows new data in the same card; zoom, hidden series and scales stay. */
  update(exhibit, options = {}) {
    Object.assign(this.options, options);
    const same = exhibit.figure.panels.length === this.exhibit.figure.panels.length;
    this.exhibit = exhibit;
    if (!same) {
      this.show();
      return;
    }
    this.showTexts();
    this.shown().forEach((panel, i) => {
      this.captions[i].textContent = panel.title;
      if (this.charts[i]) this.charts[i].update(panel);
    });
    this.overlay();
  }

  /** Draws `marks(panel)` over each panel: the running episode. */
  over(marks) {
    this.overlays = marks;
    this.overlay();
  }

  overlay() {
    let changed = false;
    for (const chart of this.charts.filter(Boolean)) {
      const marks = this.overlays(chart.panel);
      changed ||= marks.length > 0 !== chart.overlay.length > 0;
      if (marks.length > 0 || chart.overlay.length > 0) chart.draw(marks);
    }
    if (changed) this.showTexts();
  }

  shown() {
    const { panels } = this.exhibit.figure;
    if (this.options.choose && panels.length > 1) return [panels[Math.min(this.chosen, panels.length - 1)]];
    return this.all ? panels : panels.slice(0, MOST);
  }

  showTexts() {
    const { title, about, figure } = this.exhibit;
    this.title.textContent = title || figure.title;
    this.about.textContent = about || figure.subtitle;
    this.about.hidden = !this.about.textContent;
    const drawn = this.shown().map((panel) => ({ marks: [...panel.marks, ...this.overlays(panel)] }));
    showLegend(this.legend, drawn, this.hidden, () => this.toggled());
    const several = this.options.choose && figure.panels.length > 1;
    this.chooser.hidden = !several;
    if (several)
      fill(
        this.chooser,
        figure.panels.map((panel, i) => el("option", { value: i }, panelName(panel, i))),
      );
    this.chooser.value = String(this.chosen);
  }

  show() {
    this.destroy();
    this.showTexts();
    const panels = this.shown();
    this.more.hidden = this.all || this.options.choose || this.exhibit.figure.panels.length <= MOST;
    fill(this.more, `Show all ${this.exhibit.figure.panels.length} panels`);
    this.element.classList.toggle("wide", panels.length > 1);
    this.panels.classList.toggle("several", panels.length > 1);
    this.captions = panels.map((panel) => el("figcaption", {}, panel.title));
    fill(
      this.panels,
      panels.map((panel, i) => {
        const host = el("div", { class: "plot" });
        host.addEventListener("seen", () => this.draw(host, i), { once: true });
        soon.observe(host);
        const bare = panels.length === 1 && (!panel.title || panel.title === this.title.textContent);
        return el("figure", { class: bare ? "panel bare" : "panel" }, this.captions[i], host);
      }),
    );
  }

  draw(host, index) {
    const panel = this.shown()[index];
    if (!panel || !host.isConnected) return;
    this.charts[index] = new Chart(host, panel, {
      ...this.options,
      hidden: this.hidden,
      logs: this.logs,
      view: this.savedView(index),
      onView: (view) => this.saveView(index, view),
    });
    const marks = this.overlays(panel);
    if (marks.length > 0) this.charts[index].draw(marks);
  }

  choose() {
    this.chosen = Number(this.chooser.value);
    this.show();
  }

  toggled() {
    const at = [...this.legend.children].indexOf(document.activeElement);
    this.showTexts();
    this.legend.children[at]?.focus();
    for (const chart of this.charts.filter(Boolean)) chart.refresh();
  }

  restyle() {
    this.showTexts();
    for (const chart of this.charts.filter(Boolean)) chart.refresh();
  }

  destroy() {
    for (const chart of this.charts.filter(Boolean)) chart.destroy();
    this.charts = [];
  }

  // View state in the address

  key(index) {
    return `z.${this.exhibit.id}.${index}`;
  }

  savedView(index) {
    const numbers = (address.param(this.key(index)) ?? "").split(",").map(Number);
    const pair = (at) =>
      Number.isFinite(numbers[at]) && numbers[at] < numbers[at + 1] ? [numbers[at], numbers[at + 1]] : undefined;
    return numbers.length === 4 ? { x: pair(0), y: pair(2) } : {};
  }

  saveView(index, view) {
    const short = (range) => (range ?? [NaN, NaN]).map((end) => Number(end.toPrecision(6)));
    address.note({ [this.key(index)]: view.x || view.y ? [...short(view.x), ...short(view.y)].join(",") : null });
  }

  // Menu

  menu() {
    const list = el("div", { class: "menu-list", role: "menu", hidden: true });
    const opener = el(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        "aria-label": `Menu of the plot ${this.exhibit.title}`,
        onclick: () => toggle(list.hidden),
      },
      icon("more"),
    );
    const toggle = (open) => {
      if (open)
        fill(
          list,
          this.items().map((item) => menuItem(item, () => toggle(false))),
        );
      list.hidden = !open;
      opener.setAttribute("aria-expanded", String(open));
      if (open) list.firstElementChild?.focus();
    };
    const menu = el(
      "div",
      {
        class: "menu",
        onkeydown: (event) =>
          menuKey(event, list, () => {
            toggle(false);
            opener.focus();
          }),
      },
      opener,
      list,
    );
    document.addEventListener("click", (event) => menu.contains(event.target) || toggle(false), {
      signal: this.options.signal,
    });
    return menu;
  }

  items() {
    const { source } = this.options;
    const name = this.exhibit.id;
    const files = source
      ? ["svg", "png", "csv"].map((ending) => ({
          text: ending.toUpperCase(),
          href: this.file(ending),
          download: `${name}.${ending}`,
        }))
      : [
          { text: "PNG", act: () => this.picture() },
          { text: "CSV", act: () => download(`${name}.csv`, csv(this.exhibit.figure), "text/csv") },
        ];
    const axes = ["y", "x"].filter((side) => this.shown().some((panel) => mayBeLog(panel[side])));
    return [
      ...files,
      {
        text: "Copy as Python",
        act: () => copy(pythonSnippet(this.exhibit, source ? this.file("csv") : null), "Python code"),
      },
      ...axes.map((side) => ({
        text: `Logarithmic ${side} axis`,
        on: this.isLog(side),
        act: () => this.toggleLog(side),
      })),
      { text: "Reset the view", act: () => this.reset() },
    ];
  }

  file(ending) {
    const query = new URLSearchParams({
      ...this.options.query,
      ...(ending === "csv" ? {} : { theme: theme() }),
    }).toString();
    return `${this.options.source}/${encodeURIComponent(this.exhibit.id)}.${ending}${query ? `?${query}` : ""}`;
  }

  isLog(side) {
    return this.logs[side] ?? this.shown().some((panel) => panel[side].scale === "log");
  }

  toggleLog(side) {
    this.logs[side] = !this.isLog(side);
    const me = `${this.exhibit.id}.${side}`;
    const others = (key) => address.list(key).filter((entry) => entry !== me);
    const normal = this.exhibit.figure.panels.some((panel) => panel[side].scale === "log");
    const [log, linear] = [others("log"), others("linear")];
    if (this.logs[side] !== normal) (this.logs[side] ? log : linear).push(me);
    address.note({ log: log.join(","), linear: linear.join(",") });
    for (const chart of this.charts.filter(Boolean)) {
      chart.view = {};
      chart.rebuild();
    }
  }

  reset() {
    this.hidden.clear();
    this.showTexts();
    for (const chart of this.charts.filter(Boolean)) chart.reset();
  }

  picture() {
    const canvas = this.charts.find(Boolean)?.plot.ctx.canvas;
    canvas?.toBlob((blob) => blob && download(`${this.exhibit.id}.png`, blob));
  }
}

function panelName(panel, index) {
  return panel.title || [panel.x.label, panel.y.label].filter(Boolean).join(" – ") || `panel ${index + 1}`;
}

function mayBeLog(axis) {
  return !axis.categories?.length && axis.label !== "time" && axis.label !== "episode";
}

function menuItem({ text, href, act, on, ...rest }, close) {
  const attributes = {
    class: "menu-item",
    role: on === undefined ? "menuitem" : "menuitemcheckbox",
    tabindex: "-1",
    ...rest,
  };
  if (on !== undefined) attributes["aria-checked"] = String(on);
  if (href) return el("a", { ...attributes, href, onclick: close }, icon("download"), text);
  const picture = on === undefined ? "copy" : on ? "done" : "none";
  return el(
    "button",
    {
      ...attributes,
      type: "button",
      onclick: () => {
        close();
        act();
      },
    },
    icon(text.startsWith("Reset") ? "none" : text === "PNG" || text === "CSV" ? "download" : picture),
    text,
  );
}

function menuKey(event, list, close) {
  const items = [...list.children];
  const at = items.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" && !list.hidden) close();
  else if (step && !list.hidden) items[(at + step + items.length) % items.length]?.focus();
  else return;
  event.preventDefault();
}
