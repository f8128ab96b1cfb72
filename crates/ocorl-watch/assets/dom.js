// Creates elements. Texts are always inserted as text nodes, so that nothing from the server can become markup.

/** An element with attributes, listeners (`onclick: f`) and children; `null` and `false` are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "class") element.className = value;
  else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
  else element.setAttribute(name, value === true ? "" : value);
}

/** An element of a drawing. */
export function shape(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Replaces the content of `parent`. */
export function fill(parent, ...children) {
  parent.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return parent;
}

const SHAPES = {
  running: "M5 3.5v9l7.5-4.5z",
  waiting: "M8 2l6 6-6 6-6-6z",
  done: "M3 8.5l3.2 3.2L13 4.8",
  idle: "M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10z",
  damaged: "M8 2.2l6.2 11.3H1.8zM8 6.5v3.2M8 11.6v.2",
  failed: "M4 4l8 8M12 4l-8 8",
  play: "M5 3.2v9.6l7.8-4.8z",
  pause: "M5 3.5v9M11 3.5v9",
  previous: "M10 3.5L5.5 8l4.5 4.5",
  next: "M6 3.5L10.5 8 6 12.5",
  more: "M3.2 8h.1M8 8h.1M12.8 8h.1",
  sun: "M8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6zM8 1.2v1.3M8 13.5v1.3M1.2 8h1.3M13.5 8h1.3M3.2 3.2l.9.9M11.9 11.9l.9.9M3.2 12.8l.9-.9M11.9 4.1l.9-.9",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.2h10",
  upload: "M8 10.5V3M4.8 6L8 2.8 11.2 6M3 13.2h10",
  copy: "M5.5 5.5h7.5v7.5H5.5zM3 10.5V3h7.5",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4zM10.2 10.2L13.4 13.4",
  grid: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
};
const FILLED = new Set(["running", "waiting", "play"]);

/** A decorative icon, hidden from screen readers; its meaning is always in a text too. */
export function icon(name) {
  const kind = FILLED.has(name) ? "icon filled" : "icon";
  const svg = shape("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: kind });
  svg.append(shape("path", { d: SHAPES[name] ?? "" }));
  return svg;
}

/** A button with an icon and, if given, a text. */
export function button(text, { picture, label, kind = "", ...rest } = {}) {
  return el(
    "button",
    { type: "button", class: `button ${kind}`, "aria-label": label, title: label, ...rest },
    picture ? icon(picture) : null,
    text ? el("span", {}, text) : null,
  );
}

/** The state of a study: an icon and a word, not a colour alone. */
export function chip(status) {
  return el("span", { class: `chip ${/^[a-z]+$/.test(status) ? status : ""}` }, icon(status), status);
}

/** Text in which parts between backticks become `code` elements. */
export function prose(text) {
  return String(text)
    .split("`")
    .map((part, i) => (i % 2 === 1 ? el("code", {}, part) : part));
}

/** A short message that disappears by itself. */
export function toast(text) {
  const note = el("div", { class: "toast" }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 4000);
}

/** Copies text to the clipboard, also where the browser allows this only from a selection. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "hidden-area", value: text, "aria-hidden": "true" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}

/** Offers content created in the page as a download. */
export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
