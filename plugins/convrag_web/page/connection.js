/** Whether the server answers: after a failed request it is asked every few seconds until it does again. */

const LONGEST_PAUSE = 30; // seconds

/** Fires "lost" once when the server stops answering, and "back" when it answers again. */
export const connection = new EventTarget();
let lost = false;

/** Says that a request found no server. */
export function reportLost() {
  if (lost) return;
  lost = true;
  connection.dispatchEvent(new Event("lost"));
  askUntilBack(2);
}

function askUntilBack(pause) {
  setTimeout(async () => {
    if (await isThere()) {
      lost = false;
      connection.dispatchEvent(new Event("back"));
    } else {
      askUntilBack(Math.min(pause * 2, LONGEST_PAUSE));
    }
  }, pause * 1000);
}

async function isThere() {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
