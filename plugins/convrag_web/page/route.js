/** The page's address: #/conversation/ID, #/compare/ID/ID, or nothing for a new conversation. */

/** @returns {string[]} the ids of the conversations that are shown: none, one or two */
export function readRoute() {
  const [, place, ...ids] = location.hash.split("/");
  if (place !== { 1: "conversation", 2: "compare" }[ids.length]) return [];
  return ids.map(decode);
}

/** @param {string[]} ids */
export function formatRoute(ids) {
  if (!ids.length) return "#/";
  return `#/${ids.length > 1 ? "compare" : "conversation"}/${ids.map(encodeURIComponent).join("/")}`;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
