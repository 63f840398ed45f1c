import { basename, extname } from "node:path";
import type { Repository } from "./repository.ts";

const SOURCE_EXTENSIONS = new Set(
  (
    ".astro .bash .c .cc .clj .cljs .cpp .cs .css .cts .cxx .dart .elm .erl .ex .exs .fs .go .graphql .groovy .h .hh .hpp .hs .html .java .jl " +
    ".js .jsx .kt .kts .less .lua .m .ml .mjs .cjs .mm .mts .nim .php .pl .pm .prisma .proto .ps1 .py .r .rb .rs .sass .scala .scss .sh .sol " +
    ".sql .svelte .swift .tf .ts .tsx .vue .zig .zsh"
  ).split(" "),
);

const FOREIGN =
  /(?:^|\/)(?:node_modules|bower_components|vendor|third[_-]party|dist|build|out|target|generated|__generated__|\.yarn|coverage)\//;
const GENERATED_NAME = /(?:\.min\.(?:js|css)|\.(?:generated|g|pb)\.[a-z]+|_pb2(?:_grpc)?\.py|\.d\.ts|\.bundle\.js)$/;
const GENERATED_HEADER = /@generated|\bDO NOT EDIT\b|\b(?:auto-?|code )generated\b/i;
const HEADER_CHARACTERS = 500;

const TEST_FOLDER = /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testing|test-d|src\/test)\//i;
const TEST_NAME =
  /(?:^(?:tests?|specs?)\.[a-z]+$)|(?:[._-](?:test|spec|e2e|bench)s?\.[A-Za-z]+$)|(?:^test_[^/]*\.py$)|(?:_(?:test|spec)\.[a-z]+$)|(?:(?:Test|Tests|Spec|IT)\.(?:java|kt|cs|scala|swift|php)$)/;

/** Whether a file is code, by its extension. */
export function isSource(path: string): boolean {
  return SOURCE_EXTENSIONS.has(extname(path).toLowerCase());
}

const WITHOUT_BEHAVIOUR = /(?:\.(?:css|scss|sass|less|html|sql|graphql|proto|prisma|tf|rs)|[.-]config\.[a-z]+)$/;

/** Whether a source file is expected to have a test elsewhere. Styles, schemas and configuration are not, nor is Rust, which has its tests inside. */
export function isTestable(path: string): boolean {
  return !WITHOUT_BEHAVIOUR.test(path);
}

/** Whether a file is test code, by its folder or its name. */
export function isTest(path: string): boolean {
  return TEST_FOLDER.test(path) || TEST_NAME.test(basename(path));
}

/** Whether the first lines of a file say that a program wrote it. */
export function saysGenerated(text: string): boolean {
  return GENERATED_HEADER.test(text.slice(0, HEADER_CHARACTERS));
}

/** The repository's own source files: no tests, and nothing generated or vendored according to its name. */
export function ownSourceFiles({ files }: Repository): string[] {
  return files.filter((path) => isSource(path) && !isTest(path) && !FOREIGN.test(path) && !GENERATED_NAME.test(path));
}
