import { join } from "node:path";
import { build } from "rolldown";

// `node bundle.ts FILE`: bundles the measured work into one JavaScript file.
await build({
  input: join(import.meta.dirname, "work.ts"),
  platform: "node",
  external: ["better-sqlite3"],
  // In one file, what Ink would load only for its developers is loaded at once.
  plugins: [
    {
      name: "no-devtools",
      resolveId: (id) => (id === "react-devtools-core" ? id : undefined),
      load: (id) => (id === "react-devtools-core" ? "export default {}" : undefined),
    },
  ],
  transform: { define: { "process.env.NODE_ENV": '"production"' }, jsx: { runtime: "automatic", development: false } },
  output: { file: process.argv[2] ?? "", codeSplitting: false },
});
