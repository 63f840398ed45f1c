import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

const OWN = {
  DB_PASS: "correct horse battery",
  GH_PAT: "swordfish",
  PASSPHRASE: "open sesame",
  DATABASE_URL: "postgres://app:pw8Xq2Lm@db/prod",
  SETTING: "k3y-without-a-telling-name-9f8e7d",
};
const PASSED = { MY_LOGIN: "p4ssed-0n-by-name" };
/** What no file and no screen may have. */
const SECRETS = [...Object.values(OWN), "pw8Xq2Lm", ...Object.values(PASSED)];

/** A worker that says all its secrets in every way, and leaves them for its check. */
const LEAKS = `
const names = ${JSON.stringify([...Object.keys(OWN), ...Object.keys(PASSED)])};
const { session_id, payload } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const all = names.map((name) => process.env[name]);
for (const secret of all) {
  console.log("secret " + secret + " and " + Buffer.from(secret).toString("base64"));
  console.log("the first half is " + secret.slice(0, 6) + "\\n" + secret.slice(6) + " the second");
  console.error("failed with " + secret);
}
require("node:fs").writeFileSync("leak.txt", all.join("\\n"));
const said = { summary: all.join(", "), outputs: all, evidence: all.map((text) => Buffer.from(text).toString("base64")),
  issues: all.map((text) => text.slice(0, 5) + "\\n" + text.slice(5)), next_actions: ["see https://me:hunter@host/"] };
console.log(JSON.stringify({ session_id, source: payload.role_id, target: "scheduler", payload_type: "report", version: "1.0",
  payload: { status: "completed", ...said } }));
`;

async function leaked(here: Rig): Promise<string> {
  const worker = { role_id: "worker", type: "worker", cli_command: [process.execPath, here.write("leaks.cjs", LEAKS)] };
  const roles = [
    { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] },
    { ...worker, env: OWN, pass_env: Object.keys(PASSED) },
  ];
  const check = { text: "it is there", command: ["sh", "-c", "cat leak.txt; exit 1"] };
  const task = { task_id: "a", shell: "true", more: { acceptance_criteria: [check] } };
  const notify = { command: ["sh", "-c", "cat >>told"], on: ["stopped", "closed", "question"] };
  const config = { max_retries: 0, check_rounds: 0, max_escalations: 0, notify };
  const args = [
    "--plan",
    here.write("plan.json", tinyPlan([task])),
    "--roles",
    here.write("roles.json", JSON.stringify({ roles })),
  ];
  const ran = await here.run(
    ["run", ...args, "--config", here.write("config.json", JSON.stringify(config)), "--yes", "--no-input"],
    { env: PASSED },
  );
  return ran.stdout + ran.stderr;
}

function found(text: string): string[] {
  const joined = text.replaceAll(/\\\\n|\\s/g, "");
  const encoded = SECRETS.map((secret) => Buffer.from(secret).toString("base64"));
  const whole = [...SECRETS, ...encoded].filter((secret) => text.includes(secret));
  return [...whole, ...SECRETS.filter((secret) => joined.includes(secret.replaceAll(" ", "")))];
}

describe("secrets of roles that their programs print", () => {
  it("are in no file of the home, on no screen and in no notification", async () => {
    const here = rig();
    const screens = [await leaked(here)];
    const session_id = await onlySession(here);
    const page = join(here.workspace, "page.html");
    for (const args of [
      ["log", session_id, "--verbose"],
      ["log", session_id, "a"],
      ["replay", session_id, "--json"],
      ["status", session_id, "--json"],
      ["report", session_id],
      ["report", session_id, "--md"],
      ["report", session_id, "--html", page],
    ]) {
      const { stdout, stderr } = await typed(here, args);
      screens.push(stdout + stderr);
    }
    screens.push(readFileSync(page, "utf8"), readFileSync(join(here.workspace, "told"), "utf8"));
    expect(screens.map(found)).toEqual(screens.map(() => []));
    // What was withheld was there.
    expect(screens.join("")).toContain("[withheld]");
    expect(screens.join("")).toContain("https://me:[withheld]@host/");
    const files = readdirSync(here.home, { recursive: true, encoding: "utf8", withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => found(readFileSync(file, "latin1")).length > 0)).toEqual([]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});
