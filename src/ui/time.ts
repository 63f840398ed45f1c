/** The time of day here, `20:31:02.118`: what people read beside each other. Records keep whole instants in UTC. */
export function localTime(at: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const milliseconds = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${milliseconds}`;
}
