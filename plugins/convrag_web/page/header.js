/** The head of the page: the conversation's title, and what can be done with it. */

import { make } from "../view/dom.js";
import { deleteConversation, exportConversation, resetConversation } from "./api.js";
import { button, fill } from "./controls.js";
import { confirmAction } from "./dialogs.js";

export class Header {
  /**
   * @param {{openSide: Function, compare: Function, stop: Function, changed: Function, deleted:
   *     Function, failed: Function}} actions
   *     compare: asks the last question in two configurations
   */
  constructor(actions) {
    this.actions = actions;
    this.comparable = false; // whether there are two configurations
    this.title = make("h1", {});
    this.meta = make("p", { class: "meta" });
    this.menu = make("div", { id: "actions", class: "menu", popover: "auto" });
    this.menu.addEventListener("click", () => this.menu.hidePopover());
    const more = {
      icon: "more",
      iconOnly: true,
      popovertarget: "actions",
      class: "button plain more",
    };
    this.more = button("Actions on this conversation", null, more);
    const menu = button("Conversations", actions.openSide, {
      icon: "menu",
      iconOnly: true,
      class: "button plain open-side",
    });
    this.element = make(
      "header",
      {},
      menu,
      make("div", { class: "titles" }, this.title, this.meta),
      this.more,
      this.menu,
    );
    this.show([]);
  }

  /**
   * @param {import("./conversation.js").Conversation[]} conversations none for a new conversation
   */
  show(conversations) {
    const names = conversations.map(({ info }) => [
      info.model,
      info.domain === "default" ? "" : `on ${info.domain}`,
    ]);
    const title = conversations[0]?.title ?? "New conversation";
    fill(this.title, title);
    fill(this.meta, names.map((each) => each.filter(Boolean).join(" ")).join(" and "));
    document.title = conversations.length ? `${title} · convrag` : "convrag";
    const begun = conversations.filter((each) => each.begun);
    this.more.hidden = !begun.length;
    fill(this.menu, ...this.makeItems(begun));
  }

  makeItems(conversations) {
    const one = conversations.length === 1;
    const exports = conversations.flatMap((each) => {
      const of = one ? "" : ` of ${each.info.model}`;
      return [
        button(`Export${of} as Markdown`, () => this.save(each, "markdown")),
        button(`Export${of} as JSON`, () => this.save(each, "json")),
      ];
    });
    return [
      one &&
        this.comparable &&
        button("Compare configurations", () => this.actions.compare(conversations[0])),
      ...exports,
      button(one ? "Remove all turns" : "Remove all turns of both", () =>
        this.reset(conversations),
      ),
      button(
        one ? "Delete conversation" : "Delete both conversations",
        () => this.delete(conversations),
        { class: "button danger" },
      ),
    ];
  }

  async save(conversation, format) {
    await this.attempt(async () => {
      const { name, content } = await exportConversation(conversation.info.id, format);
      const address = URL.createObjectURL(content);
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    });
  }

  async reset(conversations) {
    const text = "The conversation stays, with its configuration, and begins anew.";
    if (!(await confirmAction({ title: "Remove all turns?", text, action: "Remove" }))) return;
    this.actions.stop();
    await this.attempt(async () => {
      await Promise.all(conversations.map(({ info }) => resetConversation(info.id)));
      this.actions.changed();
    });
  }

  async delete(conversations) {
    const title =
      conversations.length > 1 ? "Delete both conversations?" : "Delete this conversation?";
    const text = `“${conversations[0].title}” is removed for good.`;
    if (!(await confirmAction({ title, text, action: "Delete" }))) return;
    this.actions.stop();
    await this.attempt(async () => {
      await Promise.all(conversations.map(({ info }) => deleteConversation(info.id)));
      this.actions.deleted();
    });
  }

  async attempt(action) {
    try {
      await action();
    } catch (error) {
      this.actions.failed(error);
    }
  }
}
