/** The conversations at the side, newest first. */

import { make } from "../view/dom.js";
import { countOf } from "../view/format.js";
import { listConversations } from "./api.js";
import { button, fill } from "./controls.js";
import { formatRoute } from "./route.js";

const PAGE = 50;

export class ConversationList {
  constructor() {
    this.list = make("ul", {});
    this.state = make("p", { class: "hint" });
    this.older = button("Show older ones", () => this.showOlder(), { hidden: true });
    this.element = make("div", { class: "conversation-list" }, this.list, this.state, this.older);
    this.rows = [];
    this.shown = PAGE;
    this.open = [];
  }

  /** Reads the list anew. If that fails the former one stays, and the banner says so. */
  async refresh() {
    try {
      this.rows = await readPages(this.shown / PAGE);
    } catch (error) {
      if (!this.rows.length) this.state.textContent = `The list cannot be shown: ${error.message}`;
      return;
    }
    this.render();
  }

  /** Marks the conversations that are shown. */
  mark(ids) {
    this.open = ids;
    this.render();
  }

  async showOlder() {
    this.shown += PAGE;
    await this.refresh();
  }

  render() {
    const place = this.list.contains(document.activeElement)
      ? document.activeElement.getAttribute("href")
      : null;
    fill(this.list, ...this.rows.map((row) => make("li", {}, this.makeLink(row))));
    this.state.textContent = this.rows.length
      ? ""
      : "No conversations yet. The first one appears here.";
    this.older.hidden = this.rows.length < this.shown;
    if (place)
      [...this.list.querySelectorAll("a")]
        .find((link) => link.getAttribute("href") === place)
        ?.focus();
  }

  makeLink({ id, title, model, turns, updated, open }) {
    const current = this.open.includes(id) ? "page" : null;
    const meta = [
      open === false && "other documents",
      model,
      countOf(turns, "turn"),
      formatTime(updated),
    ]
      .filter(Boolean)
      .join(" · ");
    const name = title || "No question yet";
    return make(
      "a",
      { href: formatRoute([id]), "aria-current": current, title: name },
      make("span", { class: "title" }, name),
      make("span", { class: "meta" }, meta),
    );
  }
}

async function readPages(count) {
  const rows = [];
  for (let page = 0; page < count && rows.length === page * PAGE; page++) {
    rows.push(...(await listConversations(PAGE, page * PAGE)));
  }
  return rows;
}

/** "14:05" for today, else "3 Nov", with the year where it is another. */
function formatTime(updated) {
  const [time, now] = [new Date(updated), new Date()];
  if (Number.isNaN(time.getTime())) return "";
  if (time.toDateString() === now.toDateString())
    return time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return time.toLocaleDateString([], { day: "numeric", month: "short", year });
}
