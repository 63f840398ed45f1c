import { join } from "node:path";
import { build, type BuildOptions, type OutputOptions } from "rolldown";

/** `node build.config.ts [folder]`: where the bundle goes. */
const OUT = process.argv[2] ?? "dist";

const shared: BuildOptions = {
  platform: "node",
  transform: { target: "node22.14" },
  // The first holds machine code that is found beside its own files; the second is wanted only for schemas that a user wrote.
  external: ["better-sqlite3", "ajv/dist/2020.js"],
  // Its form for Node is CommonJS, and of that a bundle's `import()` finds no names.
  resolve: { alias: { yaml: join(import.meta.dirname, "node_modules/yaml/browser/index.js") } },
};

const output: OutputOptions = {
  dir: OUT,
  format: "esm",
  // Names are kept, so that a bug's trace can be read.
  minify: { compress: true, mangle: false, codegen: true },
  comments: false,
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
};

await build({
  ...shared,
  input: { cli: "src/cli.ts" },
  output: {
    ...output,
    cleanDir: true,
    // To find and link a module takes longer than to read a small one, so what every command needs is one, and with it what the
    // shortest need: as many as sharing would make took half as long again. Not with `cli.ts`, which awaits the others while they
    // would await it.
    codeSplitting: { groups: [{ name: "base", test: /src\/commands\/(main|status|inbox)\.ts$/ }] },
  },
});

// Apart, so that a library or an agent does not load what a command line needs.
await build({
  ...shared,
  input: {
    index: "src/index.ts",
    "commands/context/program": "src/commands/context/program.ts",
    "crew/playbook": "src/crew/playbook.ts",
    "crew/shell": "src/crew/shell.ts",
    "crew/survey": "src/crew/survey.ts",
  },
  output,
});

// Apart, in the syntax of an old Node, and without pulling anything in: it only looks which Node this is.
await build({
  ...shared,
  input: { bin: "src/bin.ts" },
  // Since 12.17, the oldest that can load an ES module without a flag.
  transform: { target: "node12.17" },
  external: ["./cli.js", "./commands/context/program.js"],
  output: { ...output, banner: "#!/usr/bin/env node" },
});
