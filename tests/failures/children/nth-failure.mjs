// Loaded before the program (`node --import`). Counts every call of this process that changes storage, where JavaScript hands it
// over: node:fs in its three forms, and better-sqlite3. Makes one of them fail as a full, broken or read-only disk does.
//
//   FAILURES_REPORT  a file that gets the list of calls when the process ends
//   FAILURES_AT      which call fails; none without it
//   FAILURES_AS      full | broken | read_only: what it fails with
//   FAILURES_HOW     before: nothing of it happened; half: half of the bytes were written; after: all of it happened;
//                    ever: nothing of it happened, nor of any later one
//   FAILURES_OF      a pattern: only calls that fit are counted; all without it
//   FAILURES_STATFS  the number that every file system gives as its type
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";

const require = createRequire(import.meta.url);
const Database = require("better-sqlite3");
const { writeFileSync } = fs;

const {
  FAILURES_REPORT,
  FAILURES_AT,
  FAILURES_AS = "full",
  FAILURES_HOW = "before",
  FAILURES_OF = "",
  FAILURES_STATFS,
} = process.env;
const at = Number(FAILURES_AT ?? 0);
const counted = new RegExp(FAILURES_OF);

const SYSTEM = { full: ["ENOSPC", -28], broken: ["EIO", -5], read_only: ["EROFS", -30] };
const SQLITE = {
  full: ["SQLITE_FULL", "database or disk is full"],
  broken: ["SQLITE_IOERR_WRITE", "disk I/O error"],
  read_only: ["SQLITE_READONLY", "attempt to write a readonly database"],
};

const calls = [];
let count = 0;
let depth = 0;

/** Whether the call that is about to be made is to fail. */
function isDue(kind, what) {
  if (depth > 0) return false;
  const site = new Error().stack
    .split("\n")
    .slice(1)
    .find((line) => !line.includes("nth-failure.mjs") && !line.includes("node_modules/better-sqlite3"));
  calls.push({
    kind,
    what,
    site:
      site
        ?.trim()
        .replace(/^at /, "")
        .replace(/ ?\(?file:.*$/, "") ?? "",
  });
  if (!counted.test(`${kind} ${what}`)) return false;
  count += 1;
  return FAILURES_HOW === "ever" ? at > 0 && count >= at : count === at;
}

function within(work) {
  depth += 1;
  try {
    return work();
  } finally {
    depth -= 1;
  }
}

function systemError(syscall, path) {
  const [code, errno] = SYSTEM[FAILURES_AS];
  return Object.assign(new Error(`${code}: made to fail, ${syscall} '${path}'`), {
    errno,
    code,
    syscall,
    ...(typeof path === "string" ? { path } : {}),
  });
}

function sqliteError() {
  const [code, message] = SQLITE[FAILURES_AS];
  return new Database.SqliteError(message, code);
}

const nameOf = (what) => (typeof what === "string" ? what : what instanceof URL ? what.pathname : `fd ${String(what)}`);
const isWriting = (flags = "r") =>
  typeof flags === "number"
    ? (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0
    : /[wa+]/.test(flags);
const isOurs = (target) => (typeof target === "number" ? target > 2 : !String(target).startsWith("/dev/"));

/** The bytes of a write, first half of them. */
const half = (data) => (typeof data === "string" ? data.slice(0, data.length / 2) : data.subarray(0, data.length / 2));

const DATA = new Set(["writeFile", "appendFile", "write"]);

const METHODS = [
  "writeFile",
  "appendFile",
  "write",
  "writev",
  "open",
  "mkdir",
  "mkdtemp",
  "rename",
  "rm",
  "rmdir",
  "unlink",
  "truncate",
  "ftruncate",
  "fsync",
  "fdatasync",
  "link",
  "symlink",
  "copyFile",
  "cp",
  "chmod",
  "utimes",
];

const applies = (method, [target, flags]) => isOurs(target) && (method !== "open" || isWriting(flags));

/** Does what is left of a failing call, and gives its error. */
function failing(method, args, original) {
  if (FAILURES_HOW === "after") within(() => original(...args));
  if (FAILURES_HOW === "half" && DATA.has(method)) within(() => original(args[0], half(args[1]), ...args.slice(2)));
  return systemError(method, args[0]);
}

for (const method of METHODS) {
  const sync = fs[`${method}Sync`];
  if (sync) {
    fs[`${method}Sync`] = (...args) => {
      if (!applies(method, args) || !isDue(`fs.${method}`, nameOf(args[0]))) return within(() => sync(...args));
      throw failing(method, args, sync);
    };
  }
  const callback = fs[method];
  if (callback) {
    fs[method] = (...args) => {
      if (!applies(method, args) || !isDue(`fs.${method}`, nameOf(args[0]))) return within(() => callback(...args));
      const done = args.at(-1);
      process.nextTick(() => done(systemError(method, args[0])));
    };
  }
  const promise = fs.promises[method];
  if (promise) {
    fs.promises[method] = async (...args) => {
      if (!applies(method, args) || !isDue(`fs.${method}`, nameOf(args[0]))) return within(() => promise(...args));
      throw systemError(method, args[0]);
    };
  }
}
if (FAILURES_STATFS !== undefined) fs.statfsSync = () => ({ type: Number(FAILURES_STATFS) });
syncBuiltinESMExports();

function watch(prototype, method, nameOfCall) {
  const original = prototype[method];
  prototype[method] = function (...args) {
    if (!isDue(`sqlite.${method}`, nameOfCall(this, args))) return within(() => original.apply(this, args));
    if (FAILURES_HOW === "after") within(() => original.apply(this, args));
    throw sqliteError();
  };
}

const oneLine = (sql) => sql.replaceAll(/\s+/g, " ").trim().slice(0, 90);
const probe = new Database(":memory:");
const statements = Object.getPrototypeOf(probe.prepare("SELECT 1"));
probe.close();
for (const method of ["exec", "prepare", "pragma"]) watch(Database.prototype, method, (_, [sql]) => oneLine(sql));
for (const method of ["run", "get", "all", "iterate"]) watch(statements, method, ({ source }) => oneLine(source));

const addon = Object.values(require.cache).find(({ filename }) => /better-sqlite3.*\.node$/.test(filename))?.exports;
const Opened = addon.Database;
addon.Database = function (...args) {
  if (isDue("sqlite.open", args[0])) throw sqliteError();
  return within(() => new Opened(...args));
};

process.on("exit", () => {
  if (FAILURES_REPORT !== undefined) writeFileSync(FAILURES_REPORT, JSON.stringify(calls));
});
