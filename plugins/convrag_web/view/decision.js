/** Whether a turn was answered, in words, and the signals by which that was decided. */

import { formatKey } from "./data.js";
import { make, makeFold } from "./dom.js";
import { formatScore } from "./format.js";

/** @returns {Node[]} nothing for a turn without a decision */
export function renderDecision(record) {
  const decision = record.trace?.generator?.decision;
  if (!decision?.why) return [];
  const signals = Object.entries(decision.signals ?? {}).map(
    ([name, value]) => `${formatKey(name)} ${formatScore(value)}`,
  );
  return [
    make("p", { class: "note" }, decision.why),
    signals.length > 0 &&
      makeFold(`Signals: ${signals.length}`, {}, make("p", { class: "note" }, signals.join(", "))),
  ];
}
