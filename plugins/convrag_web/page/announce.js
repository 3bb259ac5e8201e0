/** Tells screen readers what has happened: each answer once, when it is finished. */

import { make } from "../view/dom.js";

const KEPT = 4; // two answers of a comparison may come at the same time

/** @param {string} text */
export function announce(text) {
  const region = document.getElementById("announcements");
  region.append(make("p", {}, text));
  if (region.children.length > KEPT) region.firstElementChild.remove();
}
