import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions, type OutputOptions } from "rolldown";

/** The output folder: `node build.config.ts [folder]`. */
const OUT = process.argv[2] ?? "dist";

const shared: BuildOptions = {
  platform: "node",
  // React measures and warns in its development build.
  transform: {
    target: "node22.14",
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", development: false },
  },
  // The first finds its native code beside its own files; the second is needed only for a user's schemas.
  // The third is a tool for developers of Ink, which is not installed.
  external: ["better-sqlite3", "ajv/dist/2020.js", "react-devtools-core"],
  // The Node build of yaml is CommonJS, whose names a bundle's `import()` does not see.
  resolve: { alias: { yaml: join(import.meta.dirname, "node_modules/yaml/browser/index.js") } },
};

const output: OutputOptions = {
  dir: OUT,
  format: "esm",
  // Keep names, so that stack traces stay readable.
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
    // Finding and linking a module takes longer than reading a small one, so everything that short commands need is one chunk.
    // `cli.ts` stays out of it: it awaits the chunk, which would await it.
    codeSplitting: { groups: [{ name: "base", test: /src\/commands\/(main|status|inbox)\.ts$/ }] },
  },
});

// A separate bundle: a library does not load the command line.
await build({
  ...shared,
  input: { index: "src/index.ts", kit: "src/kit.ts", "commands/context/program": "src/commands/context/program.ts" },
  output,
});

// A separate bundle: the harness is a library of its own, which loads nothing of the scheduler.
await build({ ...shared, input: { "harness/index": "src/harness/index.ts" }, output });

// A separate bundle with only the validators that the crew calls: an agent starts anew for every turn. Each validator sets a property
// of its function, which would keep them all.
await build({
  ...shared,
  treeshake: { propertyWriteSideEffects: false },
  input: {
    "crew/demo": "src/crew/demo.ts",
    "crew/playbook": "src/crew/playbook.ts",
    "crew/shell": "src/crew/shell.ts",
  },
  output,
});

// A separate bundle in the syntax of an old Node, without imports: it only checks the Node version.
await build({
  ...shared,
  input: { bin: "src/bin.ts" },
  // 12.17 is the oldest Node that loads ES modules without a flag.
  transform: { target: "node12.17" },
  external: ["./cli.js", "./commands/context/program.js"],
  output: { ...output, banner: "#!/usr/bin/env node" },
});

// The script of a report's page, for browsers, in one file: the page holds its text, and its policy names its digest.
const page = "src/ui/report/html/browser";
await build({
  platform: "browser",
  transform: { target: "es2022" },
  input: { "report/page": `${page}/main.ts` },
  output: { dir: OUT, format: "iife", minify: true, comments: false, entryFileNames: "[name].js" },
});
copyFileSync(join(page, "page.css"), join(OUT, "report", "page.css"));
