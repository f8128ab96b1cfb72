// Light and dark theme: follows the system until the reader chooses, and remembers the choice.
import { fill, icon } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");

/** The present theme, "light" or "dark". */
function theme() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

/** Makes `toggle` switch between the themes. */
export function startTheme(toggle) {
  const show = () => {
    const other = theme() === "dark" ? "light" : "dark";
    fill(toggle, icon(other === "light" ? "sun" : "moon"));
    toggle.setAttribute("aria-label", `Switch to ${other} colours`);
    toggle.title = `Switch to ${other} colours`;
  };
  toggle.addEventListener("click", () => {
    const other = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = other;
    try {
      localStorage.setItem("ocorl-theme", other);
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}
