import { rm } from "node:fs/promises";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";

/** `node build.config.ts [folder]`: where the bundle goes. */
const OUT = process.argv[2] ?? "dist";

const shared: BuildOptions = {
  bundle: true,
  format: "esm",
  platform: "node",
  outdir: OUT,
  outbase: "src",
  sourcemap: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "warning",
};

await rm(OUT, { recursive: true, force: true });

await build({
  ...shared,
  entryPoints: [
    "src/cli.ts",
    "src/index.ts",
    "src/commands/program.ts",
    "src/crew/playbook.ts",
    "src/crew/shell.ts",
    "src/crew/survey.ts",
  ],
  target: "node22.14",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  // The first holds machine code that is found beside its own files; the second is CommonJS, and of that a bundle's `import()`
  // finds no names.
  external: ["better-sqlite3", "ajv/dist/2020.js"],
  // So is yaml, but it comes in another form, too.
  alias: { yaml: join(import.meta.dirname, "node_modules/yaml/browser/index.js") },
});

// Apart, in the syntax of an old Node, and without pulling anything in: it only looks which Node this is.
await build({
  ...shared,
  entryPoints: ["src/bin.ts"],
  target: "node12",
  // Since 12.17, the oldest that can load an ES module without a flag.
  supported: { "dynamic-import": true },
  external: ["./cli.js", "./commands/program.js"],
  banner: { js: "#!/usr/bin/env node" },
});
