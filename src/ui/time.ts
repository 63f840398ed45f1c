const two = (value: number) => String(value).padStart(2, "0");

/** The time of day here, `20:31:02.118`: what people read beside each other. Records keep whole instants in UTC. */
export function localTime(at: Date): string {
  const milliseconds = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${milliseconds}`;
}

/** A moment for people, in the time of day here: `20:31:02`, and with its date, `2026-01-31 20:31`, on another day than `now`. */
export function localMoment(at: Date, now: Date): string {
  const time = localTime(at);
  if (at.toDateString() === now.toDateString()) return time.slice(0, 8);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time.slice(0, 5)}`;
}
