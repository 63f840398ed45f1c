import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import type { Isolation, SandboxLevel } from "../../src/agents/launcher.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { scratchDirectory } from "./scratch.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const hasFiles = (await sandboxMechanism("files", PATH)).ok;
/** A folder in /run that the user of the tests can write to. */
const ownRun = ["/run", `/run/user/${process.getuid?.()}`].find(isWritable);

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

/** The output of a script in a sandbox, with `directory` writable unless `paths` say otherwise. */
async function said(
  level: SandboxLevel,
  script: string,
  paths: Partial<Isolation["paths"]> = {},
  command: readonly string[] = ["sh", "-c", `{ ${script}\n} 2>&1`],
  path = PATH,
): Promise<string> {
  const isolation: Isolation = {
    level,
    required: true,
    paths: { writable: [directory], hidden: [], readable: [], unwritable: [], ...paths },
  };
  const environment = { PATH: path, TMPDIR: "/somewhere" };
  const launched = await embeddedLauncher(PATH).launch({
    command,
    directory,
    environment,
    isolation,
  });
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  const { stdin, stdout, stderr, exited } = value;
  onTestFinished(() => {
    value.signalGroup("SIGKILL");
    value.destroyPipes();
  });
  stdin.end();
  stderr.resume();
  const chunks: Buffer[] = [];
  for await (const chunk of stdout) chunks.push(chunk as Buffer);
  await exited;
  return Buffer.concat(chunks).toString();
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function home(within = directory): Promise<{
  readonly paths: Isolation["paths"];
  readonly folder: string;
  readonly root: string;
}> {
  const root = join(within, "home");
  const folder = join(root, "sessions", "s-1");
  for (const path of [join(root, "logs", "s-1"), join(folder, "work"), join(root, "sessions", "s-2")]) {
    await mkdir(path, { recursive: true });
  }
  for (const file of ["bosun.db", "logs/s-1/000001.json", "sessions/s-1/plan.json", "sessions/s-2/secret"]) {
    await writeFile(join(root, file), "known\n");
  }
  const hidden = ["bosun.db", "bosun.db-wal", "logs", "sessions"].map((name) => join(root, name));
  return {
    root,
    folder,
    paths: { writable: [directory, join(folder, "work")], hidden, readable: [folder], unwritable: [] },
  };
}

describe.runIf(hasFiles)("an agent in the sandbox files", () => {
  test("writes in its workspace as the user who runs it", async () => {
    await said("files", "echo made > made");
    expect(readFileSync(join(directory, "made"), "utf8")).toBe("made\n");
    expect(statSync(join(directory, "made")).uid).toBe(process.getuid?.());
  });

  test("writes nowhere else", async () => {
    const out = await said(
      "files",
      'for d in / /etc /usr "$HOME" /var; do touch "$d/bosun-was-here" && echo "wrote $d"; done',
    );
    expect(out).not.toContain("wrote");
    expect(existsSync("/etc/bosun-was-here")).toBe(false);
  });

  test("has its own /tmp, which is its TMPDIR", async () => {
    const name = `bosun-sandbox-${process.pid}`;
    const out = await said("files", `echo x > /tmp/${name} && cat /tmp/${name}; echo "\${TMPDIR-none}"`);
    expect(out).toBe("x\nnone\n");
    expect(existsSync(`/tmp/${name}`)).toBe(false);
  });

  test("can run from the hidden /tmp, and cannot change its program there", async () => {
    const elsewhere = scratchDirectory();
    const program = join(elsewhere, "program");
    await writeFile(program, 'echo "it runs"; touch "$1/changed" && echo "and wrote"\n', { mode: 0o755 });
    const out = await said("files", "", {}, ["/bin/sh", program, elsewhere]);
    expect(out).toBe("it runs\n");
    expect(existsSync(join(elsewhere, "changed"))).toBe(false);
  });

  test("finds its paths through a link in the hidden /tmp", async () => {
    const { folder, root, paths } = await home();
    const elsewhere = scratchDirectory();
    const [workspace, named] = [join(elsewhere, "workspace"), join(elsewhere, "home")];
    await symlink(directory, workspace);
    await symlink(root, named);
    await writeFile(join(elsewhere, "beside"), "known\n");
    const session = join(named, "sessions/s-1");
    const script = `cd ${workspace}; echo made > made; cat ${session}/plan.json; echo a > ${session}/work/a; cat ${named}/bosun.db ${elsewhere}/beside ${workspace}/home/bosun.db`;
    const through = { ...paths, writable: [workspace, join(session, "work")], readable: [session] };
    const out = await said("files", script, through);
    expect(out.match(/known/g)).toHaveLength(1);
    expect(readFileSync(join(directory, "made"), "utf8")).toBe("made\n");
    expect(readFileSync(join(folder, "work/a"), "utf8")).toBe("a\n");
  });

  test("writes in a workspace whose program it runs through a link in /tmp", async () => {
    const link = `${directory}-link`;
    onTestFinished(() => rm(link));
    await symlink(directory, link);
    await writeFile(join(directory, "program"), 'cd "$1"; echo made > made; cat made\n');
    expect(await said("files", "", { writable: [link] }, ["/bin/sh", join(link, "program"), link])).toBe("made\n");
  });

  test("cannot undo the sandbox, even as root", async () => {
    const { root, paths } = await home();
    const undo = `mount -o remount,rw,bind / && echo remounted; umount /tmp ${root}/logs && echo unmounted`;
    const out = await said("files", `${undo}; unshare -Urm sh -c '${undo}'; cat ${root}/logs/s-1/*`, paths);
    expect(out).not.toMatch(/remounted|unmounted|known/);
  });

  test("cannot change kernel settings, even as root", async () => {
    const same = "cat /proc/sys/kernel/core_pattern >/tmp/same && cat /tmp/same >/proc/sys/kernel/core_pattern";
    const out = await said("files", `${same} && echo set; unshare -Urmpf --mount-proc sh -c '${same} && echo set'`);
    expect(out).not.toMatch(/^set$/m);
  });

  test("sees no database, log or other session inside its workspace", async () => {
    const { root, paths } = await home();
    const out = await said("files", `cd home; cat bosun.db; ls logs sessions; cat sessions/s-2/secret`, paths);
    expect(out).not.toContain("known");
    expect(out).not.toContain("s-2\n");
    expect(out).toContain("s-1\n");
    const wrote = await said(
      "files",
      "cd home; echo x > bosun.db; for d in logs sessions; do touch $d/y && echo wrote; done; touch logs/x sessions/x; rm -r logs sessions bosun.db; mv logs l",
      paths,
    );
    expect(wrote).not.toContain("wrote");
    expect(readFileSync(join(root, "bosun.db"), "utf8")).toBe("known\n");
    expect(readFileSync(join(root, "logs/s-1/000001.json"), "utf8")).toBe("known\n");
    expect(existsSync(join(root, "sessions/x"))).toBe(false);
  });

  test("cannot replace a home in its workspace or add files beside its database", async () => {
    const { root, paths } = await home(join(directory, "above", "it"));
    const script = `for path in above above/it above/it/home; do mv $path moved && echo moved; done; cd above/it/home; echo x > bosun.db-journal; mkdir new`;
    const out = await said("files", `${script}; touch ../beside ../../beside`, paths);
    expect(out).not.toMatch(/^moved$/m);
    expect(readdirSync(root).toSorted()).toEqual(["bosun.db", "logs", "sessions"]);
    expect(existsSync(join(directory, "above", "beside"))).toBe(true);
    expect(existsSync(join(directory, "above", "it", "beside"))).toBe(true);
  });

  test("can neither change nor replace the unwritable parts of its workspace, nor see hidden ones in them", async () => {
    const { root, paths } = await home(join(directory, "kept"));
    await mkdir(join(directory, "a", "b"), { recursive: true });
    const secret = join(root, "sessions/s-2/secret");
    const files = ["a/b/one", "a/b/two", "kept/note"].map((name) => join(directory, name));
    for (const file of files) await writeFile(file, "known\n");
    const script = `for f in ${files.join(" ")} a/b a kept; do echo x >$f && echo changed; mv $f moved && echo moved; done; touch kept/new && echo new; cat ${root}/bosun.db ${secret}; touch a/b/new a/new`;
    const [one = "", two = ""] = files;
    const out = await said("files", script, {
      ...paths,
      unwritable: [one, two, join(directory, "kept"), secret, "/etc/passwd"],
    });
    expect(out).not.toMatch(/^(?:changed|moved|new|known)$/m);
    expect(files.map((file) => readFileSync(file, "utf8"))).toEqual(["known\n", "known\n", "known\n"]);
    expect([existsSync(join(directory, "a/b/new")), existsSync(join(directory, "a/new"))]).toEqual([true, true]);
  });

  test("reads its session's folder, and writes only to its artifacts", async () => {
    const { folder, paths } = await home();
    const out = await said(
      "files",
      `cat ${folder}/plan.json; echo x > ${folder}/plan.json; echo a > ${folder}/work/a`,
      paths,
    );
    expect(out).toContain("known\n");
    expect(readFileSync(join(folder, "plan.json"), "utf8")).toBe("known\n");
    expect(readFileSync(join(folder, "work/a"), "utf8")).toBe("a\n");
  });

  test("can write to a given path inside a hidden one", async () => {
    const { root, paths } = await home();
    const within = join(root, "sessions/s-2");
    const script = `echo w > ${within}/w; ls home/sessions; touch made`;
    const out = await said("files", script, { ...paths, readable: [], writable: [within] });
    expect(readFileSync(join(within, "w"), "utf8")).toBe("w\n");
    expect(out).toMatch(/^s-2$/m);
    expect(out).not.toContain("s-1");
    expect(existsSync(join(directory, "made"))).toBe(false);
  });

  test("has the network; in the sandbox offline not even the loopback", async () => {
    const server = createServer((socket) => socket.end("reached"));
    server.listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const connect = `require("net").connect(${port},"127.0.0.1").on("data",d=>console.log(""+d)).on("error",e=>console.log(e.code))`;
    const script = `${process.execPath} -e '${connect}'`;
    expect(await said("files", script)).toBe("reached\n");
    expect(await said("offline", script)).toMatch(/^E(?:CONNREFUSED|NETUNREACH|ADDRNOTAVAIL)\n$/);
  });

  test.runIf(ownRun !== undefined)(
    "offline runs programs behind a link in /run, and sees nothing else of it",
    async () => {
      const folder = await mkdtemp(join(ownRun ?? "", "bosun-agents-"));
      onTestFinished(() => rm(folder, { recursive: true }));
      await symlink(directory, join(folder, "bin"));
      await writeFile(join(folder, "beside"), "known\n");
      await writeFile(join(directory, "program"), "#!/bin/sh\necho it runs; ls -A $1\n", { mode: 0o755 });
      expect(await said("offline", "", {}, [join(folder, "bin", "program"), folder])).toBe("it runs\nbin\n");
      expect(await said("offline", `program ${folder}`, {}, undefined, `${join(folder, "bin")}:${PATH}`)).toBe(
        "it runs\nbin\n",
      );
      expect(await said("offline", "echo runs", {}, undefined, `${folder}/:${PATH}`)).toBe("runs\n");
    },
  );

  test("offline restricts files, too", async () => {
    const out = await said("offline", "echo made > made; touch /etc/x && echo wrote; ls /run | wc -l");
    expect(out).not.toContain("wrote");
    expect(out.trim().endsWith("0")).toBe(true);
    expect(existsSync(join(directory, "made"))).toBe(true);
  });
});
