/** The scores of a turn. */

import { make } from "./dom.js";
import { formatDifference, formatScore } from "./format.js";

/**
 * Show scores as a list with bars. `scores` maps measures to values; `measures` names those to show
 * and their order; `others` are those of another run; `shares` names the measures that lie between
 * 0 and 1, which get a bar.
 */
export function renderScores(
  scores,
  { measures = Object.keys(scores), others = null, shares = new Set() } = {},
) {
  const shown = measures.filter((name) => name in scores || (others && name in others));
  if (!shown.length) return null;
  return make(
    "dl",
    { class: "scores" },
    shown.map((name) =>
      make(
        "div",
        { class: "score" },
        make("dt", {}, name),
        make(
          "dd",
          {},
          formatScore(scores[name]) || "\u2013",
          others && renderDifference(scores[name] - others[name], shares.has(name)),
          shares.has(name) && makeBar(scores[name]),
        ),
      ),
    ),
  );
}

/** Show a difference, coloured for measures between 0 and 1, of which more is better. */
export function renderDifference(difference, isShare) {
  if (!Number.isFinite(difference) || difference === 0) return null;
  const kind = difference > 0 ? "better" : "worse";
  return make("span", { class: isShare ? kind : "note" }, formatDifference(difference));
}

/** A bar for a value between 0 and 1; none for other numbers. */
export function makeBar(value) {
  if (!(value >= 0 && value <= 1)) return null;
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", value);
  return bar;
}
