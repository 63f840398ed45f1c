import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { type Rig, rig, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { isLiving, killStray } from "../processes.ts";

const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((resolve) => child.once("close", resolve));
    killStray(child.pid ?? 0);
    await ended;
  }
});

/** Prints "heard" on stderr once the process listens for the signal; it does not by default. */
const TELL = `data:text/javascript,const t=setInterval(()=>{if(process.listenerCount("SIGUSR1")>0){clearInterval(t);process.stderr.write("heard\\n")}},1);t.unref()`;

function start(file: string, args: readonly string[], here: Rig, node: readonly string[] = []) {
  const child = spawn(process.execPath, [...node, file, ...args], { cwd: here.workspace, env: here.environment });
  children.push(child);
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  return { child, pid: child.pid ?? 0, said };
}

/** The inodes of the sockets that a process listens on. */
function listening(pid: number): string[] {
  const open = readdirSync("/proc/net")
    .filter((name) => name === "tcp" || name === "tcp6")
    .flatMap((name) => readFileSync(`/proc/net/${name}`, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .flatMap((fields) => (fields[3] === "0A" ? [fields[9] ?? ""] : []));
  return readdirSync(`/proc/${pid}/fd`)
    .map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? "";
      } catch {
        return "";
      }
    })
    .filter((inode) => open.includes(inode));
}

/** Signals a process several times, and waits until no signal is pending. */
async function signalled(pid: number): Promise<void> {
  for (let time = 0; time < 5; time += 1) process.kill(pid, "SIGUSR1");
  const status = () => readFileSync(`/proc/${pid}/status`, "utf8");
  await until("the signal to be taken", () => /^S(?:hd|ig)Pnd:\s*0+$/m.test(status()));
}

describe.runIf(process.platform === "linux")("a signal that opens Node's inspector by default", () => {
  it("does so in a program that does not listen for it", async () => {
    const here = rig();
    const { pid, said } = start("-e", ["process.stdout.write('up');setInterval(()=>{},1000)"], here, [
      "--inspect-port=0",
    ]);
    await until("it to be up", () => said.out === "up");
    await signalled(pid);
    await expect.poll(() => listening(pid).length).toBeGreaterThan(0);
    await until("it to say so", () => said.err.includes("Debugger"));
  });

  it.each(["playbook", "shell"])("does not in the crew's %s, which lives on", async (program) => {
    const here = rig();
    const { child, pid, said } = start(built("crew", `${program}.js`), [], here, [
      "--inspect-port=0",
      "--import",
      TELL,
    ]);
    await until("it to listen for the signal", () => said.err.includes("heard"));
    await signalled(pid);
    expect(listening(pid)).toEqual([]);
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.stdin.end();
    await ended;
    expect(child.exitCode).toBe(0);
    expect(said.err).not.toContain("Debugger");
  });

  it("does not in the command line", async () => {
    const here = rig();
    const args = ["--home", here.home, "run", "x", "--manager", "sleep 60", "--worker", "cat", "--json"];
    const { child, pid, said } = start(built("bin.js"), args, here, ["--inspect-port=0"]);
    await until("the session to be open", () => said.out.includes("session_opened"));
    await signalled(pid);
    expect(listening(pid)).toEqual([]);
    child.kill("SIGINT");
    await new Promise((resolve) => child.once("close", resolve));
    expect(child.exitCode).toBe(130);
    expect(said.err).not.toContain("Debugger");
  });

  it("does not in a scheduler that has left its terminal", async () => {
    const here = endAfterwards(rig());
    const args = ["--home", here.home, "run", "x", "--manager", "sleep 60", "--worker", "cat", "--detach", "--json"];
    const { child, said } = start(built("bin.js"), args, here);
    await new Promise((resolve) => child.once("close", resolve));
    const detached = said.out.split("\n").find((line) => line.includes('"detached"')) ?? "null";
    const { pid } = JSON.parse(detached) as { pid: number };
    await signalled(pid);
    expect(listening(pid)).toEqual([]);
    expect(isLiving(pid)).toBe(true);
  });
});
