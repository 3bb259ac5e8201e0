/** Tells screen readers what has happened: a finished answer once, rather than each of its pieces. */

/** @param {string} text */
export function announce(text) {
  const region = document.getElementById("announcements");
  region.textContent = "";
  // A region that gets the same text twice is read only if it was empty in between.
  setTimeout(() => (region.textContent = text), 50);
}
