import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { Bench } from "../crew/bench.ts";
import { cleanUp } from "../crew/programs.ts";

afterEach(cleanUp);

it("a survey of 20,000 files finishes in time", async () => {
  const bench = new Bench();
  const many = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`src/d${index % 200}/f${index}.ts`, "x\n"]),
  );
  bench.repository.write(many);
  bench.repository.commit("many");
  const began = performance.now();
  expect(await bench.items("hot-spots", ["--top=3"])).toHaveLength(3);
  await bench.items("links");
  await bench.survey(["untested", "--from", join(bench.artifacts, "hot-spots.json")]);
  expect(performance.now() - began).toBeLessThan(40_000);
});
