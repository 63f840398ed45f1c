/** The rules that make a price, in this order. Each is a file in rules/, and takes and gives cents. */
export const RULES = [];

const rules = await Promise.all(RULES.map((name) => import(`./rules/${name}.mjs`)));

export function price(cents) {
  return rules.reduce((before, { rule }) => rule(before), cents);
}
