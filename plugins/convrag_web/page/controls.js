/** Buttons and icons. view/dom.js makes their elements; strings become text and never HTML. */

import { make } from "../view/dom.js";

const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  edit: "M4 20l1-4L16 5l3 3L8 19l-4 1z",
  again: "M20 12a8 8 0 1 1-2.4-5.7M20 4v4h-4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  up: "M7 11l4-7c1.5 0 2 1 2 2v4h6l-2 10H7zM7 11H4v9h3",
  down: "M17 13l-4 7c-1.5 0-2-1-2-2v-4H5L7 4h10zM17 13h3V4h-3",
  inside: "M4 5h16v14H4zM14 5v14",
  document: "M6 3h8l5 5v13H6zM14 3v5h5M9 13h7M9 17h7",
  alert: "M12 4l9 16H3zM12 10v4M12 17h.01",
};

/** Replaces what an element holds; null and false are left out, as `make` leaves them out. */
export function fill(element, ...children) {
  element.replaceChildren(...make("div", {}, children).childNodes);
}

/**
 * A button with an icon and a label; with `iconOnly`, the label is its accessible name and tooltip.
 */
export function button(label, onclick, { icon: name, iconOnly = false, ...attributes } = {}) {
  const named = iconOnly ? { "aria-label": label, title: label } : {};
  const content = [name && icon(name), !iconOnly && make("span", {}, label)];
  return make(
    "button",
    { type: "button", class: "button", onclick, ...named, ...attributes },
    ...content,
  );
}

/** An icon in the colour of the text around it; hidden from screen readers. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({
    viewBox: "0 0 24 24",
    class: "icon",
    "aria-hidden": "true",
  })) {
    svg.setAttribute(key, value);
  }
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
