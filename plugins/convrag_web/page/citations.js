/** Turns the citations in a rendered answer, such as [1] and [2, 3], into buttons. */

import { make } from "../view/dom.js";
import { nameSource } from "./sources.js";

const CITATION = /\s*\[\s*(\d+(?:\s*[,;]\s*\d+)*)\s*\]/g;
const UNFINISHED = /\s*\[[\d\s,;]*$/;

/** Leaves out a citation that is not complete yet at the end of a text: it would flicker. */
export function cutUnfinishedCitation(text) {
  return text.replace(UNFINISHED, "");
}

/**
 * @param {DocumentFragment} fragment a rendered answer; code in it stays as it is
 * @param {import("./sources.js").Source[]} sources
 * @param {(source: import("./sources.js").Source) => void} open opens a passage
 */
export function linkCitations(fragment, sources, open) {
  const byNumber = new Map(sources.map((source) => [source.number, source]));
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (!node.parentElement?.closest("code, pre, a")) replaceCitations(node, byNumber, open);
  }
}

function replaceCitations(node, byNumber, open) {
  const parts = [];
  let end = 0;
  for (const match of node.data.matchAll(CITATION)) {
    const numbers = match[1].split(/\D+/).map(Number);
    if (!numbers.every((number) => byNumber.has(number))) continue;
    const [before, word] = cutLastWord(node.data.slice(end, match.index));
    const buttons = numbers.flatMap((number) => ["\u202f", makeButton(byNumber.get(number), open)]);
    parts.push(before, make("span", { class: "together" }, word, ...buttons));
    end = match.index + match[0].length;
  }
  if (end) node.replaceWith(...parts, node.data.slice(end));
}

/** A citation stays on the line of the word before it, if that is no address that must break. */
function cutLastWord(text) {
  const start = text.length - /\S{0,24}$/.exec(text)[0].length;
  return [text.slice(0, start), text.slice(start)];
}

function makeButton(source, open) {
  const label = `Source ${source.number}: ${nameSource(source)}`;
  const attributes = {
    type: "button",
    class: "citation",
    "aria-label": label,
    title: nameSource(source),
  };
  return make("button", { ...attributes, onclick: () => open(source) }, String(source.number));
}
