/** The server's own API (below /api). */

import { reportLost } from "./connection.js";
import { readEvents } from "./events.js";
import { askForToken, authorization } from "./token.js";

/**
 * The server refused a request, or a turn failed; a busy server (503) sets `retryAfter` (seconds).
 */
export class ApiError extends Error {
  constructor({ message, code }, status, retryAfter) {
    super(message);
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The server did not answer, or its reply broke off. */
export class ConnectionLost extends Error {}

const path = (id, rest = "") => `/api/conversations/${encodeURIComponent(id)}${rest}`;

/**
 * @returns {Promise<Array<{id: string, domains: string[], llm: string, examples?: string[], read:
 *     string}>>}
 */
export const listModels = async () => (await getJson("/api/models")).models;
export const listConversations = async (limit, offset) =>
  (await getJson(`/api/conversations?limit=${limit}&offset=${offset}`)).conversations;
export const readConversation = (id) => getJson(path(id));
export const createConversation = async (model, domain) =>
  (await request("POST", "/api/conversations", { model, domain })).json();
export const suggestQuestions = async (id, signal) =>
  (await (await request("POST", path(id, "/suggestions"), {}, signal)).json()).questions;
/** The sentences of an answer that its passages do not support: [start, end] in code points. */
export const checkSupport = async (id, turn) =>
  (await getJson(path(id, `/turns/${turn}/support`))).unsupported.map(({ start, end }) => [
    start,
    end,
  ]);
/** Sends feedback on an answer: {helpful, comment?, answer?, wrong?: ids of passages}. */
export const sendFeedback = (id, turn, feedback) =>
  request("POST", path(id, `/turns/${turn}/feedback`), feedback);
/**
 * The document of a passage, with the passage's place in it. Raises ApiError (404) if it is gone.
 */
export const readDocument = (id, passage) =>
  getJson(path(id, `/document?passage=${encodeURIComponent(passage)}`));
/** Ends the turn in progress, and waits for its end. Closing its events ends no turn. */
export const stopTurn = (id) => request("POST", path(id, "/stop"), {});
export const resetConversation = (id) => request("POST", path(id, "/reset"), {});
export const deleteConversation = (id) => request("DELETE", path(id));

/** Reads the export of a conversation: its file name and its content. */
export async function exportConversation(id, format) {
  const reply = await request("GET", path(id, `/export?format=${format}`));
  const [, name] = /filename="?([^";]+)/.exec(reply.headers.get("Content-Disposition") ?? "") ?? [];
  return {
    name: name ?? `conversation.${format === "json" ? "json" : "md"}`,
    content: await reply.blob(),
  };
}

/**
 * Runs a turn, and yields the server's events: stage, piece, and at the end record. Raises ApiError
 * where the server reports an error, ConnectionLost where the events end early, and AbortError
 * where the signal ends the reading.
 * @param {string} id of the conversation
 * @param {{question?: string, query?: string, again?: boolean, follow?: boolean}} turn `again`
 *     answers the last question anew; `follow` begins none, and takes up the one in progress, whose
 *     events all come
 * @param {AbortSignal} signal
 */
export async function* streamTurn(id, { question, query, again = false, follow = false }, signal) {
  const body = again ? { query } : { question, query };
  const reply = follow
    ? await request("GET", path(id, "/turns"), undefined, signal)
    : await request("POST", path(id, again ? "/regenerate" : "/turns"), body, signal);
  try {
    for await (const { event, data } of readEvents(reply.body)) {
      if (event === "error") throw new ApiError(data.error, reply.status);
      yield { event, data };
      if (event === "record") return;
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    throw reportedLoss();
  }
  throw reportedLoss();
}

async function getJson(address) {
  return (await request("GET", address)).json();
}

async function request(method, address, body, signal) {
  const known = authorization();
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  let reply;
  try {
    reply = await fetch(address, {
      method,
      headers: { ...known, ...json },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    throw signal?.aborted ? error : reportedLoss();
  }
  if (reply.status === 401) {
    await askForToken(known.Authorization);
    return request(method, address, body, signal);
  }
  if (!reply.ok) throw await readError(reply);
  return reply;
}

function reportedLoss() {
  reportLost();
  return new ConnectionLost("The connection to the server was lost.");
}

async function readError(reply) {
  const message = `The server replied ${reply.status}.`;
  const error = await reply.json().then(
    (body) => body.error ?? { message },
    () => ({ message }),
  );
  const wait = Number(reply.headers.get("Retry-After"));
  return new ApiError(
    error,
    reply.status,
    reply.status === 503 ? Math.min(Math.max(wait || 2, 1), 60) : undefined,
  );
}
