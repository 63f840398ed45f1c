import { join } from "node:path";
import { build } from "rolldown";

// `node bundle.ts FILE`: makes one JavaScript file of the measured work.
await build({
  input: join(import.meta.dirname, "work.ts"),
  platform: "node",
  external: ["better-sqlite3"],
  output: { file: process.argv[2] ?? "", codeSplitting: false },
});
