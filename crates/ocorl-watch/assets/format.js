// Formats numbers and times.

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A power of ten: "10⁻³". */
function powerOfTen(power) {
  const digits = [...String(Math.abs(power))].map((digit) => RAISED[digit]).join("");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}

/** A number with `digits` significant digits and a true minus sign; "–" if it is missing. */
export function number(value, digits = 5) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return scientific(value, digits);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  let text = value.toFixed(Math.min(decimals, 12));
  if (text.includes(".")) text = text.replace(/\.?0+$/, "");
  return text.replace("-", "−");
}

function scientific(value, digits) {
  const [lead, power] = value.toExponential(digits - 1).split("e");
  const short = lead.includes(".") ? lead.replace(/\.?0+$/, "") : lead;
  return `${short.replace("-", "−")}·${powerOfTen(Number(power))}`;
}

/** A percentage with sign: "+0.01 %". */
export function percent(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const size = Math.abs(value);
  const text = size >= 1000 ? number(size, 3) : size.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
  const sign = Number(size.toFixed(2)) === 0 ? "±" : value < 0 ? "−" : "+";
  return `${sign}${text} %`;
}

/** A duration: "3.2 s", "4 min 10 s". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0.1) return `${number(seconds * 1000, 2)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Seconds since a moment; `null` if the text is not a valid time. */
export function secondsSince(moment) {
  const at = Date.parse(moment ?? "");
  return Number.isNaN(at) ? null : Math.max(0, (Date.now() - at) / 1000);
}

/** Age of a moment: "2 s ago", "5 min ago", "3 days ago". */
export function ago(moment) {
  const seconds = secondsSince(moment);
  if (seconds === null) return "never";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86400);
  return days === 1 ? "1 day ago" : `${days} days ago`;
}

/** A moment in the reader's locale. */
export function moment(iso) {
  const at = new Date(iso ?? "");
  return Number.isNaN(at.getTime()) ? "–" : at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** A count with its noun: "1 episode", "5 episodes". */
export function count(amount, word) {
  return `${amount} ${word}${amount === 1 ? "" : "s"}`;
}
