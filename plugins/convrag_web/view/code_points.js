/** Places in texts: the server counts characters as code points, JavaScript as UTF-16 units. */

const STEP = 4096;

/** Make a function that finds the index of a code point in a text. */
export function makeFinder(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (place) => Math.min(place, text.length);
  const known = [0]; // the index of every 4096th code point
  let index = 0;
  for (let place = 1; index < text.length; place += 1) {
    index += text.codePointAt(index) > 0xffff ? 2 : 1;
    if (place % STEP === 0) known.push(index);
  }
  return (place) => {
    let found = known[Math.floor(place / STEP)] ?? text.length;
    for (let left = place % STEP; left > 0 && found < text.length; left -= 1) {
      found += text.codePointAt(found) > 0xffff ? 2 : 1;
    }
    return found;
  };
}
