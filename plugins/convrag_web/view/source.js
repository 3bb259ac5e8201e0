/** The data of a report: blocks of the page or of another file, unpacked when needed. */

const CHUNK = 250; // rows of a block; packing.py says the same
const KEPT = 24; // unpacked blocks in memory

/** The blocks of a page: id -> text. */
export function readPage(page) {
  return new Map(
    [...page.querySelectorAll('script[type="text/plain"]')].map((block) => [block.id, block]),
  );
}

/** The blocks in the text of another report's file. Throws an Error where it is no report. */
export function readFileBlocks(text) {
  const blocks = new Map();
  for (const match of text.matchAll(
    /<script type="text\/plain" id="([\w-]+)">([^<]*)<\/script>/g,
  )) {
    blocks.set(match[1], { textContent: match[2] });
  }
  if (!blocks.has("head")) throw new Error("This file is no report.html of convrag.");
  return blocks;
}

/**
 * Open a report: { head, runs, readPlot(number) }. Lists of turns are read at once, turns later.
 */
export async function openReport(blocks) {
  const cache = new Map();
  const read = (id) => readBlock(blocks, cache, id);
  const head = JSON.parse(blocks.get("head").textContent);
  const runs = await Promise.all(
    head.runs.map(async (facts, number) =>
      makeRun(facts, await read(`index-${number}`), number, read),
    ),
  );
  return { head, runs, readPlot: (number) => blocks.get(`plot-${number}`).textContent };
}

/** One run: its facts, the columns of its list, and functions that read turns. */
function makeRun(facts, index, number, read) {
  const places = new Map(index.turn.map((id, place) => [id, place]));
  const readRow = async (place) =>
    (await read(`turns-${number}-${Math.floor(place / CHUNK)}`))[place % CHUNK];
  const readPassage = async (passage) =>
    (await read(`passages-${Math.floor(passage / CHUNK)}`))[passage % CHUNK];
  const run = {
    facts,
    index,
    places,
    shares: findShares(index),
    scores: (place) => readScores(index, place),
  };
  run.readTurn = async (place) => expandRow(await readRow(place), index, place, readPassage);
  run.readHistory = async (place) => {
    if (facts.history === "none") return [];
    const earlier = listConversation(index, place).filter(
      (other) => index.number[other] < index.number[place],
    );
    return Promise.all(
      earlier.map(async (other) => {
        const row = (await readRow(other)) ?? {};
        return {
          question: index.question[other],
          answer: (facts.history === "gold" ? row.reference : row.agent_response) ?? "",
        };
      }),
    );
  };
  run.readWords = async (place) => {
    const row = (await readRow(place)) ?? {};
    const texts = [
      index.turn[place],
      index.question[place],
      row.agent_response,
      row.reference,
      ...(row.queries ?? []).map((query) => query.text),
    ];
    return texts.join("\n").toLowerCase();
  };
  return run;
}

/** The places of the turns of a conversation, in their order. */
export function listConversation(index, place) {
  const found = [];
  const isSame = (other) =>
    index.conversation[other] === index.conversation[place] &&
    index.domain[other] === index.domain[place];
  let start = place;
  while (start > 0 && isSame(start - 1)) start -= 1;
  for (let other = start; other < index.turn.length && isSame(other); other += 1) found.push(other);
  return found;
}

function readScores(index, place) {
  const own = Object.entries(index.scores).map(([name, column]) => [name, column[place]]);
  return Object.fromEntries(own.filter(([, value]) => value !== null));
}

/** The measures whose values all lie between 0 and 1. */
function findShares(index) {
  return new Set(
    Object.keys(index.scores).filter((name) =>
      index.scores[name].every((value) => value === null || (value >= 0 && value <= 1)),
    ),
  );
}

/** Make the record of a turn from its row, with further passages by id: { record, known }. */
async function expandRow(row, index, place, readPassage) {
  const labels = Object.entries(index.labels).map(([name, column]) => [name, column[place]]);
  const head = {
    turn_id: index.turn[place],
    conversation_id: index.conversation[place],
    domain: index.domain[place],
    turn: index.number[place],
    original_query: index.question[place],
    labels: Object.fromEntries(labels.filter(([, value]) => value !== null)),
  };
  if (!row) return { record: head, known: new Map(), leftOut: true };
  const passages = new Map();
  const get = async (number) => {
    if (!passages.has(number)) passages.set(number, makePassage(await readPassage(number)));
    return passages.get(number);
  };
  const join = async (text) => {
    if (!Array.isArray(text)) return text;
    const parts = await Promise.all(
      text.map(async (part) =>
        typeof part === "number"
          ? ((await get(part)).text ?? `[${(await get(part)).id}: text left out]`)
          : part,
      ),
    );
    return parts.join("");
  };
  const contexts = await Promise.all(
    row.contexts.map(async ([number, score]) => ({ ...(await get(number)), score })),
  );
  const evidence = await Promise.all(
    row.evidence.map(async ([number, passage, hint, ...shown]) => ({
      ...(await get(passage)),
      number,
      hint: Boolean(hint),
      ...(shown.length ? { shown: await join(shown[0]) } : {}),
    })),
  );
  const prompt = await Promise.all(
    (row.prompt ?? []).map(async ([role, content]) => ({ role, content: await join(content) })),
  );
  const others = await Promise.all(
    Object.entries({ ...row.missed, ...row.earlier }).map(async ([id, number]) => [
      id,
      await get(number),
    ]),
  );
  return { record: { ...row, ...head, contexts, evidence, prompt }, known: new Map(others) };
}

function makePassage([id, title, text, url, metadata] = ["", ""]) {
  return text === undefined
    ? { id, title, leftOut: true }
    : { id, title, text, url, metadata: metadata || undefined };
}

async function readBlock(blocks, cache, id) {
  if (!cache.has(id)) {
    // Left out for its size
    cache.set(id, blocks.has(id) ? unpack(blocks.get(id).textContent) : Promise.resolve([]));
    if (cache.size > KEPT) cache.delete(cache.keys().next().value);
  } else {
    const value = cache.get(id);
    cache.delete(id);
    cache.set(id, value); // the least recently used one is the first
  }
  return cache.get(id);
}

async function unpack(text) {
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).json();
}
