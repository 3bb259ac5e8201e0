/** The parts of a passage that an answer rests on. */

import { makeFinder } from "./code_points.js";
import { findSupport } from "./sentences.js";

/**
 * Find the parts of a passage that an answer rests on: { spans: [[start, end]], named }. Where the
 * generator names them (`support` of the record), these; else the sentences that share most words
 * with the statements that cite the passage.
 *
 * `statements` are the texts of these statements. `named` says whether the generator named the
 * parts.
 */
export function findCitedSpans(record, id, text, statements) {
  const named = (record.support ?? [])
    .flatMap((each) => each.spans)
    .filter((span) => span.id === id);
  if (!named.length || !text)
    return { spans: statements.flatMap((statement) => findSupport(statement, text)), named: false };
  const find = makeFinder(text);
  return { spans: named.map(({ start, end }) => [find(start), find(end)]), named: true };
}
