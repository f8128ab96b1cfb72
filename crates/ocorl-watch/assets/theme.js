// Light and dark theme: follows the system until the reader chooses, and remembers the choice.
import { fill, icon } from "./dom.js";
import { palette } from "./colors.js";

const system = matchMedia("(prefers-color-scheme: dark)");

/** The present theme, "light" or "dark". */
export function theme() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

/** The colours of plots in the present theme. */
export function colors() {
  return palette(theme());
}

/** Calls `listener` whenever the theme changes. */
export function onTheme(listener, signal) {
  document.addEventListener("ocorl-theme", listener, { signal });
}

/** Makes `toggle` switch between the themes. */
export function startTheme(toggle) {
  const show = () => {
    const other = theme() === "dark" ? "light" : "dark";
    fill(toggle, icon(other === "light" ? "sun" : "moon"));
    toggle.setAttribute("aria-label", `Switch to ${other} colours`);
    toggle.title = `Switch to ${other} colours`;
  };
  const changed = () => {
    show();
    document.dispatchEvent(new Event("ocorl-theme"));
  };
  toggle.addEventListener("click", () => {
    const other = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = other;
    try {
      localStorage.setItem("ocorl-theme", other);
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    changed();
  });
  system.addEventListener("change", changed);
  show();
}
