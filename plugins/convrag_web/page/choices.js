/** What a question back offers to choose from. */

/**
 * @param {Object} record
 * @returns {string[]} none where the turn was answered or refused
 */
export function listChoices(record) {
  const decision = record.trace?.generator?.decision ?? {};
  return decision.outcome === "asked" ? (decision.choices ?? []) : [];
}
