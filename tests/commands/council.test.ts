import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { Stage } from "../debate/stage.ts";
import { folderWithPackage } from "../installed.ts";
import { validate } from "../protocol/examples.ts";
import { typed } from "./in-process.ts";
import { type Done, type Rig, rig, ROOT, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { statusOf } from "./waiting-task.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/debaters/debater.mjs");
const ROLES = ["ann", "bob", "cid", "dan", "eli"];
const EXAMPLES = join(ROOT, "examples", "council");

/** A council of the test, and what is done to it. */
class Council {
  readonly here: Rig;
  readonly mailbox: string;
  readonly tokens = new Map<string, string>();

  constructor(here: Rig) {
    this.here = here;
    this.mailbox = join(here.home, "meetings", "it");
  }

  static async of(participants: readonly string[], ...more: readonly string[]): Promise<Council> {
    const here = endAfterwards(rig());
    const words = ["--topic", "Which store?", "--participants", participants.join(","), "--id", "it", ...more];
    const { code, stderr } = await here.run(["meeting", "create", ...words]);
    if (code !== 0) throw new Error(`meeting create failed: ${stderr}`);
    return new Council(here);
  }

  /** Somebody acts by a command, the local user without a name. */
  act(name: string, words: readonly string[], who?: string): Promise<Done> {
    const env = who === undefined ? {} : { BOSUN_MEETING_TOKEN: this.tokens.get(who) ?? "" };
    return this.here.run(["meeting", name, "it", ...words], { env });
  }

  async does(name: string, words: readonly string[], who?: string): Promise<void> {
    const done = await this.act(name, words, who);
    if (done.code !== 0 || done.stderr !== "") throw new Error(`meeting ${name} failed: ${done.stderr}`);
  }

  async join(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const { stdout } = await this.act("join", ["--as", id, "--json"]);
      this.tokens.set(id, (JSON.parse(stdout) as { token: string }).token);
    }
  }

  async read(...words: readonly string[]): Promise<JsonObject[]> {
    const { stdout } = await typed(this.here, ["meeting", "read", "it", "--json", ...words]);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as JsonObject]));
  }

  async info(): Promise<JsonObject> {
    return JSON.parse((await typed(this.here, ["meeting", "info", "it", "--json"])).stdout) as JsonObject;
  }

  /** The states of the council and its proposals. */
  async standing(): Promise<string[]> {
    const { state, proposals } = (await this.info()) as { state: string; proposals: { status: string }[] };
    return [state, ...proposals.map(({ status }) => status)];
  }

  async kill(): Promise<void> {
    const { owner } = await statusOf(this.here, "it");
    process.kill(owner?.pid ?? 0, "SIGKILL");
    await until("its scheduler to be gone", async () => (await statusOf(this.here, "it")).owner === null);
  }

  drop(name: string, content: object | string): void {
    const beside = join(this.mailbox, `.${name}`);
    writeFileSync(beside, typeof content === "string" ? content : JSON.stringify(content));
    renameSync(beside, join(this.mailbox, "inbox", name));
  }

  /** What became of a dropped file: nothing if it was taken, else the error beside it. */
  async fate(name: string): Promise<JsonObject | undefined> {
    await until(`${name} to be taken`, () => !existsSync(join(this.mailbox, "inbox", name)));
    const rejected = join(this.mailbox, "rejected", name);
    return existsSync(rejected) ? (JSON.parse(readFileSync(rejected, "utf8")) as JsonObject) : undefined;
  }

  /** Everything that is wrong with its log and its messages, once it is closed. */
  async problems(): Promise<unknown[]> {
    if ((await this.standing())[0] === "discussion") await this.does("close", ["--summary", "So be it."]);
    const verified = await typed(this.here, ["replay", "it", "--verify"]);
    const messages = await this.read();
    const unfit = messages.filter((message) => !validate("meeting_message", message).ok);
    return [...(verified.code === 0 ? [] : [verified.stdout]), ...unfit];
  }
}

describe("a council of five roles and three from outside", () => {
  it("decides on two proposals, killed twice, is closed and archived, and read by a program that knows only the schema", async () => {
    const here = endAfterwards(rig());
    const stage = await Stage.open(here.workspace);
    const cli_command = [process.execPath, PROGRAM, stage.address];
    const roles = ROLES.map((role_id) => ({ role_id, type: "participant", cli_command }));
    const file = here.write("roles.json", JSON.stringify({ roles }));
    const seats = [
      "--participants",
      [...ROLES, "eve", "sam", "kim"].join(","),
      "--quorum",
      "5",
      "--roles",
      file,
      "--max-workers",
      "5",
    ];
    const created = await here.run(["meeting", "create", "--topic", "Which store?", "--id", "it", ...seats]);
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const council = new Council(here);
    const member = join(EXAMPLES, "member.py");
    const sam = here.program("python3", [member, council.mailbox, "sam", "no"]);
    const kim = here.program("python3", [member, council.mailbox, "kim", "no"]);
    await council.join("eve");

    for (const role of await stage.gathered(5)) role.say("comment", { text: `${role.role_id} says so.` });
    await council.does("propose", ["--title", "Keep it", "--details", "For a year."], "eve");
    await council.does("propose", ["--title", "Burn it", "--details", "Today."], "eve");
    await council.kill();
    await council.does("state", ["voting", "--reason", "All is said."]);
    const asked = await stage.gathered(5);
    expect(asked[0]?.request).toMatchObject({
      message: { payload: { asked: "vote", proposal_id: "p1" } },
      context: { transcript: expect.arrayContaining([expect.objectContaining({ source: "sam" })]) },
    });
    for (const role of asked) role.say("vote", { proposal_id: "p1", vote: "yes" });
    const [first] = await stage.gathered(5);
    first?.say("vote", { proposal_id: "p2", vote: "no", rationale: "We need it." });
    await until("its vote", async () => (await council.read("--type", "vote", "--agent", "ann")).length === 2);
    await council.kill();
    await council.does("vote", ["p2", "yes", "--rationale", "It is old."], "eve");
    for (const role of await stage.gathered(4)) role.say("vote", { proposal_id: "p2", vote: "no" });
    await until("the result", async () => (await council.standing())[2] === "rejected");
    expect(await council.standing()).toEqual(["discussion", "accepted", "rejected"]);
    await council.does("close", ["--summary", "We keep it."]);
    expect(await sam.done).toMatchObject({ code: 0, stdout: "sam voted on ['p1', 'p2'] and reads: We keep it.\n" });
    await kim.done;

    await council.does("archive", []);
    expect(await council.standing()).toEqual(["archived", "accepted", "rejected"]);
    expect(await council.problems()).toEqual([]);
    const reader = await here.program("python3", [join(EXAMPLES, "reader.py"), council.mailbox]).done;
    expect(reader.stdout.split("\n")).toEqual([
      expect.stringMatching(/^accepted Keep it .*'ann', 'bob', 'cid', 'dan', 'eli'/),
      expect.stringMatching(/^rejected Burn it /),
      "closed by user: We keep it.",
      "",
    ]);
  });
});

describe("creating a council", () => {
  it("says who is a role here and who joins from outside, so that a mistyped role is seen", async () => {
    const here = endAfterwards(rig());
    const roles = ["ann", "bob"].map((role_id) => ({ role_id, type: "worker", cli_command: [process.execPath] }));
    const seats = ["--participants", "ann,bbo,eve", "--facilitator", "bob"];
    const file = here.write("roles.json", JSON.stringify({ roles }));
    const words = ["meeting", "create", "--topic", "Which store?", "--roles", file, ...seats];
    const created = await here.run([...words, "--id", "it"]);
    expect([created.code, created.stderr]).toEqual([0, ""]);
    expect(created.stdout.split("\n")).toContain("ann, bob: roles here; bbo, eve: join from outside");
    const json = await here.run([...words, "--id", "other", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      type: "detached",
      session_id: "other",
      roles: ["ann", "bob"],
      outside: ["bbo", "eve"],
    });
  });
});

describe("those from outside", () => {
  it.each([
    ["caller.py", "python3"],
    ["caller.ts", process.execPath],
  ])("call a council, take part and close it, in about 60 lines: %s", async (name, program) => {
    const here = endAfterwards(rig());
    const file = join(folderWithPackage("examples/council"), "examples/council", name);
    expect(readFileSync(file, "utf8").split("\n").length).toBeLessThan(70);
    const caller = here.program(program, [file, "ann", "Which store?", "Keep it", "ben", "kim"]);
    const invitations = join(here.home, "meetings", "invitations");
    await until("the invitations", () => existsSync(join(invitations, "ben")) && existsSync(join(invitations, "kim")));
    const [invitation = ""] = readdirSync(join(invitations, "ben"));
    const mailbox = join(here.home, "meetings", invitation.replace(".json", ""));
    const members = [
      ["ben", "yes"],
      ["kim", "no"],
    ].map((words) => here.program("python3", [join(EXAMPLES, "member.py"), mailbox, ...words]));
    const summary = "Keep it is accepted, with 2 for and 1 against it.";
    expect(await caller.done).toMatchObject({ code: 0, stdout: `${basename(mailbox)}\n${summary}\n`, stderr: "" });
    for (const { done } of members)
      expect(await done).toMatchObject({ code: 0, stdout: expect.stringContaining(summary) });
    expect((await typed(here, ["replay", basename(mailbox), "--verify"])).code).toBe(0);
  });

  it("write fifty messages at once, and none is lost, though no scheduler runs", async () => {
    const council = await Council.of(["eve"]);
    await council.join("eve");
    await council.kill();
    const texts = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    const ended = await Promise.all(texts.map((text) => council.act("post", ["--text", text], "eve")));
    expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
    const read = await council.read("--type", "comment");
    expect(read).toHaveLength(50);
    expect(new Set(read.map(({ text }) => text))).toEqual(new Set(texts));
    expect(await council.problems()).toEqual([]);
  }, 180_000);

  it("are refused what is not allowed, with what is, and the council goes on", async () => {
    const council = await Council.of(["eve", "sam"]);
    await council.join("eve", "sam");
    const [old] = [council.tokens.get("eve") ?? ""];
    await council.does("propose", ["--title", "Keep it", "--details", "So."], "sam");
    const refused = async (done: Promise<Done>, why: string) => {
      const { code, stderr } = await done;
      expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
    };
    await refused(council.act("vote", ["p1", "yes"], "eve"), "allowed: comment, agenda_item, proposal");
    await refused(council.act("vote", ["p1", "yes", "--as", "mallory"]), '"mallory" is not invited');
    await refused(council.act("post", ["--text", "I am eve.", "--as", "eve"]), 'not the token of "eve"');
    await refused(council.act("post", ["--text", "x", "--as", "../../etc"]), '"../../etc" is no id');
    await refused(council.act("state", ["voting", "--reason", "Now."], "eve"), '"user" leads');
    await refused(council.act("close", ["--summary", " "]), "not valid");
    const inside = { BOSUN_SESSION_ID: "s", BOSUN_ARTIFACTS_DIR: "/a", BOSUN_TURN_ID: "t1" };
    const agent = council.here.run(["meeting", "state", "it", "voting", "--reason", "x"], { env: inside });
    await refused(agent, "--token TOKEN");
    const huge = council.here.run(["meeting", "post", "it", "--text", "-"], { input: "x".repeat(10_000_000) });
    await refused(huge, "cannot be read");
    await council.join("eve");
    await refused(council.act("post", ["--text", "It is me.", "--token", old]), "join again");
    await council.does("post", ["--text", "It is me."], "eve");
    const { participants } = (await council.info()) as { participants: JsonObject[] };
    expect(participants).toEqual([
      { agent_id: "eve", status: "joined", refused: 2 },
      { agent_id: "sam", status: "joined" },
    ]);
    const errors = await council.read("--type", "error");
    expect(errors.map(({ agent_id }) => agent_id)).toEqual(["eve", "mallory", "eve", "eve", "eve"]);
    expect(readFileSync(join(council.here.home, "bosun.db")).includes(old)).toBe(false);
    expect(await council.problems()).toEqual([]);
  });

  it("take part by files, of which each is taken once or rejected with the reason", async () => {
    const council = await Council.of(["eve", "sam"]);
    const by = (message_type: string, more: object) => ({ agent_id: "sam", token: "s3cret", message_type, ...more });
    council.drop("0.json", by("participant", { status: "joined" }));
    expect(await council.fate("0.json")).toBeUndefined();
    await council.join("eve");
    council.drop("1.json", by("comment", { text: "By file." }));
    expect(await council.fate("1.json")).toBeUndefined();
    const wrong: [string, object | string, string][] = [
      ["2.json", by("comment", { text: "x", token: "guessed" }), "not the token"],
      ["3.json", by("comment", { text: "x", timestamp_utc: "2999-01-01T00:00:00Z" }), "future"],
      ["4.json", by("comment", { text: "x", agent_id: "../sam" }), "no id"],
      ["5.json", by("nothing", {}), "none that is taken"],
      ["6.json", by("comment", {}), "text"],
      ["7.json", "x".repeat(10_000_000), "10000000 bytes"],
      ["8.json", "{ half", "no JSON object"],
    ];
    for (const [name, content, why] of wrong) {
      council.drop(name, content);
      const fate = await council.fate(name);
      expect([name, JSON.stringify(fate?.["error"])]).toEqual([name, expect.stringContaining(why)]);
      expect(JSON.stringify(fate)).not.toMatch(/s3cret|guessed/);
    }
    // As if its scheduler had died before it removed the file.
    await council.kill();
    council.drop("1.json", by("comment", { text: "By file." }));
    await council.does("post", ["--text", "Go on."], "eve");
    expect(await council.fate("1.json")).toBeUndefined();
    expect((await council.read("--type", "comment")).map(({ text }) => text)).toEqual(["By file.", "Go on."]);
    expect(await council.problems()).toEqual([]);
  });

  it("find it by list, index and invitation, and follow it without polling", async () => {
    const council = await Council.of(["eve"], "--goal", "One store.");
    const invitation = join(council.here.home, "meetings", "invitations", "eve", "it.json");
    expect(JSON.parse(readFileSync(invitation, "utf8"))).toMatchObject({ meeting_id: "it", topic: "Which store?" });
    const index = () => readFileSync(join(council.here.home, "meetings", "index.json"), "utf8");
    expect(JSON.parse(index())).toMatchObject({
      meetings: [{ meeting_id: "it", state: "open", participants: ["eve"] }],
    });
    const tail = council.here.start(["meeting", "tail", "it", "--json"]);
    await council.join("eve");
    expect(existsSync(invitation)).toBe(false);
    await council.does("invite", ["sam"]);
    await council.does("leave", ["--reason", "I go."], "eve");
    expect((await typed(council.here, ["meeting", "list", "--as", "sam"])).stdout).toBe(
      "it discussion 2 take part Which store?\n",
    );
    await council.does("close", ["--summary", "Nothing."]);
    const events = (await tail.done).stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as JsonObject)["event"]);
    expect(events).toEqual([
      "MEETING_CREATED",
      "AGENT_JOINED_MEETING",
      "STATE_CHANGED",
      "NEW_MESSAGE_IN_MEETING",
      "NEW_MESSAGE_IN_MEETING",
      "NEW_MESSAGE_IN_MEETING",
      "STATE_CHANGED",
      "MEETING_CLOSED",
    ]);
    expect((await typed(council.here, ["meeting", "list"])).stdout).toBe("There is no open meeting.\n");
    expect((await council.act("post", ["--text", "Late."], "eve")).code).toBe(2);
  });

  it("have a mailbox that is made again from the log", async () => {
    const council = await Council.of(["eve"], "--as", "eve", "--voting-s", "3600");
    await council.join("eve");
    await council.does("post", ["--type", "agenda_item", "--text", "The store"], "eve");
    await council.does("propose", ["--title", "Keep it", "--details", "So."], "eve");
    await council.does("propose", ["--withdraw", "p1"], "eve");
    await council.does("close", ["--summary", "Nothing."], "eve");
    const { mailbox, here } = council;
    const copy = join(here.workspace, "copy");
    const files = ["manifest.json", "agenda.json", "participants.json"];
    mkdirSync(copy);
    const messages = readdirSync(join(mailbox, "messages"));
    const [first, ...rest] = messages.map((name) => name.replace(/^msg_\d{8}T\d{9}Z-\d+_/, ""));
    expect([first, new Set(rest)]).toEqual([
      "eve_participant.json",
      new Set(["eve_agenda_item.json", "eve_proposal.json", "eve_summary.json", "scheduler_state_change.json"]),
    ]);
    for (const name of messages) copyFileSync(join(mailbox, "messages", name), join(copy, name));
    for (const name of files) copyFileSync(join(mailbox, name), join(copy, name));
    rmSync(mailbox, { recursive: true });
    expect((await typed(here, ["rebuild", "it"])).code).toBe(0);
    const same = (name: string, path: string) =>
      expect([name, readFileSync(path, "utf8")]).toEqual([name, readFileSync(join(copy, name), "utf8")]);
    expect(readdirSync(join(mailbox, "messages"))).toEqual(messages);
    for (const name of messages) same(name, join(mailbox, "messages", name));
    for (const name of files) same(name, join(mailbox, name));
  });
});
