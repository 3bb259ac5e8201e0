/** The page: puts the parts together, and shows the conversations that the address names. */

import { make } from "../view/dom.js";
import { ApiError, ConnectionLost, listModels } from "./api.js";
import { Banner } from "./banner.js";
import { Composer } from "./composer.js";
import { fill } from "./controls.js";
import { Conversation } from "./conversation.js";
import { ConversationList } from "./conversation_list.js";
import { Header } from "./header.js";
import { Inside } from "./inside.js";
import { PassagePanel } from "./passage_panel.js";
import { formatRoute, readRoute } from "./route.js";
import { Side } from "./side.js";
import { Thread } from "./thread.js";
import { Welcome } from "./welcome.js";

class Page {
  constructor() {
    this.list = new ConversationList();
    this.side = new Side(this.list.element);
    this.panel = new PassagePanel();
    this.inside = new Inside();
    this.composer = new Composer((question) => this.ask(question), () => this.thread?.stop());
    this.banner = new Banner(() => this.handleBack());
    this.main = make("main", { id: "main", tabindex: "-1" });
    this.header = new Header({
      openSide: () => this.side.open(),
      compare: (conversation) => this.compare(conversation),
      changed: () => this.show(),
      deleted: () => this.go([]),
      failed: (error) => this.report(error),
    });
    const middle = make("div", { class: "middle" }, this.header.element, this.banner.element, this.main, this.composer.element);
    document.body.append(this.side.element, middle, this.panel.element, this.side.drawer, this.inside.element);
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // the address says which conversation is shown
      this.main.focus();
    });
    addEventListener("hashchange", () => this.show());
    addEventListener("popstate", () => this.show());
  }

  /** Goes to another place. */
  go(ids) {
    history.pushState(null, "", formatRoute(ids));
    return this.show();
  }

  /** Shows what the address names. */
  async show() {
    const ids = readRoute();
    if (this.shown === formatRoute(ids) && this.thread?.running) return; // both events tell of the same change
    this.shown = formatRoute(ids);
    this.thread?.stop();
    this.panel.close();
    this.list.refresh();
    this.list.mark(ids);
    try {
      this.models ??= await listModels();
      if (ids.length) await this.showConversations(ids);
      else this.showWelcome();
    } catch (error) {
      this.report(error);
    }
  }

  async showConversations(ids) {
    const place = this.shown;
    const conversations = await Promise.all(ids.map((id) => Conversation.read(id)));
    if (place !== this.shown) return; // another one was chosen meanwhile
    this.welcome = null;
    this.openThread(conversations);
    this.thread.scrollToEnd();
    if (!this.thread.rows.length) this.sayEmpty();
    this.composer.focus();
  }

  openThread(conversations) {
    this.thread = new Thread(conversations, {
      openPassage: (source, record) => this.panel.open(source, record),
      openInside: (record) => this.inside.open(record),
      ask: (question) => this.ask(question),
      onChange: () => this.handleChange(),
    });
    fill(this.main, this.thread.element);
    this.header.show(conversations);
    this.composer.setRunning(false);
  }

  showWelcome() {
    this.thread = null;
    this.welcome = new Welcome(this.models, (question) => this.ask(question));
    fill(this.main, this.welcome.element);
    this.header.show([]);
    this.composer.setRunning(false);
    this.composer.focus();
  }

  sayEmpty() {
    fill(this.main, make("p", { class: "empty" }, "Nothing has been asked here yet."), this.thread.element);
  }

  /** Asks a question in the conversations that are shown; without any, in new ones. */
  async ask(question) {
    if (!this.models || this.thread?.running) return;
    this.composer.focus(); // a suggestion that was chosen goes away
    this.main.querySelector(".empty")?.remove();
    if (!this.thread) {
      const conversations = this.welcome.choice.map((info) => new Conversation(info));
      this.openThread(conversations);
      this.thread.ask(question);
      await this.nameNewConversations(conversations);
    } else {
      this.thread.ask(question);
    }
  }

  /** Puts new conversations into the address as soon as the server has named them, so that a reload goes on here. */
  async nameNewConversations(conversations) {
    const thread = this.thread;
    const begun = await Promise.allSettled(conversations.map((each) => each.begin()));
    if (this.thread !== thread || begun.some((each) => each.status === "rejected")) return;
    this.shown = formatRoute(conversations.map((each) => each.info.id));
    history.pushState(null, "", this.shown);
    this.handleChange();
  }

  /** A turn began or has ended. */
  handleChange() {
    const { conversations, running } = this.thread;
    this.composer.setRunning(running);
    this.header.show(conversations);
    this.list.mark(conversations.map((each) => each.info.id));
    if (!running) this.list.refresh();
  }

  /** Offers the last question of a conversation for two configurations. */
  async compare({ info, records }) {
    await this.go([]);
    const other = this.models.find((model) => model.id !== info.model);
    this.welcome.choose(info.model, info.domain, other.id);
    this.composer.input.value = records.at(-1)?.original_query ?? "";
  }

  handleBack() {
    if (!this.thread?.running) this.list.refresh();
    if (!this.thread && !this.welcome) this.show();
  }

  report(error) {
    if (error instanceof ConnectionLost) return; // the banner says so already
    this.banner.show(error.message);
    if (error instanceof ApiError && error.status === 404) this.go([]);
  }
}

new Page().show();
