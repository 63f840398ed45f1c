import { NO_SECRETS } from "../../src/lib/withholder.ts";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { cliAgent, guarded } from "../../src/agents/cli/agent.ts";
import type { Reader } from "../../src/agents/cli/dialects/dialect.ts";
import type { RunEnd } from "../../src/agents/cli/process.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Launcher } from "../../src/agents/launcher.ts";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { AgentRig, envelope, type Puppet, REPORT } from "./rig.ts";
import { livingInGroup } from "../processes.ts";

let rig: AgentRig;

beforeEach(async () => {
  rig = await AgentRig.open();
});

/** Runs a turn of a program without a puppet. */
function simply(request: TurnRequest, launcher: Launcher = embeddedLauncher(), signal = new AbortController().signal) {
  return cliAgent({ launcher, settings: rig.settings() }).turn(request, {
    signal,
    started: async () => {},
    emit: () => {},
    secrets: NO_SECRETS,
    permit: async () => ({ granted: false }),
  });
}

function withCommand(...cli_command: string[]): TurnRequest {
  return rig.request({ request: { role: { role_id: "worker", type: "worker", cli_command } } });
}

describe("a turn of a command-line agent", () => {
  test("writes one request line and end of file, and takes the answer with the exit", async () => {
    const { puppet, result, events } = await rig.turn();
    const { lines, size } = (await puppet.ask({ do: "read" }, "input")) as unknown as { lines: string[]; size: number };
    expect(lines).toHaveLength(1);
    expect(size).toBeGreaterThan(0);
    const request = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
    expect(request).toMatchObject({
      session_id: "s-1",
      source: "scheduler",
      target: "worker",
      payload_type: "turn_request",
      version: "1.0",
      payload: { turn_id: "t7", expects: ["report", "error"], workspace: rig.directory },
    });
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    expect(await result).toEqual({
      answer: { payload_type: "report", payload: { status: "completed", summary: "Done." } },
      exit: { code: 0, signal: null },
      refused: [],
    });
    expect(events).toEqual([]);
    expect(livingInGroup(puppet.pid)).toEqual([]);
  });

  test("writes no request before the start is on record", async () => {
    const recorded = Promise.withResolvers<void>();
    const { puppet, result, identities } = await rig.turn({ started: recorded.promise });
    expect(identities).toMatchObject([{ pid: puppet.pid }]);
    const input = puppet.ask({ do: "read" }, "input");
    let given = false;
    void input.then(() => {
      given = true;
    });
    // A round trip through the puppet: it would have reported input before.
    await puppet.ask({ do: "environment" }, "environment");
    expect(given).toBe(false);
    recorded.resolve();
    expect(await input).toMatchObject({ lines: [expect.stringContaining("turn_request")] });
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    expect((await result).answer).toBeDefined();
  });

  test("ends the process without a request when the start cannot be recorded", async () => {
    const recorded = Promise.withResolvers<void>();
    const { puppet, result, identities } = await rig.turn({ started: recorded.promise });
    recorded.reject(new Error("disk full"));
    expect((await result).failure).toMatchObject({ code: "internal" });
    expect(identities).toHaveLength(1);
    expect(livingInGroup(puppet.pid)).toEqual([]);
  });

  test("writes no request when it is cancelled while the start is being recorded", async () => {
    const recorded = Promise.withResolvers<void>();
    const prepare = async (puppet: Puppet) => {
      await puppet.ask({ do: "ignore", signal: "SIGTERM" }, "ignoring");
    };
    const turn = await rig.turn({ started: recorded.promise, prepare, settings: { kill_grace_ms: 1_000 } });
    let given: unknown;
    void turn.puppet.ask({ do: "read" }, "input").then((input) => {
      given = input;
    });
    turn.abort.abort();
    recorded.resolve();
    expect((await turn.result).failure?.code).toBe("cancelled");
    expect(given).toBeUndefined();
  });

  test("ends a process that started while the turn was cancelled", async () => {
    const abort = new AbortController();
    const pids: number[] = [];
    const launcher: Launcher = {
      ...embeddedLauncher(),
      launch: async (spec) => {
        const launched = await embeddedLauncher().launch(spec);
        if (launched.ok) pids.push(launched.value.identity.pid);
        abort.abort();
        return launched;
      },
    };
    const result = await simply(withCommand("sleep", "600"), launcher, abort.signal);
    expect(result.failure?.code).toBe("cancelled");
    expect(pids).toHaveLength(1);
    expect(pids.flatMap(livingInGroup)).toEqual([]);
  });

  test("starts nothing when it is already cancelled", async () => {
    const launcher: Launcher = {
      ...embeddedLauncher(),
      launch: () => {
        throw new Error("it was started");
      },
    };
    const result = await simply(rig.request(), launcher, AbortSignal.abort());
    expect(result.failure?.code).toBe("cancelled");
  });

  test("gives an unavailable failure for a program that is not there", async () => {
    const result = await simply(withCommand("no-such-agent"));
    expect(result.failure).toMatchObject({ code: "unavailable", details: { errno: "ENOENT" } });
    expect(result.failure?.hint).toBeDefined();
  });

  test("fails without its required sandbox or its artifacts directory", async () => {
    const touch = ["sh", "-c", "touch begun"];
    const role = { role_id: "worker", type: "worker", cli_command: touch, sandbox: "processes" } as const;
    const without = await simply(rig.request({ request: { role } }), embeddedLauncher("/nowhere"));
    expect(without.failure?.code).toBe("environment");
    expect(without.failure?.message).toContain('sandbox "processes"');
    const occupied = join(rig.directory, "occupied");
    await writeFile(occupied, "");
    const artifacts_dir = join(occupied, "T-1");
    const { sandbox: _, ...plain } = role;
    const nowhere = await simply(rig.request({ request: { role: plain }, payload: { artifacts_dir } }));
    expect(nowhere.failure).toMatchObject({ code: "environment", hint: expect.stringContaining(artifacts_dir) });
    await expect(access(join(rig.directory, "begun"))).rejects.toThrow("ENOENT");
  });

  test("explains exit code 127 as a missing program", async () => {
    const { failure } = await simply(withCommand("sh", "-c", "no-such-program-here"));
    expect(failure).toMatchObject({ code: "agent_failed", details: { exit_code: 127 } });
    expect(failure?.hint).toContain("not installed");
  });

  test("gives the agent only allow-listed, passed, role and wire variables", async () => {
    const { puppet } = await rig.turn({
      request: {
        role: {
          ...rig.request().role,
          env: { AGENT_KEY: "k", BOSUN_ROLE_ID: "manager", TERM: "xterm" },
          pass_env: ["MODEL_KEY", "AGENT_KEY", "NOT_SET", "BOSUN_TICKET_ID", "BOSUN_SLOT"],
        },
      },
      settings: {
        environment: {
          PATH: process.env["PATH"],
          HOME: "/home/u",
          LANG: "C.UTF-8",
          LC_ALL: "C",
          XDG_CACHE_HOME: "/c",
          TZ: "UTC",
          NODE_EXTRA_CA_CERTS: "/ca.pem",
          SSL_CERT_FILE: "/certificates.pem",
          SSL_CERT_DIR: "/certificates",
          HTTPS_PROXY: "http://proxy:3128",
          https_proxy: "http://ada:secret@proxy:3128",
          HTTP_PROXY: "ada:secret@proxy:3128",
          all_proxy: "socks5://proxy:1080",
          no_proxy: "localhost,.example.org",
          RSYNC_PROXY: "proxy:3128",
          MODEL_KEY: "passed",
          AGENT_KEY: "hidden by the role's own",
          BOSUN_TICKET_ID: "T-9",
          BOSUN_SLOT: "9",
          OPENAI_API_KEY: "secret",
          AWS_SECRET_ACCESS_KEY: "secret",
          NODE_OPTIONS: "--no-warnings",
          LD_PRELOAD: "",
          BOSUN_HOME: "/h",
          PATHOLOGY: "x",
        },
      },
    });
    const { environment, directory } = (await puppet.ask({ do: "environment" }, "environment")) as unknown as {
      environment: Record<string, string>;
      directory: string;
    };
    expect(directory).toBe(rig.directory);
    expect(environment).toEqual({
      PATH: process.env["PATH"],
      HOME: "/home/u",
      LANG: "C.UTF-8",
      LC_ALL: "C",
      XDG_CACHE_HOME: "/c",
      TZ: "UTC",
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      SSL_CERT_FILE: "/certificates.pem",
      SSL_CERT_DIR: "/certificates",
      HTTPS_PROXY: "http://proxy:3128",
      all_proxy: "socks5://proxy:1080",
      no_proxy: "localhost,.example.org",
      TERM: "xterm",
      AGENT_KEY: "k",
      MODEL_KEY: "passed",
      BOSUN_SESSION_ID: "s-1",
      BOSUN_TURN_ID: "t7",
      BOSUN_TICKET_ID: "T-1",
      BOSUN_ATTEMPT: "2",
      BOSUN_ROLE_ID: "worker",
      BOSUN_ARTIFACTS_DIR: join(rig.directory, "artifacts"),
      BOSUN_SLOT: "4",
      BOSUN_START: expect.stringMatching(/^\d+\.\d+$/),
    });
  });

  test("sets no ticket id for a turn without a ticket, even if the role does", async () => {
    const { puppet } = await rig.turn({
      request: { stamp: { turn_id: "t7", attempt: 1, run: 1 } },
      environment: { BOSUN_TICKET_ID: "T-1" },
    });
    const { environment } = await puppet.ask({ do: "environment" }, "environment");
    expect(environment).not.toHaveProperty("BOSUN_TICKET_ID");
  });

  test("writes console text to a file for each stream and emits it, without secrets", async () => {
    const { puppet, result, events } = await rig.turn({ secrets: ["hunter2"] });
    await puppet.print("thinking about hunter2\n\u001b[31mred\n");
    await puppet.print("warning hunter2", "stderr");
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 4 });
    expect((await result).failure?.details).toMatchObject({ stderr_tail: "warning [withheld]" });
    const output = join(rig.directory, "output");
    const kept = "thinking about [withheld]\n\u001b[31mred\n";
    expect(await readFile(join(output, "t7.3.stdout.log"), "utf8")).toBe(kept);
    expect(await readFile(join(output, "t7.3.stderr.log"), "utf8")).toBe("warning [withheld]\n");
    expect(events).toContainEqual({ kind: "console", stream: "stdout", text: "thinking about [withheld]" });
    expect(events).toContainEqual({ kind: "console", stream: "stderr", text: "warning [withheld]" });
  });

  test("withholds a secret that is printed over two lines, and shows a line that merely began like one", async () => {
    const { puppet, result, events } = await rig.turn({ secrets: ["correct-horse-battery"] });
    await puppet.print("it is correct-horse\n-battery, so\nnot correct-\n");
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    await result;
    const texts = events.flatMap((event) => (event.kind === "console" ? [event.text] : []));
    expect(texts).toEqual(["it is [withheld], so", "not correct-"]);
    const kept = await readFile(join(rig.directory, "output", "t7.3.stdout.log"), "utf8");
    expect(kept).toBe("it is [withheld], so\nnot correct-\n");
  });

  test("makes no console file for an agent that prints only messages", async () => {
    const { puppet, result } = await rig.turn();
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    await result;
    await expect(access(join(rig.directory, "output"))).rejects.toThrow("ENOENT");
  });

  test("goes on when the console files cannot be written", async () => {
    const occupied = join(rig.directory, "occupied");
    await writeFile(occupied, "");
    const { puppet, result } = await rig.turn({ request: { output_directory: occupied } });
    await puppet.print("some text\n");
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    const { answer, failure } = await result;
    expect(answer).toBeDefined();
    expect(failure).toBeUndefined();
  });

  test("emits at most 1,000 console lines and writes all of them to the file", async () => {
    const { puppet, result, events } = await rig.turn();
    await puppet.print("line\n".repeat(5_000));
    puppet.tell({ do: "exit", code: 0 });
    await result;
    expect(events).toHaveLength(1_000);
    const kept = await readFile(join(rig.directory, "output", "t7.3.stdout.log"), "utf8");
    expect(kept.length).toBe(25_000);
  });

  test("emits messages and console lines in order", async () => {
    const { puppet, result, events } = await rig.turn();
    await puppet.print("one\n");
    await puppet.print(envelope("report", { status: "progress", summary: "Half." }));
    await puppet.print("two\n");
    await puppet.print(REPORT);
    puppet.tell({ do: "exit", code: 0 });
    await result;
    expect(events.map((event) => (event.kind === "console" ? event.text : event.kind))).toEqual([
      "one",
      "envelope",
      "two",
    ]);
  });
});

const END: RunEnd = { cause: "exited", exit: { code: 0, signal: null }, spoke: true };

function breaking(at: "read" | "end"): Reader {
  const fail = () => {
    throw new RangeError("Invalid time value");
  };
  return {
    read: at === "read" ? fail : () => "message",
    end: at === "end" ? fail : () => ({ refused: [] }),
  };
}

test.each(["read", "end"] as const)("output on which a dialect breaks in %s fails the turn and nothing else", (at) => {
  const reader = guarded(breaking(at));
  expect(reader.read(Buffer.from("{}"), false)).toBe("message");
  expect(reader.end(END, "")).toMatchObject({ failure: { code: "malformed_output" } });
});
