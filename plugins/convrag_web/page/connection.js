/** Whether the server answers. After a failed request it is asked again every few seconds. */

const PAUSE = 3000; // milliseconds

/** Fires "lost" once when the server stops answering, and "back" when it answers again. */
export const connection = new EventTarget();
let lost = false;

/** Says that a request found no server. */
export function reportLost() {
  if (lost) return;
  lost = true;
  connection.dispatchEvent(new Event("lost"));
  setTimeout(askUntilBack, PAUSE);
}

async function askUntilBack() {
  if (await isThere()) {
    lost = false;
    connection.dispatchEvent(new Event("back"));
  } else {
    setTimeout(askUntilBack, PAUSE);
  }
}

async function isThere() {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
