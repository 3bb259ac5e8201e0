/** Asks before something is done that cannot be undone. */

import { make } from "../view/dom.js";
import { button } from "./controls.js";

/**
 * @param {{title: string, text: string, action: string}} question `action` is the label of the
 *     button that does it
 * @returns {Promise<boolean>}
 */
export function confirmAction({ title, text, action }) {
  const dialog = make("dialog", { class: "box", "aria-labelledby": "confirm-title" });
  const close = (answer) => () => dialog.close(answer);
  dialog.append(
    make("h2", { id: "confirm-title" }, title),
    make("p", {}, text),
    make(
      "div",
      { class: "buttons" },
      button("Cancel", close("no"), { autofocus: true }),
      button(action, close("yes"), { class: "button danger" }),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove(); // the browser gives the focus back to where it was
      resolve(dialog.returnValue === "yes");
    });
  });
}
