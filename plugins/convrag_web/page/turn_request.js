/** Runs a turn, and asks again where the server is busy. */

import { ApiError, streamTurn } from "./api.js";

const ATTEMPTS = 10;

/**
 * Yields what `streamTurn` does, {event: "begun"} when a new conversation has its id, and {event:
 * "busy", data: seconds} each second while a busy server is waited for. Raises as `streamTurn`
 * does.
 */
export async function* runTurn(conversation, turn, signal) {
  if (!conversation.begun) {
    await conversation.begin();
    yield { event: "begun" };
  }
  for (let attempt = 1; ; attempt++) {
    try {
      yield* streamTurn(conversation.info.id, turn, signal);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.retryAfter || attempt === ATTEMPTS) throw error;
      for (let left = error.retryAfter; left > 0; left--) {
        yield { event: "busy", data: left };
        await pause(1000, signal);
      }
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
