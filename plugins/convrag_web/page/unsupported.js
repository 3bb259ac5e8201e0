/** Marks the sentences of an answer in Markdown that its passages do not support. */

import { UNSUPPORTED } from "../view/answer.js";
import { makeFinder } from "../view/code_points.js";
import { make } from "../view/dom.js";

const START = "\ue000";
const END = "\ue001";

/** Puts a sign before and behind each span of a text, behind what begins a list's item. Spans are in code points. */
export function signSpans(text, spans) {
  const find = makeFinder(text);
  const parts = [];
  let place = 0;
  for (const [start, end] of spans.map((span) => span.map(find))) {
    const first = start + Math.max(0, text.slice(start, end).search(/\p{L}/u));
    parts.push(text.slice(place, first), START, text.slice(first, end), END);
    place = end;
  }
  return [...parts, text.slice(place)].join("");
}

/** Marks what stands between the signs in a rendered answer, and removes them. */
export function markSigned(fragment) {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  let within = false;
  for (const node of nodes) {
    const parts = node.data.split(/([\ue000\ue001])/).map((part) => {
      if (part === START || part === END) within = part === START;
      return part === START || part === END || !part ? "" : within ? make("mark", UNSUPPORTED, part) : part;
    });
    if (within || parts.length > 1) node.replaceWith(...parts.filter(Boolean));
  }
}
