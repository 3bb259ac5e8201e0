/** Marks of turns by people, kept in this browser and in files that task=agreement reads. */

const CRITERION = "helpful";

/**
 * The marks of a run: Map annotator -> Map turn id -> { score: 1 or 0, comment, when }. `annotator`
 * is who marks, `blind` whether the marks of others are hidden; `kept` is false where the browser
 * keeps nothing.
 */
export function openMarks(run) {
  const names = [run.facts.folder, run.facts.name, run.index.turn.length].filter(Boolean);
  const key = `convrag marks of ${names.join(" ")}`;
  const marks = { key, run, all: new Map(), annotator: "", blind: false, kept: true };
  try {
    const {
      all = {},
      annotator = "",
      blind = false,
    } = JSON.parse(localStorage.getItem(key) ?? "{}");
    Object.assign(marks, {
      all: new Map(
        Object.entries(all).map(([name, turns]) => [name, new Map(Object.entries(turns))]),
      ),
      annotator,
      blind,
    });
  } catch {
    marks.kept = false;
  }
  return marks;
}

/** Keep the marks for the next time that this report is opened. */
export function keepMarks(marks) {
  const all = Object.fromEntries(
    [...marks.all].map(([name, turns]) => [name, Object.fromEntries(turns)]),
  );
  try {
    localStorage.setItem(
      marks.key,
      JSON.stringify({ all, annotator: marks.annotator, blind: marks.blind }),
    );
    marks.kept = true;
  } catch {
    marks.kept = false; // it is full, or forbidden
  }
}

/** Note what the annotator says of a turn; `score` null takes it back. */
export function setMark(marks, turn, score, comment) {
  const own = marks.all.get(marks.annotator) ?? new Map();
  if (score === null) own.delete(turn);
  else own.set(turn, { score, comment, when: new Date().toISOString() });
  if (own.size) marks.all.set(marks.annotator, own);
  else marks.all.delete(marks.annotator);
  keepMarks(marks);
}

/** Find the marks of a turn: [own or null, [[name, mark or null]]], sorted by name. */
export function findMarks(marks, turn) {
  const others = [...marks.all]
    .filter(([name]) => name !== marks.annotator)
    .map(([name, turns]) => [name, turns.get(turn) ?? null]);
  return [
    marks.all.get(marks.annotator)?.get(turn) ?? null,
    others.sort(([one], [other]) => (one < other ? -1 : 1)),
  ];
}

/** The marks of the annotator as the lines of a file, in the order of the run. */
export function formatMarks(marks) {
  const own = marks.all.get(marks.annotator) ?? new Map();
  const rows = marks.run.index.turn
    .filter((turn) => own.has(turn))
    .map((turn) => {
      const { score, comment, when } = own.get(turn);
      return {
        turn_id: turn,
        criterion: CRITERION,
        score,
        reason: comment,
        annotator: marks.annotator,
        when,
      };
    });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/**
 * Add the marks of a file; one without an annotator has the file's name. Nothing is added where a
 * line is wrong.
 * Returns [[annotator, number of marks]]. Throws an Error that names the file and the line.
 */
export function addMarks(marks, text, file) {
  const known = new Set(marks.run.index.turn);
  const found = new Map();
  text.split("\n").forEach((line, place) => {
    if (!line.trim()) return;
    const row = readRow(line, `${file}, line ${place + 1}`, known);
    const name = String(row.annotator ?? file.replace(/\.jsonl$/, ""));
    const turns = found.get(name) ?? found.set(name, new Map()).get(name);
    turns.set(row.turn_id, {
      score: row.score,
      comment: String(row.reason ?? ""),
      when: String(row.when ?? ""),
    });
  });
  if (!found.size) throw new Error(`${file}: this file has no marks.`);
  for (const [name, turns] of found)
    marks.all.set(name, new Map([...(marks.all.get(name) ?? []), ...turns]));
  keepMarks(marks);
  return [...found].map(([name, turns]) => [name, turns.size]);
}

function readRow(line, where, known) {
  let row;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Error(`${where}: this is no JSON.`);
  }
  if (row?.criterion !== CRITERION || (row.score !== 0 && row.score !== 1)) {
    throw new Error(
      `${where}: this is no mark: it must have "criterion": "${CRITERION}" and a "score" of 0 or 1.`,
    );
  }
  if (!known.has(row.turn_id))
    throw new Error(`${where}: this run has no turn ${JSON.stringify(row.turn_id)}.`);
  return row;
}
