/** Numbers as texts for readers. */

/** A score: three digits after the point, fewer for great numbers. */
export function formatScore(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  const size = Math.abs(value);
  return value.toFixed(
    Number.isInteger(value) && size >= 2 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3,
  );
}

/** A difference of scores, with its sign. */
export function formatDifference(value) {
  const text = formatScore(value);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text.replace("-", "\u2212");
}

/** A time in seconds as "12 ms" or "1.3 s". */
export function formatSeconds(seconds) {
  if (seconds >= 0.9995) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return seconds >= 0.01 ? `${Math.round(1000 * seconds)} ms` : `${(1000 * seconds).toFixed(1)} ms`;
}

/** A cost in dollars; small ones keep two digits that say something. */
export function formatCost(dollars) {
  if (!dollars) return "$0";
  return dollars >= 0.01 ? `$${dollars.toFixed(2)}` : `$${dollars.toPrecision(2)}`;
}

/** A whole number with commas. */
export function formatCount(number) {
  return Number(number).toLocaleString("en-US");
}

/** A number with its noun: "1 turn", "2 turns". */
export function countOf(number, noun) {
  return `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;
}
