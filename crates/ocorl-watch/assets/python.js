// "Copy as Python": a script that reads the CSV of a plot and draws it with pandas and matplotlib.

/** The script for the panels of a figure; `path` is the address of its CSV, if it is served. */
export function pythonSnippet({ id, figure }, path) {
  const file = path ? new URL(path, location.href).href : `${id}.csv`;
  const axes = figure.panels.map((panel, index) => [
    panel.title || String(index + 1),
    axis(panel.x),
    axis(panel.y),
    panel.x.scale ?? "linear",
    panel.y.scale ?? "linear",
  ]);
  return `import matplotlib.pyplot as plt
import pandas as pd

table = pd.read_csv(${literal(file)}, dtype={"panel": str, "series": str})
axes = [  # panel, x, y, scales
${axes.map((row) => `    (${row.map(literal).join(", ")}),`).join("\n")}
]
fig, plots = plt.subplots(len(axes), 1, squeeze=False, figsize=(7, 3.2 * len(axes)), layout="constrained")
for ax, (panel, x, y, x_scale, y_scale) in zip(plots[:, 0], axes):
    rows = table[table["panel"] == panel]
    for (series, mark), part in rows.groupby(["series", "mark"], sort=False, dropna=False):
        label = None if pd.isna(series) else series
        if mark == "horizontal":
            for value in part["y"]:
                ax.axhline(value, color="0.5", ls="--", lw=1, label=label)
        elif mark == "vertical":
            for value in part["x"]:
                ax.axvline(value, color="0.5", ls=":", lw=1, label=label)
        elif mark == "step":
            ax.step(part["x"], part["y"], where="post", label=label)
        elif mark in ("points", "colored points", "colored_points", "heat", "note", "arrow at", "arrows"):
            ax.scatter(part["x"], part["y"], s=20, c=part.get("value") if "colored" in mark or mark == "heat" else None, label=label)
        elif mark != "arrow by":
            ax.plot(part["x"], part["y"], label=label)
    ax.set(title=panel, xlabel=x, ylabel=y, xscale=x_scale, yscale=y_scale)
    if ax.get_legend_handles_labels()[1]:
        ax.legend()
plt.show()
`;
}

function axis({ label, unit }) {
  return unit ? `${label} [${unit}]` : (label ?? "");
}

/** A Python string literal; JSON strings are valid ones. */
function literal(text) {
  return JSON.stringify(text);
}
