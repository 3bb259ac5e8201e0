/** Notices below an answer: what fell back, and why there is no answer. */

import { make } from "../view/dom.js";
import { button } from "./controls.js";

/** @param {...(Node|string)} content */
export function makeNotice(...content) {
  return make("div", { class: "notice" }, ...content);
}

/** Says that there is no answer, and what the server keeps. */
export function sayWhatIsKept(stopped, hasFormer, lost) {
  const outcome = stopped ? "Stopped." : "There is no answer.";
  if (hasFormer) return `${outcome} The former answer stays.`;
  return lost ? `${outcome} The server may go on with it.` : `${outcome} This turn is not kept.`;
}

/**
 * A notice that there is no answer, with a button that tries again.
 * @param {string} what
 * @param {string} why empty where the user stopped the turn
 * @param {() => void} again
 */
export function makeFailure(what, why, again) {
  const notice = makeNotice(
    make("strong", {}, what),
    why && ` ${why}`,
    button("Try again", again, { icon: "again" }),
  );
  if (why) notice.classList.add("error");
  return notice;
}
