/** The text of a document as elements: headings, beginnings of pages, and a marked passage. */

import { markSpans } from "../view/answer.js";
import { makeFinder } from "../view/code_points.js";
import { make } from "../view/dom.js";

const TOP = 3; // the level of the highest headings on the page: the document's title has 2
const LOWEST = 6;

/**
 * @param {{text: string, headings: {start: number, level: number}[], pages: {start: number,
 *     number: number}[], page_name: string, passage: {start: number, end: number}|null,
 *     cited: number[][]}} shown as the server sends it; places are counted in code points
 * @returns {HTMLElement[]}
 */
export function renderDocumentText({
  text,
  headings,
  pages,
  page_name: pageName,
  passage,
  cited = [],
}) {
  const find = makeFinder(text);
  const first = passage && find(passage.start);
  const whole = passage ? [[first, find(passage.end)]] : [];
  const spans =
    passage && cited.length ? cited.map(([start, end]) => [first + start, first + end]) : whole;
  const mark = (start, end) => markSpans(text, start, end, spans, { class: "cited" });
  const cuts = [
    ...pages.map(({ start, number }) => ({
      start,
      make: () => make("p", { class: "page-start" }, `${pageName} ${number}`),
    })),
    ...headings.map(({ start, level }) => ({ start, level })),
  ].sort((one, other) => one.start - other.start); // stable: a page begins before its heading
  const parts = [];
  const above = []; // the levels of the headings that the place stands under
  let place = 0;
  const addText = (end) => {
    const [from, to] = trim(text, place, end);
    if (from < to) parts.push(make("div", { class: "block" }, ...mark(from, to)));
    place = Math.max(place, end);
  };
  for (const cut of cuts) {
    const start = find(cut.start);
    addText(start);
    if (cut.make) {
      parts.push(cut.make());
      continue;
    }
    const end = findLineEnd(text, start);
    while (above.at(-1) >= cut.level) above.pop();
    above.push(cut.level);
    if (start < place || start === end) continue; // two headings at one place
    parts.push(make(`h${Math.min(TOP - 1 + above.length, LOWEST)}`, {}, ...mark(start, end)));
    place = end;
  }
  addText(text.length);
  return parts;
}

function findLineEnd(text, start) {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.length : end;
}

/** The span without the line breaks around it; the spaces before its first line stay. */
function trim(text, start, end) {
  let [from, to] = [start, Math.max(start, end)];
  while (from < to && /[\r\n]/.test(text[from])) from += 1;
  while (to > from && /\s/.test(text[to - 1])) to -= 1;
  return [from, to];
}
