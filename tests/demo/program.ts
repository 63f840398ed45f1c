import { CATALOGUE, type CommandEntry } from "../../src/commands/catalogue.ts";

/** The whole program, with `demo` in it whether the catalogue of this build lists it or not. */
if (!CATALOGUE.some(({ name }) => name === "demo")) {
  const demo = { group: "Crew:", name: "demo", summary: "", load: () => import("../../src/commands/demo.ts") };
  (CATALOGUE as CommandEntry[]).push(demo);
}
await import("../../src/cli.ts");
