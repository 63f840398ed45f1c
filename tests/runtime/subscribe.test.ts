import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { subscribe } from "../../src/runtime/subscribe.ts";
import { built } from "../built.ts";
import { rig } from "../commands/rig.ts";
import { endAfterwards } from "../commands/strays.ts";

/** Tells each event of a council and, before each is there, what keeps the process waiting. */
const SUBSCRIBER = `
const { subscribe } = await import(process.argv[1]);
const events = subscribe(process.argv[2], "it");
for (;;) {
  const next = events.next();
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  const waits = process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY/.test(name));
  const { value, done } = await next;
  console.log(done ? "done" : value.event, waits.join());
  if (done) break;
}`;

async function council() {
  const here = endAfterwards(rig());
  const act = async (...words: string[]) => expect(await here.run(["meeting", ...words])).toMatchObject({ code: 0 });
  await act("create", "--topic", "Which store?", "--participants", "eve", "--id", "it");
  return { here, act };
}

it("tells another process of each event, which waits for the system and for no timer", async () => {
  const { here, act } = await council();
  const child = spawn(process.execPath, ["--input-type=module", "-e", SUBSCRIBER, built("index.js"), here.home]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const heard = async () => ((await lines.next()) as { value: string }).value;
  expect(await heard()).toMatch(/^MEETING_CREATED /);
  await act("join", "it", "--as", "eve");
  expect([await heard(), await heard()]).toEqual(["AGENT_JOINED_MEETING FSEventWrap", "STATE_CHANGED FSEventWrap"]);
  await act("close", "it", "--summary", "Nothing.");
  const rest = [await heard(), await heard(), await heard(), await heard()].map((line) => line.split(" ")[0]);
  expect(rest).toEqual(["NEW_MESSAGE_IN_MEETING", "STATE_CHANGED", "MEETING_CLOSED", "done"]);
});

it("leaves out what came before a record, and ends with its signal", async () => {
  const { here, act } = await council();
  await act("join", "it", "--as", "eve");
  const ended = new AbortController();
  const heard: unknown[] = [];
  for await (const { event } of subscribe(here.home, "it", 2, ended.signal)) {
    heard.push(event);
    if (event === "STATE_CHANGED") ended.abort();
  }
  expect(heard).toEqual(["AGENT_JOINED_MEETING", "STATE_CHANGED"]);
});
