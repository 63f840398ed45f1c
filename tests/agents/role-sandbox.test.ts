import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { programsInside, strictestSandbox } from "../../src/agents/isolation/role-sandbox.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { scratchDirectory } from "./scratch.ts";

const PLACE = { workspace: "/w", artifacts_dir: "/a" };
const worker = (role_id: string, more: Partial<Role>): Role => ({ role_id, type: "worker", ...more });
const GIT = { permissions: { commands: ["git commit"] } };

describe("the sandbox of several roles", () => {
  test("is the strictest of them, and none where none has one", () => {
    const [none, files, offline] = [
      worker("n", { sandbox: "none" }),
      worker("f", { sandbox: "files" }),
      worker("o", { sandbox: "offline" }),
    ];
    expect(strictestSandbox([none, worker("x", {})], PLACE)).toBeUndefined();
    expect(strictestSandbox([], PLACE)).toBeUndefined();
    expect(strictestSandbox([files, none], PLACE)).toMatchObject({ level: "files", required: true });
    expect(strictestSandbox([offline, files], PLACE)).toMatchObject({ level: "offline" });
  });

  test("closes what is closed to any of them", () => {
    const closed = {
      owned: [
        { path: "/w/f.sh", role_id: "f" },
        { path: "/w/notify", role_id: "user" },
      ],
      git: ["/w/.bare"],
    };
    const files = worker("f", { sandbox: "files", ...GIT });
    const unwritable = (...roles: readonly Role[]) => strictestSandbox(roles, PLACE, closed)?.paths?.unwritable;
    expect(unwritable(files)).toEqual(["/w/.bosun", "/w/notify"]);
    expect(unwritable(files, worker("other", GIT))).toEqual(["/w/.bosun", "/w/f.sh", "/w/notify"]);
    expect(unwritable(files, worker("other", {}))).toEqual([
      "/w/.git",
      "/w/.bare",
      "/w/.bosun",
      "/w/f.sh",
      "/w/notify",
    ]);
    expect(unwritable(worker("f", { sandbox: "files", permissions: { commands: ["github"] } }))).toContain("/w/.git");
  });
});

test("the programs in a workspace are files that commands name, or that the PATH has there", async () => {
  const workspace = scratchDirectory();
  const elsewhere = scratchDirectory();
  await mkdir(join(workspace, "bin"));
  for (const name of ["own.py", "bin/tool"]) await writeFile(join(workspace, name), "#!/bin/sh\n");
  await chmod(join(workspace, "bin/tool"), 0o755);
  await symlink(join(workspace, "own.py"), join(elsewhere, "link.py"));
  const found = (cli_command: string[], more: Partial<Role> = {}) =>
    programsInside([worker("w", { cli_command, ...more })], workspace, "/usr/bin:/bin").map(({ path }) => path);
  expect(found(["python3", "own.py", ".", "bin", "missing", "a".repeat(5_000), "/etc/passwd"])).toEqual([
    join(workspace, "own.py"),
  ]);
  expect(found(["tool"], { env: { PATH: join(workspace, "bin") } })).toEqual([join(workspace, "bin/tool")]);
  expect(found(["sh", join(elsewhere, "link.py")])).toEqual([join(elsewhere, "link.py")]);
});
