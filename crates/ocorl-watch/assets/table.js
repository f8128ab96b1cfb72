// A table that can be sorted, copied as CSV, and that can highlight a row.
import { button, copy, download, el, fill } from "./dom.js";
import { number } from "./format.js";

const FAR = 3;

export class DataTable {
  constructor({ name, caption, note }) {
    Object.assign(this, {
      name,
      sorted: null,
      falling: false,
      marked: null,
      data: { columns: [], rows: [] },
      file: `${name}.csv`,
    });
    this.head = el("thead", {});
    this.body = el("tbody", {});
    this.amount = el("span", { class: "quiet" });
    this.element = el(
      "section",
      { class: "card table-card", "data-table": name },
      el(
        "header",
        {},
        el(
          "div",
          { class: "grow" },
          el("h3", {}, caption, " ", this.amount),
          note ? el("p", { class: "about" }, note) : null,
        ),
        button("Copy", { picture: "copy", label: "Copy as CSV", onclick: () => copy(this.csv(), "Table") }),
        button("CSV", {
          picture: "download",
          label: "Download as CSV",
          onclick: () => download(this.file, this.csv(), "text/csv"),
        }),
      ),
      el(
        "div",
        { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
        el("table", {}, this.head, this.body),
      ),
    );
  }

  /** Shows { columns, rows }; the chosen sorting is kept. */
  show(data, file) {
    this.data = data;
    this.file = file ?? this.file;
    this.marked = null;
    if (!data.columns.includes(this.sorted)) this.sorted = null;
    this.element.hidden = data.rows.length === 0;
    this.amount.textContent = String(data.rows.length);
    this.draw();
  }

  /** Highlights the row with this index of the data. */
  mark(index) {
    this.marked = index;
    this.draw();
    this.body.querySelector(".marked")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  sort(column) {
    this.falling = this.sorted === column ? !this.falling : false;
    this.sorted = column;
    this.draw();
    this.head.querySelectorAll("button")[this.data.columns.indexOf(column)]?.focus();
  }

  order() {
    const at = this.data.columns.indexOf(this.sorted);
    const order = this.data.rows.map((row, index) => ({ row, index }));
    if (at < 0) return order;
    order.sort((a, b) => compare(a.row[at], b.row[at]));
    return this.falling ? order.reverse() : order;
  }

  draw() {
    const { columns } = this.data;
    const direction = (column) => (column !== this.sorted ? "none" : this.falling ? "descending" : "ascending");
    fill(
      this.head,
      el(
        "tr",
        {},
        columns.map((column) =>
          el(
            "th",
            { scope: "col", "aria-sort": direction(column) },
            el("button", { type: "button", onclick: () => this.sort(column) }, column),
          ),
        ),
      ),
    );
    fill(
      this.body,
      this.order().map(({ row, index }) =>
        el(
          "tr",
          { class: index === this.marked ? "marked" : null, "data-row": index },
          row.map((value, i) => cell(columns[i], value)),
        ),
      ),
    );
  }

  csv() {
    return (
      [this.data.columns, ...this.order().map(({ row }) => row)].map((row) => row.map(field).join(",")).join("\n") +
      "\n"
    );
  }
}

/** A cell of a CSV file: texts that need it are quoted, and none becomes a formula. */
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function cell(column, value) {
  const far = column === "residual [σ]" && Math.abs(value ?? 0) > FAR;
  return el(
    "td",
    {
      class: typeof value === "string" ? "text-cell" : far ? "far" : null,
      title: far ? "far from the prediction" : null,
    },
    far ? `${number(value)} !` : number(value),
  );
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}
