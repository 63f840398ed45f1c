import { readdirSync } from "node:fs";

const tests = new URL("tests/", import.meta.url);
for (const name of readdirSync(tests)) {
  await import(new URL(name, tests));
  console.log(`ok ${name}`);
}
