// Ranges and ticks of axes, by the rules of scale.rs. On a logarithmic axis `low` and `high` are log₁₀.
import { powerOfTen } from "./format.js";

const HUGE = 1e300;
const TINY = 1e-297;

function transform(log, value) {
  if (value === null || value === undefined) return NaN;
  const v = log ? Math.log10(value) : value;
  const limit = log ? 300 : HUGE;
  return Number.isFinite(v) ? Math.max(-limit, Math.min(limit, v)) : NaN;
}

/** The range that an axis asks for, else that of the values, widened by the share `pad`. */
export function span(axis, values, pad) {
  const categories = axis.categories?.length ?? 0;
  const log = axis.scale === "log" && categories === 0;
  let [low, high, whole] = [Infinity, -Infinity, !log];
  for (const value of values) {
    const v = transform(log, value);
    if (Number.isNaN(v)) continue;
    whole &&= Number.isInteger(value);
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (categories > 0) [low, high] = [Math.min(low, -0.5), Math.max(high, categories - 0.5)];
  else if (low > high) [low, high, whole] = [0, 1, false];
  const wanted = (axis.range ?? [null, null]).map((end) => transform(log, end)).sort((a, b) => a - b);
  const margin = categories > 0 ? 0 : pad * (high - low);
  const [fixedLow, fixedHigh] = wanted.map((end) => !Number.isNaN(end));
  low = fixedLow ? wanted[0] : low - margin;
  high = fixedHigh ? wanted[1] : high + margin;
  [low, high] = apart(low, high, log, Boolean(axis.whole), fixedLow, fixedHigh);
  return { log, low, high, whole: Boolean(axis.whole) || (whole && high - low >= 1), reversed: false };
}

/** Widens the range of constant data. */
function apart(low, high, log, whole, fixedLow, fixedHigh) {
  const size = log ? 1 : Math.max(Math.abs(low), Math.abs(high));
  if (high - low > Math.max(1e-9 * size, TINY)) return [low, high];
  const reach = log ? 0.5 : size <= TINY ? 1 : whole ? Math.max(0.1 * size, 0.5) : 0.1 * size;
  if (fixedLow && !fixedHigh) return [low, low + reach];
  if (fixedHigh && !fixedLow) return [high - reach, high];
  return [low - reach, high + reach];
}

/** A map from values to positions in pixels; NaN for values that the axis cannot show. */
export function placer({ log, low, high, reversed }, length, upward) {
  const flip = Boolean(upward) !== Boolean(reversed);
  return (value) => {
    const share = (transform(log, value) - low) / (high - low);
    return Math.max(-1e5, Math.min(1e5, (flip ? 1 - share : share) * length));
  };
}

/** The value at a position on the axis, from 0 to 1. */
export function valueAt({ log, low, high, reversed }, share) {
  const v = low + (reversed ? 1 - share : share) * (high - low);
  return log ? 10 ** v : v;
}

/** Both ends of the range as values. */
export function ends({ log, low, high }) {
  return log ? [10 ** low, 10 ** high] : [low, high];
}

/** The axis restricted to the range between two values. */
export function between(shown, from, to) {
  const [low, high] = [transform(shown.log, from), transform(shown.log, to)];
  return low < high ? { ...shown, low, high } : shown;
}

/** As many ticks as fit on `length`, at most `count`; a label takes `room(label)` pixels. */
export function ticks(shown, length, count, room) {
  const fits = ({ major }) =>
    major.every((tick, i) => {
      if (i === 0) return true;
      return 0.5 * (room(major[i - 1].text) + room(tick.text)) <= (tick.at - major[i - 1].at) * length;
    });
  const candidates = proposals(shown, count).filter(({ major }) => major.length > 0);
  const found = candidates.find((some) => some.major.length <= count + 1 && fits(some));
  if (found) return found;
  const last = candidates.pop() ?? { major: [], minor: [], factor: "" };
  return { ...last, major: last.major.slice(0, 1) };
}

function proposals(shown, count) {
  const { log, low, high } = shown;
  const counts = Array.from({ length: count }, (_, i) => count - i);
  if (!log) return counts.map((n) => even(shown, low, high, n));
  if (high - low < 0.7) return counts.map((n) => even(shown, 10 ** low, 10 ** high, n));
  const dense = decades(shown, high - low < 3 ? [1, 2, 5] : [1], 1);
  return [dense, ...[1, 2, 3, 5, 10, 20, 50, 100].map((stride) => decades(shown, [1], stride))];
}

function even(shown, low, high, count) {
  let [digit, power] = roundUp((high - low) / count);
  if (power < 0 && shown.whole) [digit, power] = [1, 0];
  const step = digit * 10 ** power;
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  const size = exponent(Math.max(Math.abs(low), Math.abs(high)));
  const plain = (size >= -3 && size <= 4) || (size >= 5 && size <= 8 && power < 0);
  const factor = plain ? 0 : 3 * Math.floor(size / 3);
  const decimals = Math.max(0, Math.min(20, factor - power));
  const major = [];
  for (let k = first; k <= last && major.length < 1000; k += 1) {
    const value = digit < 1 ? k * step : Number((k * step).toPrecision(14));
    const text = (k * digit * 10 ** (power - factor) + 0).toFixed(decimals).replace("-", "−");
    major.push({ value, at: (transform(shown.log, value) - shown.low) / (shown.high - shown.low), text });
  }
  return { major, minor: [], factor: factor ? `×${powerOfTen(factor)}` : "" };
}

function decades({ low, high, whole }, digits, stride) {
  const [first, last] = [Math.max(whole ? 0 : -400, Math.floor(low)), Math.ceil(high)];
  const plain = low > -3.5 && high < 4.8;
  const at = (digit, power) => (power + Math.log10(digit) - low) / (high - low);
  const inside = (digit, power) => at(digit, power) >= -1e-9 && at(digit, power) <= 1 + 1e-9;
  const [major, minor] = [[], []];
  for (let power = first; power <= last; power += 1) {
    for (const digit of digits) {
      if (power % stride !== 0 || !inside(digit, power)) continue;
      const value = digit * 10 ** power;
      major.push({ value, at: at(digit, power), text: decadeText(digit, power, plain) });
    }
    if (high - low < 7) {
      for (let digit = 2; digit < 10; digit += 1) if (inside(digit, power)) minor.push(digit * 10 ** power);
    }
  }
  return { major, minor, factor: "" };
}

function decadeText(digit, power, plain) {
  if (plain) return (digit * 10 ** power).toFixed(Math.max(0, -power));
  return digit === 1 ? powerOfTen(power) : `${digit}·${powerOfTen(power)}`;
}

/** Ticks of a category axis; names are thinned so that they do not overlap. */
export function categoryTicks(shown, names, length, room) {
  const step = length / (shown.high - shown.low);
  const stride = Math.max(1, Math.ceil(room / step));
  const major = names
    .map((text, value) => ({ value, at: (value - shown.low) / (shown.high - shown.low), text }))
    .filter((tick, i) => i % stride === 0 && tick.at >= 0 && tick.at <= 1);
  return { major, minor: [], factor: "" };
}

function roundUp(v) {
  const power = exponent(v);
  const lead = (v / 10 ** power) * (1 - 1e-9);
  const digit = [1, 2, 5].find((candidate) => lead <= candidate);
  return digit ? [digit, power] : [1, power + 1];
}

function exponent(v) {
  return Math.floor(Math.log10(Math.abs(v) * (1 + 1e-12)));
}
