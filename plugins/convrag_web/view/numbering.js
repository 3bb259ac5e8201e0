/** By which numbers an answer cites passages. */

/**
 * The passages that an answer can cite: Map number -> id. A generator that numbers the passages of
 * a whole conversation (generator=chat) says so in its trace; others cite the evidence of the turn
 * by its own numbers.
 */
export function numberPassages(record) {
  const given = Object.entries(record.trace?.generator?.numbers ?? {});
  const numbers = given.length
    ? given
    : (record.evidence ?? []).map((item) => [item.id, item.number]);
  return new Map(numbers.map(([id, number]) => [number, id]));
}
