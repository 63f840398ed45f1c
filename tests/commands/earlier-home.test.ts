import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { debate } from "../../src/modes/debate/debate.ts";
import { earlierHome, VIEWS } from "../runtime/earlier-home.ts";
import { typedIn } from "./in-process.ts";

const inHome = (home: string, line: string) =>
  typedIn("/", { BOSUN_HOME: home, HOME: home, PATH: "" }, line.split(" "));

it("a home of the version before is shown as that version showed it, proved, and not written", async () => {
  const home = earlierHome();
  const before = readFileSync(join(home, "bosun.db"));
  for (const { command, shown } of VIEWS) {
    const { stdout, ...ended } = await inHome(home, command);
    const printed = typeof shown === "string" ? stdout : (JSON.parse(stdout) as unknown);
    expect({ command, ...ended, shown: printed }).toMatchObject({ command, code: 0, stderr: "", shown });
  }
  for (const session_id of ["d-closed", "d-stopped", "d-waiting"]) {
    const { stdout } = await inHome(home, `replay ${session_id} --verify --json`);
    expect(JSON.parse(stdout)).toMatchObject({ integrity: "ok", decisions: "ok", problems: [] });
  }
  expect(readFileSync(join(home, "bosun.db")).equals(before)).toBe(true);
});

it("names a debater of the version before", async () => {
  const { stderr } = await inHome(earlierHome(), "tell d-stopped sout hello");
  expect(stderr).toContain('has no debater "sout". Did you mean south?');
});

it("says of a session that a newer version wrote to update, and shows the others", async () => {
  const home = earlierHome();
  const database = new Database(join(home, "bosun.db"));
  database.exec(`INSERT INTO state VALUES (2, 'rows', 'version', '${(debate.rows ?? 1) + 1}')`);
  database.close();
  const refused = ["status", "attach", "resume", "report"].map((command) => `${command} d-stopped`);
  for (const command of [...refused, "replay d-stopped --verify"]) {
    const { code, stderr } = await inHome(home, command);
    expect({ command, code }).toEqual({ command, code: 3 });
    expect(stderr).toContain("The session d-stopped was written by a newer Bosun");
    expect(stderr).toContain("Update Bosun with `npm install -g bosun`");
  }
  for (const command of ["status d-waiting", "status --all", "inbox", "log d-stopped"])
    expect(await inHome(home, command)).toMatchObject({ code: 0, stderr: "" });
});
