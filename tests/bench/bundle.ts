import { join } from "node:path";
import { build } from "rolldown";

// `node bundle.ts FILE`: bundles the measured work into one JavaScript file.
await build({
  input: join(import.meta.dirname, "work.ts"),
  platform: "node",
  external: ["better-sqlite3"],
  output: { file: process.argv[2] ?? "", codeSplitting: false },
});
