/** How long this process computes for some work, in ms. What else the machine does meanwhile does not count, as it would by the clock. */
export function computing(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
