/** The server's token (CONVRAG_TOKEN): asked for once, and kept until the tab is closed. */

import { make } from "../view/dom.js";

const KEY = "convrag-token";
let asking = null;

/** The header that carries the token; none where no token is known. */
export function authorization() {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * Asks for the token; requests that need it at the same time share one dialog.
 * @param {string} refused the header that the server refused; nothing is asked where another one is
 *     known by now
 * @returns {Promise<void>} when a token was given
 */
export function askForToken(refused) {
  if (authorization().Authorization !== refused) return Promise.resolve();
  asking ??= showDialog(Boolean(refused)).finally(() => (asking = null));
  return asking;
}

function showDialog(wasRefused) {
  const input = make("input", {
    type: "password",
    id: "token",
    autocomplete: "current-password",
    required: true,
  });
  const hint =
    "It is the value of CONVRAG_TOKEN where the server was started. It is kept in this tab only.";
  const form = make(
    "form",
    {},
    make("h2", { id: "token-title" }, "This server asks for a token"),
    wasRefused &&
      make("p", { class: "notice error", role: "alert" }, "The server did not accept that token."),
    make("label", { for: "token" }, "Token"),
    input,
    make("p", { class: "hint" }, hint),
    make(
      "div",
      { class: "buttons" },
      make("button", { type: "submit", class: "button primary" }, "Continue"),
    ),
  );
  const dialog = make("dialog", { class: "box", "aria-labelledby": "token-title" }, form);
  // Without a token the page can do nothing
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, input.value.trim());
      dialog.close();
      dialog.remove();
      resolve();
    });
  });
}
