// A refused file with its mistakes at their rows: the lines around them, the wrong cells marked, the words below.
import { el } from "./dom.js";

const AROUND = 1;
const MOST = 40;

/** The lines of `text` near the mistakes { line, column, message } (both counted from 1). */
export function wrongLines(text, mistakes) {
  if (mistakes.length === 0) return null;
  const lines = text.split(/\r\n|\n|\r/);
  const separator = separatorOf(lines);
  const header =
    Math.max(
      0,
      lines.findIndex((line) => line.trim() && !line.startsWith("#")),
    ) + 1;
  const shown = new Set([header]);
  for (const { line } of mistakes.slice(0, MOST))
    for (let at = line - AROUND; at <= line + AROUND; at += 1) shown.add(at);
  const numbers = [...shown].filter((at) => at >= 1 && at <= lines.length).sort((a, b) => a - b);
  const rows = numbers.map((at, i) => [
    i > 0 && numbers[i - 1] !== at - 1 ? el("tr", { class: "skipped" }, el("td", {}, "⋮")) : null,
    lineRow(
      at,
      lines[at - 1],
      separator,
      mistakes.filter((mistake) => mistake.line === at),
    ),
  ]);
  return el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The file with its mistakes" },
    el("table", { class: "wrong-lines" }, el("tbody", {}, rows)),
  );
}

function lineRow(at, line, separator, mistakes) {
  const cells = line.startsWith("#") ? [line] : line.split(separator);
  const wrong = new Set(mistakes.map((mistake) => mistake.column));
  const row = el(
    "tr",
    { class: mistakes.length > 0 ? "wrong" : null, "data-line": at },
    el("th", { scope: "row" }, String(at)),
    cells.map((cell, i) => el("td", { class: wrong.has(i + 1) ? "wrong-cell" : null }, cell.trim() || "·")),
  );
  const words = mistakes.map((mistake) =>
    el(
      "tr",
      { class: "mistake" },
      el("th", {}),
      el(
        "td",
        { colspan: Math.max(1, cells.length) },
        mistake.column ? `column ${mistake.column}: ` : "",
        mistake.message,
      ),
    ),
  );
  return [row, ...words];
}

function separatorOf(lines) {
  const line = lines.find((candidate) => candidate.trim() && !candidate.startsWith("#")) ?? "";
  return [";", "\t", ","].find((mark) => line.includes(mark)) ?? ",";
}
