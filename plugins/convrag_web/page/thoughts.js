/** What the models thought before they replied, folded: it is not part of the answer. */

import { make } from "../view/dom.js";
import { countOf } from "../view/format.js";

/**
 * @param {Object} record
 * @returns {HTMLElement[]} the folded thoughts of all stages; none where no model told any
 */
export function renderThoughts(record) {
  const thoughts = Object.entries(record.trace ?? {}).filter(([, entries]) => entries?.reasoning);
  if (!thoughts.length) return [];
  const parts = thoughts.flatMap(([stage, { reasoning }]) => [
    thoughts.length > 1 && make("h4", {}, stage),
    make("p", {}, String(reasoning)),
  ]);
  const tokens = Object.values(record.usage ?? {}).reduce(
    (sum, usage) => sum + (usage.reasoning_tokens ?? 0),
    0,
  );
  const heading = tokens ? `Thought for ${countOf(tokens, "token")}` : "Thoughts";
  return [make("details", { class: "thoughts" }, make("summary", {}, heading), ...parts)];
}
