/** report.html: the list of turns on one side; the overview, or the chosen turn, on the other. */

import { make } from "./dom.js";
import { renderLeaderboard } from "./leaderboard.js";
import { renderOverview } from "./overview.js";
import { formatRoute, readRoute } from "./route.js";
import { listMeasures, selectTurns } from "./selection.js";
import { openReport, readFileBlocks, readPage } from "./source.js";
import { renderFilters, renderList } from "./turn_list.js";
import { renderTurnPage } from "./turn_page.js";

/** The state of the page: the report, its runs, and the words of turns once they are searched. */
const page = {
  report: null,
  runs: [],
  words: null,
  reading: null,
  places: [],
  filtersOf: "",
  listOf: "",
};
const parts = {};

async function start() {
  page.report = await openReport(readPage(document));
  page.runs = page.report.runs;
  document.body.append(...renderFrame(page.report.head));
  addEventListener("hashchange", show);
  addEventListener("keydown", stepWithKeys);
  await show();
  document.body.dataset.ready = "yes";
}

function renderFrame({ title, kind, left_out: leftOut }) {
  parts.chooser = make("div", { class: "chooser" });
  parts.filters = make("div", {});
  parts.list = make("div", {});
  parts.content = make("div", { class: "content" });
  parts.side = make(
    "nav",
    { class: "side", "aria-label": "List of turns" },
    parts.chooser,
    parts.filters,
    parts.list,
  );
  const link = (view, text) => make("a", { href: formatRoute({ ...readRoute(""), view }) }, text);
  return [
    make(
      "header",
      { class: "top" },
      make("h1", {}, title),
      make(
        "span",
        { class: "note" },
        kind === "run" ? "a run of convrag" : "runs of convrag compared",
      ),
      make(
        "nav",
        { "aria-label": "Report" },
        link("", kind === "run" ? "Overview" : "Leaderboard"),
        link("list", "Turns"),
      ),
      makeFileField(),
    ),
    leftOut.map((line) => make("p", { class: "left-out" }, line)),
    make("main", { class: "panes" }, parts.side, parts.content),
  ];
}

/** Show what the address asks for. */
async function show() {
  const route = completeRoute(readRoute(location.hash));
  const [run, other] = [page.runs[route.run], page.runs[route.other] ?? null];
  document.body.dataset.view = route.turn ? "turn" : route.view || "overview";
  parts.side.hidden = !run;
  if (run) showList(run, other, route);
  const shown = route.turn
    ? await renderTurnPage(run, other, route, page.places)
    : renderHead(run, route);
  // The reader has gone on meanwhile
  if (route.turn && readRoute(location.hash).turn !== route.turn) return;
  parts.content.replaceChildren(shown);
  if (page.shownTurn !== route.turn) {
    page.shownTurn = route.turn;
    parts.content.scrollTop = 0;
    if (document.body.dataset.view !== "list") scrollTo(0, 0);
  }
}

function showList(run, other, route) {
  const filtersOf = `${route.run} ${route.other}`;
  if (page.filtersOf !== filtersOf) {
    // not while the reader types in them
    page.filtersOf = filtersOf;
    page.words = null;
    page.reading = null;
    parts.chooser.replaceChildren(...renderChooser(route));
    parts.filters.replaceChildren(renderFilters(run, other, route, changeRoute));
  }
  const listOf = formatRoute({ ...route, turn: "", view: "" });
  if (page.listOf !== listOf || (route.text && !page.words)) {
    page.listOf = listOf;
    page.places = selectTurns(run, other, route, page.words);
    const searching = route.text && !page.words;
    parts.list.replaceChildren(
      searching
        ? make("p", { class: "note", role: "status" }, "Searching\u2026")
        : renderList(run, other, route, page.places),
    );
    if (searching) readWords(run);
  }
  markCurrent(run.places.get(route.turn));
}

/** Mark the turn that is shown in the list, and bring it into sight. */
function markCurrent(place) {
  parts.list.querySelector("a[aria-current]")?.removeAttribute("aria-current");
  const link = place === undefined ? null : parts.list.querySelector(`a[data-place="${place}"]`);
  link?.setAttribute("aria-current", "true");
  link?.scrollIntoView({ block: "nearest" });
}

function renderHead(run, route) {
  const { head, readPlot } = page.report;
  return head.kind === "run"
    ? renderOverview(run, route)
    : renderLeaderboard(head, page.report.runs, readPlot, route);
}

/** Fill in what an address leaves open: two runs of a comparison, the first measure, the order. */
function completeRoute(route) {
  const comparing = page.report.head.kind === "comparison";
  const full = { ...route };
  if (comparing && !location.hash.includes("run=")) [full.run, full.other] = chooseRuns();
  const run = page.runs[full.run];
  if (!run) return full;
  full.measure ||= listMeasures(run)[0] ?? "";
  full.sort ||= page.runs[full.other] ? "changed" : full.measure ? "worst" : "order";
  return full;
}

/** The baseline of the leaderboard and the best other run. */
function chooseRuns() {
  const { board, shown } = page.report.head;
  const baseline = board.rows.find((row) =>
    Object.values(row.compared).some((score) => score.difference === "baseline"),
  );
  const first = Math.max(0, shown.indexOf(baseline?.name));
  const best = shown.findIndex((_, number) => number !== first);
  return [first, best];
}

function changeRoute(changed) {
  const route = { ...completeRoute(readRoute(location.hash)), ...changed };
  history.replaceState(null, "", formatRoute(route));
  show();
}

/** The fields for the run that is shown and the one beside it, where there are several. */
function renderChooser(route) {
  if (page.runs.length < 2) return [];
  const options = (chosen) =>
    page.runs.map((run, number) =>
      make("option", { value: String(number), selected: number === chosen }, run.facts.name),
    );
  const choose = (field) => (event) =>
    changeRoute({
      [field]: Number(event.target.value),
      sort: "",
      label: "",
      number: "",
      domain: "",
    });
  return [
    make(
      "label",
      {},
      "Run ",
      make("select", { "aria-label": "Run", onchange: choose("run") }, options(route.run)),
    ),
    make(
      "label",
      {},
      "beside ",
      make(
        "select",
        { "aria-label": "Run beside it", onchange: choose("other") },
        make("option", { value: "-1" }, "no other run"),
        options(route.other),
      ),
    ),
  ];
}

/** The field that opens another report, whose turns then stand beside those of this one. */
function makeFileField() {
  const status = make("span", { class: "note", role: "status" });
  const open = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    try {
      const report = await openReport(readFileBlocks(await file.text()));
      page.runs = [
        ...page.runs,
        ...report.runs.map((run) => ({
          ...run,
          facts: { ...run.facts, name: nameApart(run.facts.name) },
        })),
      ];
      status.textContent = "";
      changeRoute({ other: page.runs.length - report.runs.length, sort: "", view: "list" });
    } catch (error) {
      status.textContent = error.message;
    }
  };
  return make(
    "span",
    { class: "file" },
    make(
      "label",
      { class: "button" },
      "Compare with another report\u2026",
      make("input", { type: "file", accept: ".html", class: "unseen", onchange: open }),
    ),
    status,
  );
}

function nameApart(name) {
  const names = page.runs.map((run) => run.facts.name);
  return names.includes(name) ? `${name} (${names.length + 1})` : name;
}

/** Read the words of all turns, then search in them. */
async function readWords(run) {
  if (page.reading === run) return;
  page.reading = run;
  const words = new Map();
  for (let place = 0; place < run.index.turn.length; place += 1)
    words.set(place, await run.readWords(place));
  if (page.reading !== run) return; // another run was chosen meanwhile
  page.words = words;
  page.listOf = "";
  await show();
}

function stepWithKeys(event) {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
  )
    return;
  const rel = { j: "next", k: "prev" }[event.key];
  if (rel) document.querySelector(`.steps a[rel=${rel}]`)?.click();
}

start();
