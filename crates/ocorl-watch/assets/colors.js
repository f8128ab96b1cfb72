// Colours of the plots, equal to those in theme.rs and colormap.rs.

const LIGHT = {
  name: "light",
  background: "#ffffff",
  ink: "#22262a",
  quiet: "#555b61",
  muted: "#7a7f85",
  grid: "#e3e6e9",
  series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"],
};
const DARK = {
  name: "dark",
  background: "#16191c",
  ink: "#e8eaec",
  quiet: "#a9b0b7",
  muted: "#878e95",
  grid: "#2c3136",
  series: ["#3d9be0", "#f0762b", "#2dbd92", "#dd90bb", "#f2b134", "#8fd0f5", "#eceef0"],
};

/** The palette of a theme, "light" or "dark". */
export function palette(theme) {
  return theme === "dark" ? DARK : LIGHT;
}

/** Number of colours of the colour map. */
export const LEVELS = 64;

const VIRIDIS = [
  "440154",
  "481769",
  "472a7a",
  "433d84",
  "3d4e8a",
  "355e8d",
  "2e6d8e",
  "297b8e",
  "23898e",
  "1f978b",
  "21a585",
  "2eb37c",
  "46c06f",
  "65cb5e",
  "89d548",
  "b0dd2f",
  "d8e219",
  "fde725",
].map((code) => [0, 2, 4].map((at) => parseInt(code.slice(at, at + 2), 16)));

const MAP = Array.from({ length: LEVELS }, (_, level) => mixed(level));

function mixed(level) {
  const at = (level / (LEVELS - 1)) * (VIRIDIS.length - 1);
  const index = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const [a, b] = [VIRIDIS[index], VIRIDIS[index + 1]];
  const channels = a.map((from, k) => Math.round(from + (at - index) * (b[k] - from)));
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The colour level of a number between 0 and 1; values outside are clamped. */
export function level(share) {
  return Math.max(0, Math.min(LEVELS - 1, Math.floor(share * LEVELS)));
}

/** The colour of a level. */
export function shade(index) {
  return MAP[index];
}

/** The colour of a mark, and how often the palette was exhausted before it. */
export function markColor(color, colors) {
  if (color === "muted") return { color: colors.muted, round: 0 };
  const index = color?.series ?? 0;
  const count = colors.series.length;
  return { color: colors.series[index % count], round: Math.floor(index / count) };
}
