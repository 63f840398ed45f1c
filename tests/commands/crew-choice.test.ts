import { describe, expect, it } from "vitest";
import { envelopeCrew, FAKE_MANAGER, FAKE_WORKER, fakePrograms } from "./fake-programs.ts";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";
import { open } from "./terminal.ts";

const REAL = {
  codex: { version: "0.169.0", turn: FAKE_MANAGER },
  claude: { version: "2.1.331", turn: FAKE_WORKER },
};

describe("a run that names no crew", () => {
  it("takes the first crew that is installed, and says so", async () => {
    const here = rig();
    envelopeCrew(here, "codex-claude", "codex", "claude");
    const pane = open(here, ["run", "Write a page about tides", "--yes", "--foreground"], fakePrograms(here, REAL));
    await pane.shows("crew codex-claude: codex 0.169.0 manages, claude 2.1.331 works");
    await pane.asks("Who will read the result?");
    expect(here.sessions()).toHaveLength(1);
  });

  it("takes the next crew if a program is missing", async () => {
    const here = rig();
    envelopeCrew(here, "claude", "claude", "claude");
    const { claude } = REAL;
    const pane = open(here, ["run", "Write a page"], fakePrograms(here, { claude: { ...claude, logged_in: false } }));
    await pane.shows("manager_claude runs claude, which is not logged in");
    await pane.shows("ANTHROPIC_API_KEY");
    expect(await pane.exit()).toBe(3);
    expect(here.sessions()).toEqual([]);
  });

  it("takes a model if there is no program and its key is set", async () => {
    const here = rig();
    const env = { ...fakePrograms(here, {}), ANTHROPIC_API_KEY: "sk-test-123456", LLM_MODEL: "claude-x" };
    const { code, stderr } = await typed(here, ["run", "Write a page"], env);
    expect([code, stderr]).toEqual([3, expect.stringContaining("--crew model")]);
  });

  it("says what to install if there is no program at all", async () => {
    const here = rig();
    const pane = open(here, ["run", "Write a page"], fakePrograms(here, {}));
    await pane.shows("npm install -g @openai/codex@latest");
    await pane.shows("bosun demo");
    expect(await pane.exit()).toBe(3);
  });

  it("takes none where no user is at a terminal, and names it", async () => {
    const here = rig();
    envelopeCrew(here, "codex", "codex", "codex");
    const { codex } = REAL;
    const { code, stderr } = await typed(here, ["run", "Write a page"], fakePrograms(here, { codex }));
    expect([code, stderr]).toEqual([3, expect.stringContaining("--crew codex")]);
  });
});

describe("a program that cannot take a turn is named before the session begins", () => {
  const seat = (worker: object) => JSON.stringify({ roles: [{ role_id: "w", type: "worker", ...worker }] });
  it.each([
    ["too old", { version: "2.0.9" }, /claude 2\.0\.9.*2\.1\.\d+ is needed[^]*npm install -g @anthropic-ai/],
    ["not logged in", { version: "2.1.331", logged_in: false }, /claude, which is not logged in[^]*ANTHROPIC_API_KEY/],
  ])("because it is %s", async (_, claude, expected) => {
    const here = rig();
    const roles = here.write("roles.json", seat({ cli_command: ["claude", "code", "cli"], dialect: "envelope" }));
    const args = ["run", "Write a page", "--manager", FAKE_MANAGER, "--roles", roles];
    const { code, stderr } = await typed(here, args, fakePrograms(here, { claude }));
    expect([code, stderr]).toEqual([3, expect.stringMatching(expected)]);
    expect(here.sessions()).toEqual([]);
  });

  it("unless a key in the environment logs it in", async () => {
    const here = rig();
    const roles = here.write("roles.json", seat({ cli_command: ["claude"], dialect: "envelope" }));
    const path = fakePrograms(here, { claude: { version: "2.1.331", logged_in: false, turn: FAKE_WORKER } });
    const args = ["run", "Write a page", "--manager", FAKE_MANAGER, "--roles", roles, "--no-input"];
    const { code } = await typed(here, args, { ...path, ANTHROPIC_API_KEY: "k" });
    expect(code).toBe(4);
  });
});
