/** The state of the page in its address, after "#": a link leads to the same turn and list. */

const DEFAULTS = {
  turn: "",
  run: 0,
  other: -1,
  view: "",
  sort: "",
  measure: "",
  text: "",
  label: "",
  number: "",
  state: "",
  domain: "",
};

/** Read what an address asks for. */
export function readRoute(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const route = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    if (given.has(name))
      route[name] = typeof DEFAULTS[name] === "number" ? Number(given.get(name)) : given.get(name);
  }
  return route;
}

/** The address of what is to be shown. */
export function formatRoute(route) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) {
    if (route[name] !== value) given.set(name, route[name]);
  }
  return `#${given}`;
}
