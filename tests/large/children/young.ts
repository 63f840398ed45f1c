/** Starts so many programs, fills the heap, and prints the size of the heap's young generation in bytes. */
import { getHeapSpaceStatistics } from "node:v8";
import { start } from "../../../src/agents/launch.ts";

for (let count = Number(process.argv[2]); count > 0; count--) {
  const started = await start({ command: ["true"], directory: ".", environment: { PATH: process.env["PATH"] ?? "" } });
  if (!started.ok) throw new Error(started.error.message);
  started.value.destroyPipes();
  await started.value.exited;
}
const kept: { readonly index: number }[] = [];
for (let index = 0; index < 2_000_000; index++) kept.push({ index });
const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
console.log(young?.space_size);
