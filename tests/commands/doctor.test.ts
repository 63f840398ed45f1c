import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";

describe("bosun roles and doctor", () => {
  it("shows who would take part, never the values of their variables", async () => {
    const here = rig();
    const roles = here.write(
      "roles.json",
      JSON.stringify({ roles: [{ role_id: "shell", type: "worker", env: { MY_KEY: "hunter2" } }] }),
    );
    const told = await typed(here, ["roles", "--crew", "embedded", "--roles", roles, "--json"]);
    expect(JSON.parse(told.stdout)).toMatchObject({
      roles: [{ role_id: "playbook" }, { role_id: "shell", env: ["MY_KEY"] }],
    });
    expect(told.stdout).not.toContain("hunter2");
  });

  it("finds everything there for the embedded crew, makes no home, and names what another crew lacks", async () => {
    const here = rig();
    const good = await typed(here, ["doctor"]);
    expect(good.code).toBe(0);
    expect(good.stdout).toContain("(made by the first run)");
    expect(here.sessions()).toEqual([]);
    const bad = await typed(here, ["doctor", "--worker", "no-such-program-here", "--json"]);
    expect(bad.code).toBe(3);
    const { findings } = JSON.parse(bad.stdout) as { findings: { name: string; state: string }[] };
    expect(findings.filter((finding) => finding.state === "missing").map((finding) => finding.name)).toEqual([
      "role worker",
    ]);
    expect((await typed(here, ["doctor", "--crew", "claude"])).code).toBe(3);
  });

  it("says of permissions that nothing keeps them yet", async () => {
    const here = rig();
    const shell = { role_id: "shell", type: "worker", permissions: { mode: "read" } };
    const told = await typed(here, [
      "doctor",
      "--crew",
      "embedded",
      "--roles",
      here.write("roles.json", JSON.stringify({ roles: [shell] })),
    ]);
    expect([told.code, told.stdout]).toEqual([
      0,
      expect.stringMatching(/--\s+role shell .*this version cannot hold it to its permissions yet/),
    ]);
  });

  it("names the proxies that agents do not get, but not what is in them", async () => {
    const here = rig();
    const proxies = { HTTPS_PROXY: "http://ada:hunter2@proxy", http_proxy: "ada@proxy", ALL_PROXY: "http://proxy" };
    const told = await typed(here, ["doctor"], proxies);
    expect([told.code, told.stdout]).toEqual([
      0,
      expect.stringContaining("--  proxy                no agent and no check gets HTTPS_PROXY and http_proxy: "),
    ]);
    expect(told.stdout).not.toMatch(/hunter2|ada@/);
    expect((await typed(here, ["doctor"], { ALL_PROXY: "http://proxy" })).stdout).not.toContain("proxy");
  });
});
