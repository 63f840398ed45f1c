import { describe, expect, it } from "vitest";
import { stoppingWords } from "../../src/ui/stopping.ts";

describe("the message of a stop", () => {
  const stopping = (running: number, reason: "signal" | "limit" | "waiting" | "manager_failed" = "signal") =>
    ({ kind: "stopping", reason, running }) as const;
  const here = { kill_grace_s: 5 };

  it("says how long the agents get, and that another Ctrl-C kills them", () => {
    expect(stoppingWords(stopping(2), here)).toMatch(/2 agents .*\(5s\).*Ctrl-C .*kill/);
    expect(stoppingWords(stopping(1), { ...here, elsewhere: { ctrl_c: "stops", skipped: 0 } })).toContain("Ctrl-C");
  });

  it("does not mention agents when none are running", () => {
    expect(stoppingWords(stopping(0), here)).toMatch(/^Stopping: no agent .*Ctrl-C/);
    expect(stoppingWords(stopping(0), here)).not.toMatch(/asked|kill/);
  });

  it("offers no Ctrl-C where it only detaches, and no time that is not known", () => {
    const attached = { kill_grace_s: 0, elsewhere: { ctrl_c: "detaches", skipped: 3 } } as const;
    for (const running of [0, 1]) expect(stoppingWords(stopping(running), attached)).not.toMatch(/Ctrl-C|\(/);
  });

  it("is left out if neither a signal nor a person stops the session", () => {
    for (const reason of ["limit", "waiting", "manager_failed"] as const)
      expect(stoppingWords(stopping(1, reason), here)).toBeUndefined();
  });
});
