/** Reads server-sent events from a reply: EventSource can neither POST nor send a token. */

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: any}>} the events, with their data parsed as JSON
 */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (unread + value).split(/\r?\n\r?\n/);
      unread = blocks.pop();
      yield* blocks.map(parseEvent).filter((event) => event !== null);
    }
  } finally {
    reader.cancel().catch(() => {}); // a stream that broke cannot be cancelled any more
  }
}

/** Parses "event: piece\ndata: {...}"; null for a comment such as ": ping". */
function parseEvent(block) {
  let event = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}
