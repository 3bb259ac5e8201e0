/** Renders an answer's Markdown. HTML shows as text, and images as their descriptions. */

import { showControls } from "../view/dom.js";
import DOMPurify from "./vendor/purify.es.mjs";
import { Marked } from "./vendor/marked.esm.js";

const escapeHtml = (text) => text.replace(/[&<>"']/g, (each) => `&#${each.codePointAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: true, // rows of a table that is quoted keep their lines
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ text, href }) => escapeHtml(text || href),
  },
});

// Headings of an answer stand below those of the page.
const TAGS = [
  "p",
  "br",
  "hr",
  "strong",
  "em",
  "del",
  "code",
  "pre",
  "blockquote",
  "ul",
  "ol",
  "li",
  "a",
];
const TABLE_TAGS = ["table", "thead", "tbody", "tr", "th", "td"];
const OPTIONS = {
  ALLOWED_TAGS: [...TAGS, ...TABLE_TAGS, "h1", "h2", "h3", "h4", "h5", "h6"],
  ALLOWED_ATTR: ["href", "start", "align"],
  ALLOWED_URI_REGEXP: /^https?:\/\//i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/**
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function renderMarkdown(text) {
  const fragment = DOMPurify.sanitize(marked.parse(showControls(text)), OPTIONS);
  for (const link of fragment.querySelectorAll("a")) {
    if (link.hasAttribute("href")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
  }
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const lower = document.createElement(`h${Math.min(Number(heading.tagName[1]) + 2, 6)}`);
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
  for (const block of fragment.querySelectorAll("pre, table")) makeScrollable(block);
  return fragment;
}

/** Wide code and tables scroll by themselves, with the keyboard as well. */
function makeScrollable(block) {
  const frame = document.createElement("div");
  frame.className = "wide";
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", block.tagName === "PRE" ? "Code" : "Table");
  block.replaceWith(frame);
  frame.append(block);
}
