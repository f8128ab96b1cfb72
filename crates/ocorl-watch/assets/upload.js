// Shows the errors of a refused file at their rows: the lines around them, faulty cells marked, messages below.
import { el } from "./dom.js";

const AROUND = 1;
const MOST = 40;

/** The lines of `text` near the errors { line, column, message } (line and column counted from 1). */
export function wrongLines(text, errors) {
  if (errors.length === 0) return null;
  const lines = text.split(/\r\n|\n|\r/);
  const separator = separatorOf(lines);
  const header =
    Math.max(
      0,
      lines.findIndex((line) => line.trim() && !line.startsWith("#")),
    ) + 1;
  const shown = new Set([header]);
  for (const { line } of errors.slice(0, MOST))
    for (let at = line - AROUND; at <= line + AROUND; at += 1) shown.add(at);
  const numbers = [...shown].filter((at) => at >= 1 && at <= lines.length).sort((a, b) => a - b);
  const rows = numbers.map((at, i) => [
    i > 0 && numbers[i - 1] !== at - 1 ? el("tr", { class: "skipped" }, el("td", {}, "⋮")) : null,
    lineRow(
      at,
      lines[at - 1],
      separator,
      errors.filter((error) => error.line === at),
    ),
  ]);
  return el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The file with its errors" },
    el("table", { class: "wrong-lines" }, el("tbody", {}, rows)),
  );
}

function lineRow(at, line, separator, errors) {
  const cells = line.startsWith("#") ? [line] : line.split(separator);
  const wrong = new Set(errors.map((error) => error.column));
  const row = el(
    "tr",
    { class: errors.length > 0 ? "wrong" : null, "data-line": at },
    el("th", { scope: "row" }, String(at)),
    cells.map((cell, i) => el("td", { class: wrong.has(i + 1) ? "wrong-cell" : null }, cell.trim() || "·")),
  );
  const messages = errors.map((error) =>
    el(
      "tr",
      { class: "row-error" },
      el("th", {}),
      el(
        "td",
        { colspan: Math.max(1, cells.length) },
        error.column ? `column ${error.column}: ` : "",
        error.message,
      ),
    ),
  );
  return [row, ...messages];
}

function separatorOf(lines) {
  const line = lines.find((candidate) => candidate.trim() && !candidate.startsWith("#")) ?? "";
  return [";", "\t", ","].find((mark) => line.includes(mark)) ?? ",";
}
