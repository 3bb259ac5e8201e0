/** The page: puts the parts together, and shows the conversations that the address names. */

import { make } from "../view/dom.js";
import { ApiError, ConnectionLost, listModels } from "./api.js";
import { Banner } from "./banner.js";
import { Composer } from "./composer.js";
import { fill } from "./controls.js";
import { Conversation } from "./conversation.js";
import { ConversationList } from "./conversation_list.js";
import { DocumentPanel } from "./document_panel.js";
import { Header } from "./header.js";
import { Inside } from "./inside.js";
import { PassagePanel } from "./passage_panel.js";
import { formatRoute, readRoute } from "./route.js";
import { Side } from "./side.js";
import { Thread } from "./thread.js";
import { Welcome } from "./welcome.js";

class Page {
  constructor() {
    this.inProgress = new Map(); // place -> thread in which an answer is being written
    // Other windows: the ids of conversations that have changed
    this.others = new BroadcastChannel("convrag");
    this.others.onmessage = ({ data }) => {
      if (this.thread?.ids.some((id) => data.includes(id))) this.takeUp();
      this.list.refresh();
    };
    this.list = new ConversationList();
    this.side = new Side(this.list.element);
    this.document = new DocumentPanel();
    this.panel = new PassagePanel((source, id, spans) => this.document.open(source, id, spans));
    this.inside = new Inside();
    this.composer = new Composer(
      (question) => this.ask(question),
      () => this.thread?.stop(),
    );
    this.banner = new Banner(() => this.handleBack());
    this.main = make(
      "main",
      { id: "main", tabindex: "-1" },
      make("p", { class: "empty" }, "Loading …"),
    );
    this.header = new Header({
      openSide: () => this.side.open(),
      compare: (conversation) => this.compare(conversation),
      stop: () => this.thread?.stop(),
      changed: () => this.show(),
      deleted: () => this.go([]),
      failed: (error) => this.report(error),
    });
    const middle = make(
      "div",
      { class: "middle" },
      this.header.element,
      this.banner.element,
      this.main,
      this.composer.element,
    );
    document.body.append(
      this.side.element,
      middle,
      this.panel.element,
      this.side.drawer,
      this.inside.element,
      this.document.element,
    );
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // the address says which conversation is shown
      this.main.focus();
    });
    addEventListener("hashchange", () => this.show());
    addEventListener("focus", () => this.takeUp());
    addEventListener("keydown", ({ key }) => {
      if (key === "Escape" && !document.querySelector("dialog[open]")) this.thread?.stop();
    });
  }

  /** Goes to another place. */
  go(ids) {
    history.pushState(null, "", formatRoute(ids));
    return this.show();
  }

  /** Shows what the address names. A turn in progress elsewhere goes on. */
  async show() {
    const ids = readRoute();
    this.place = formatRoute(ids);
    this.panel.close();
    this.list.refresh();
    this.list.mark(ids);
    try {
      // The documents may have been read again
      if (!ids.length || !this.models) this.models = await listModels();
      this.header.comparable = this.models.length > 1;
      if (!ids.length) this.showWelcome();
      else if (this.inProgress.has(this.place)) this.showThread(this.inProgress.get(this.place));
      else await this.readConversations(ids);
    } catch (error) {
      this.report(error);
    }
  }

  /** Shows what another window has asked in the conversations that are shown here. */
  async takeUp() {
    const { thread } = this;
    if (!thread?.ids.length || thread.running) return;
    const read = await Promise.all(thread.ids.map((id) => Conversation.read(id))).catch(() => []);
    const newest = ({ inProgress, records }) =>
      JSON.stringify([inProgress, records.length, records.at(-1)?.agent_response]);
    const changed = read.some((each, at) => newest(each) !== newest(thread.conversations[at]));
    if (changed && thread === this.thread && !thread.running) this.show();
  }

  async readConversations(ids) {
    const place = this.place;
    const conversations = await Promise.all(ids.map((id) => Conversation.read(id)));
    if (place !== this.place) return; // another place was chosen meanwhile
    this.showThread(this.makeThread(conversations));
    this.thread.takeUp();
    this.composer.focus();
  }

  makeThread(conversations) {
    return new Thread(conversations, {
      openPassage: (source, record, id) => this.panel.open(source, record, id),
      openInside: (record, earlier) => this.inside.open(record, earlier),
      ask: (question) => this.ask(question),
      asksModel: (id) => this.models.find((model) => model.id === id)?.llm !== "extractive",
      onChange: (thread) => this.handleChange(thread),
    });
  }

  showThread(thread) {
    this.welcome = null;
    this.thread = thread;
    const empty =
      !thread.rows.length && make("p", { class: "empty" }, "Nothing has been asked here yet.");
    fill(this.main, empty, thread.element);
    this.header.show(thread.conversations);
    this.composer.setRunning(thread.running);
    this.composer.setOpen(thread.conversations.every(({ info }) => info.open !== false));
    thread.scrollToEnd();
  }

  showWelcome() {
    this.thread = null;
    this.welcome = new Welcome(this.models, (question) => this.ask(question));
    fill(this.main, this.welcome.element);
    this.header.show([]);
    this.composer.setRunning(false);
    this.composer.setOpen(true);
    this.composer.focus();
  }

  /** Asks a question in the conversations that are shown; without any, in new ones. */
  ask(question) {
    if (!this.models || this.thread?.running) return;
    this.composer.focus(); // a suggestion that was chosen goes away
    this.banner.clear();
    if (!this.thread)
      this.showThread(this.makeThread(this.welcome.choice.map((info) => new Conversation(info))));
    this.main.querySelector(".empty")?.remove();
    this.thread.ask(question);
  }

  /** Shows in the address that an answer began or ended, or that a conversation has got its id. */
  handleChange(thread) {
    const place = formatRoute(thread.ids);
    if (!thread.running) {
      this.inProgress.delete(place);
      this.list.refresh();
    } else if (thread.ids.length) {
      this.inProgress.set(place, thread);
    }
    if (thread.ids.length) this.others.postMessage(thread.ids);
    if (thread !== this.thread) return;
    if (!thread.running && thread.stale) this.show();
    this.composer.setRunning(thread.running);
    this.header.show(thread.conversations);
    this.list.mark(thread.ids);
    if (place === this.place) return;
    this.place = place;
    history.pushState(null, "", place);
  }

  /** Offers the last question of a conversation for two configurations. */
  async compare({ info, records }) {
    await this.go([]);
    const first = this.models.find((model) => model.id === info.model) ?? this.models[0];
    const other = this.models.find((model) => model !== first);
    this.welcome.choose(first.id, info.domain, other.id);
    this.composer.input.value = records.at(-1)?.original_query ?? "";
  }

  handleBack() {
    this.list.refresh();
    if (!this.thread && !this.welcome) this.show();
  }

  report(error) {
    if (error instanceof ConnectionLost) return; // the banner says so already
    this.banner.show(error.message);
    if (error instanceof ApiError && error.status === 404) this.go([]);
  }
}

new Page().show();
