/** The side column: a new conversation, the list, the theme. On a narrow screen it is a drawer. */

import { make } from "../view/dom.js";
import { button } from "./controls.js";
import { formatRoute } from "./route.js";
import { chooseTheme, readTheme } from "./theme.js";

const NARROW = matchMedia("(max-width: 48rem)");

export class Side {
  /** @param {HTMLElement} list of conversations */
  constructor(list) {
    const begin = make("a", { href: formatRoute([]), class: "button new" }, "New conversation");
    const brand = make("p", { class: "brand" }, "convrag");
    this.content = make(
      "nav",
      { class: "side-content", "aria-label": "Conversations" },
      brand,
      begin,
      list,
      makeThemeField(),
    );
    this.element = make("div", { class: "side" });
    this.drawer = make("dialog", { class: "drawer", "aria-label": "Conversations" });
    this.drawer.addEventListener("click", ({ target }) => {
      // Outside, or when one was chosen
      if (target === this.drawer || target.closest("a, .close")) this.drawer.close();
    });
    this.closeButton = button("Close", () => {}, {
      icon: "close",
      iconOnly: true,
      class: "button close",
    });
    NARROW.addEventListener("change", () => this.place());
    this.place();
  }

  /** Opens the drawer; the button for it is there on narrow screens only. */
  open() {
    this.drawer.showModal();
  }

  place() {
    this.drawer.close();
    if (NARROW.matches) this.drawer.append(this.closeButton, this.content);
    else this.element.append(this.content);
    this.element.hidden = NARROW.matches;
  }
}

function makeThemeField() {
  const names = { system: "As the system", light: "Light", dark: "Dark" };
  const options = Object.entries(names).map(([value, name]) => make("option", { value }, name));
  const select = make("select", { onchange: () => chooseTheme(select.value) }, ...options);
  select.value = readTheme();
  return make("label", { class: "field theme" }, make("span", {}, "Theme"), select);
}
