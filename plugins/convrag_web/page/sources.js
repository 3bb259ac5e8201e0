/** The passages that an answer can cite. */

import { getName } from "../view/names.js";
import { numberPassages } from "../view/numbering.js";

/**
 * @typedef {Object} Source
 * @property {number} number the number by which the answer cites it
 * @property {string} id of the passage
 * @property {string} title
 * @property {string} text
 * @property {string} url
 * @property {Object|undefined} metadata
 * @property {boolean} cited whether the answer cites it
 * @property {boolean} hint whether the model saw only a pointer to an earlier message
 * @property {string|undefined} shown the text as the model saw it, where it is another
 * @property {number|undefined} rank among the passages that were found in this turn, from 1
 * @property {number|undefined} score
 */

/**
 * Lists the passages that the model saw, by number. Where a generator numbers the passages of a
 * whole conversation, those of earlier turns are among them.
 * @param {Object} record of the turn
 * @param {Object[]} earlier records of the turns before it
 * @returns {Source[]}
 */
export function listSources(record, earlier) {
  const texts = new Map();
  for (const { evidence = [], contexts = [] } of [...earlier, record]) {
    for (const row of [...evidence, ...contexts])
      if (row.text !== undefined) texts.set(row.id, row);
  }
  const shown = new Map((record.evidence ?? []).map((item) => [item.id, item]));
  const ids = (record.contexts ?? []).map((hit) => hit.id);
  const sources = [...numberPassages(record)]
    .filter(([, id]) => texts.has(id))
    .map(([number, id]) => {
      const { title, text, url, metadata } = texts.get(id);
      const rank = ids.indexOf(id);
      return {
        number,
        id,
        title,
        text,
        url,
        metadata,
        cited: (record.citations ?? []).includes(id),
        hint: shown.get(id)?.hint ?? false,
        shown: shown.get(id)?.shown,
        rank: rank < 0 ? undefined : rank + 1,
        score: record.contexts?.[rank]?.score,
      };
    });
  return sources.sort((a, b) => a.number - b.number);
}

/** A passage's place in its document, else its title, else its first words. */
export function nameSource(source) {
  if (getName(source)) return getName(source);
  const words = source.text.trim().split(/\s+/);
  return words.slice(0, 8).join(" ") + (words.length > 8 ? " …" : "");
}
