/** Times, calls, tokens and costs of a turn, by stage. */

import { make, makeTable } from "./dom.js";
import { formatCost, formatCount, formatSeconds } from "./format.js";

const CALLS = [
  ["calls", "calls"],
  ["reused", "reused"],
];
const TOKENS = [
  ["prompt_tokens", "prompt tokens"],
  ["completion_tokens", "completion tokens"],
];

/** Show what each stage took and cost; null where nothing was measured. */
export function renderCosts(record) {
  const stages = [
    ...new Set([...Object.keys(record.timings ?? {}), ...Object.keys(record.usage ?? {})]),
  ];
  if (!stages.length) return null;
  const total = sumUsage(record);
  // None without a language model
  const counts = TOKENS.some(([key]) => total[key]) ? [...CALLS, ...TOKENS] : CALLS;
  const rows = stages.map((stage) => [
    stage,
    formatTime(record.timings?.[stage]),
    ...formatUsage(record.usage?.[stage], counts),
  ]);
  if (stages.length > 1)
    rows.push(["all", formatTime(sumTimes(record)), ...formatUsage(total, counts)]);
  const priced = Object.values(record.usage ?? {}).some((usage) => usage.unpriced);
  return make(
    "div",
    {},
    makeTable(
      ["stage", "time", ...counts.map(([, name]) => name), "cost"],
      rows,
      1,
      "Times and costs by stage",
    ),
    priced && make("p", { class: "note" }, "+ ?: some replies have a price that is not known."),
  );
}

/** The time of all stages of a turn, in seconds. */
export function sumTimes(record) {
  return Object.values(record.timings ?? {}).reduce((sum, seconds) => sum + seconds, 0);
}

/** The usage of all stages of a turn. */
export function sumUsage(record) {
  const total = {};
  for (const usage of Object.values(record.usage ?? {})) {
    for (const [name, value] of Object.entries(usage)) total[name] = (total[name] ?? 0) + value;
  }
  return total;
}

function formatTime(seconds) {
  return seconds === undefined ? "" : formatSeconds(seconds);
}

function formatUsage(usage, counts) {
  if (!usage) return [...counts.map(() => ""), ""];
  return [
    ...counts.map(([key]) => formatCount(usage[key] ?? 0)),
    `${formatCost(usage.cost_usd)}${usage.unpriced ? " + ?" : ""}`,
  ];
}
