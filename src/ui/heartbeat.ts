/** A session that says nothing for so long shows that it lives, in ms; an automatic build kills what is silent. */
const HEARTBEAT_MS = 30_000;

/** Calls `beat` whenever it was not refreshed for so long. It keeps no process alive. */
export function startHeartbeat(beat: () => void): NodeJS.Timeout {
  return setInterval(beat, HEARTBEAT_MS).unref();
}
