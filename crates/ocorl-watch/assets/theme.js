// Dark and light: follows the system until the reader chooses, and remembers the choice.
import { fill, icon } from "./dom.js";
import { palette } from "./colors.js";

const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", as the page looks now. */
export function theme() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

/** The colours of plots in the present theme. */
export function colors() {
  return palette(theme());
}

/** Calls back whenever the theme changes. */
export function onTheme(listener, signal) {
  document.addEventListener("ocorl-theme", listener, { signal });
}

/** Makes `toggle` the switch between the two. */
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
      // The choice then lasts as long as the page.
    }
    changed();
  });
  system.addEventListener("change", changed);
  show();
}
