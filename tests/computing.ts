/** The processor time of this process for some work, in ms, which does not depend on the load of the machine. */
export function computing(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
