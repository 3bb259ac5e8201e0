/** One conversation: its configuration and the records of its turns. */

import { createConversation, readConversation } from "./api.js";

export class Conversation {
  /**
   * @param {{id?: string, title?: string, model: string, domain: string}} info without an id it is
   *     not begun yet
   * @param {Object[]} records
   * @param {string|null} inProgress the question of the turn that the server takes; empty where it
   *     is the last one, again
   */
  constructor(info, records = [], inProgress = null) {
    this.info = info;
    this.records = records;
    this.inProgress = inProgress;
    this.firstQuestion = ""; // stands for a title until the server gives one
  }

  /** Reads a conversation from the server. Raises ApiError (404) if there is none. */
  static async read(id) {
    const { records, in_progress: inProgress, helpful, ...info } = await readConversation(id);
    for (const record of records) record.helpful = helpful[record.turn_id];
    return new Conversation(info, records, inProgress);
  }

  /** The turns that are kept, and that in progress. */
  get turns() {
    return this.inProgress ? [...this.records, { original_query: this.inProgress }] : this.records;
  }

  /** Whether the turn at this place is in progress. */
  awaits(place) {
    return this.inProgress !== null && place === this.turns.length - 1;
  }

  /** Begins the conversation on the server with its first question, so that none is empty. */
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
    return (
      this.info.title || this.turns[0]?.original_query || this.firstQuestion || "New conversation"
    );
  }

  /** Reads the turns anew, after the connection was lost in the middle of one. */
  async refresh() {
    if (!this.begun) return;
    const { records, inProgress } = await Conversation.read(this.info.id);
    Object.assign(this, { records, inProgress });
  }
}
