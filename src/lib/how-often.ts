/** `once`, `3 times`. */
export function howOften(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
