/** Marks the sentences of an answer in Markdown that its passages do not support. */

import { UNSUPPORTED } from "../view/answer.js";
import { makeFinder } from "../view/code_points.js";
import { make } from "../view/dom.js";
import { countOf } from "../view/format.js";
import { announce } from "./announce.js";
import { checkSupport } from "./api.js";
import { renderMarkdown } from "./markdown.js";
import { makeNotice } from "./notices.js";

const START = "\ue000";
const END = "\ue001";

/**
 * Puts a sign before and after each span (in code points), but not before the mark of a list item.
 */
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
      return part === START || part === END || !part
        ? ""
        : within
          ? make("mark", UNSUPPORTED, part)
          : part;
    });
    if (within || parts.length > 1) node.replaceWith(...parts.filter(Boolean));
  }
}

/** Renders an answer, with the sentences marked that are known to lack support. */
export function renderMarked(text, spans = []) {
  const fragment = renderMarkdown(signSpans(text, spans));
  if (spans.length) markSigned(fragment);
  return fragment;
}

/**
 * Finds the sentences of an answer that its passages do not support, has it rendered again, and
 * says how many there are.
 * @param {string} conversationId
 * @param {Object} record of the turn, which keeps what was found
 * @param {HTMLElement} notices below the answer
 * @param {() => void} render
 */
export async function checkAnswer(conversationId, record, notices, render) {
  try {
    record.unsupported = await checkSupport(conversationId, record.turn);
  } catch (error) {
    announce(error.message);
    return;
  }
  render();
  const count = record.unsupported.length;
  const found = count
    ? `${countOf(count, "sentence")} that the passages do not support`
    : "no sentence without support";
  const notice = makeNotice(`Checked by the words in common with the passages: ${found}.`);
  notice.classList.add("checked");
  for (const old of notices.querySelectorAll(".checked")) old.remove();
  notices.append(notice);
  announce(notice.textContent);
}
