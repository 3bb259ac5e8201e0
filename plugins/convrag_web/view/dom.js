/** Elements made from plain text. What a passage or an answer says is never read as HTML. */

/**
 * Make an element: make("p", { class: "note" }, "two ", make("b", {}, "words")). A function is a
 * listener ({ onclick: f }); true is an attribute without a value; false, null and undefined are
 * left out; so are they among the children, and empty texts. Children are texts and elements, or
 * lists of them.
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(isGiven).map(showControls));
  return element;
}

/** Make a link to another site; the text alone where the address is none of the web. */
export function makeLink(url, text) {
  return /^https?:\/\//i.test(url)
    ? make("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, text)
    : make("span", {}, text);
}

/** Make a part of a page that opens and closes. */
export function makeFold(heading, attributes, ...children) {
  return make(
    "details",
    { class: "fold", ...attributes },
    make("summary", {}, heading),
    ...children,
  );
}

/** Make a table of texts or elements. `numbers` is the first column that is aligned right. */
export function makeTable(heading, rows, numbers = 1, caption = "") {
  const place = (index) => (index >= numbers ? "number" : null);
  return make(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": caption || heading.join(", ") },
    make(
      "table",
      {},
      caption && make("caption", { class: "unseen" }, caption),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          heading.map((text, index) => make("th", { scope: "col", class: place(index) }, text)),
        ),
      ),
      make(
        "tbody",
        {},
        rows.map((cells) =>
          make(
            "tr",
            {},
            cells.map((cell, index) =>
              index === 0
                ? make("th", { scope: "row" }, cell)
                : make("td", { class: place(index) }, cell),
            ),
          ),
        ),
      ),
    ),
  );
}

function isGiven(value) {
  return value !== null && value !== undefined && value !== false && value !== "";
}

/**
 * Show control characters and those that turn the direction of writing: they could disguise a text.
 */
export function showControls(child) {
  if (typeof child !== "string" && typeof child !== "number") return child;
  return String(child)
    .replace(/\r\n?/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (sign) =>
      String.fromCharCode(0x2400 + Math.min(sign.charCodeAt(0), 0x21)),
    )
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "\u2423");
}
