/** Puts the turns of two conversations side by side. */

/**
 * Pairs the turns that answer the same question. A turn that only one conversation keeps (the other
 * was stopped) has nothing beside it.
 * @param {Object[]} left records
 * @param {Object[]} right records
 * @returns {Array<[number|null, number|null]>} places in the records
 */
export function pairTurns(left, right) {
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i].original_query === right[j].original_query) {
      pairs.push([i++, j++]);
    } else if (
      i < left.length &&
      !right.slice(j).some((each) => each.original_query === left[i].original_query)
    ) {
      pairs.push([i++, null]);
    } else {
      pairs.push(j < right.length ? [null, j++] : [i++, null]);
    }
  }
  return pairs;
}
