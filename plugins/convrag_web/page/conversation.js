/** One conversation: its configuration and the records of its turns. */

import { createConversation, readConversation } from "./api.js";

export class Conversation {
  /**
   * @param {{id?: string, title?: string, model: string, domain: string}} info without an id it is not begun yet
   * @param {Object[]} records
   */
  constructor(info, records = []) {
    this.info = info;
    this.records = records;
    this.firstQuestion = ""; // stands for a title until the server gives one
  }

  /** Reads a conversation from the server. Raises ApiError (404) where there is none with this id. */
  static async read(id) {
    const { records, ...info } = await readConversation(id);
    return new Conversation(info, records);
  }

  /** Begins the conversation on the server with its first question; so none is kept that has no question. */
  async begin() {
    if (this.begun) return;
    this.beginning ??= createConversation(this.info.model, this.info.domain);
    try {
      this.info = { ...this.info, ...(await this.beginning) };
    } finally {
      this.beginning = null;
    }
  }

  get begun() {
    return Boolean(this.info.id);
  }

  get title() {
    return this.info.title || this.records[0]?.original_query || this.firstQuestion || "New conversation";
  }

  /** Reads the turns anew, after the connection was lost in the middle of one. */
  async refresh() {
    if (this.begun) this.records = (await Conversation.read(this.info.id)).records;
  }
}
