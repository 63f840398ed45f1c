import { expect, it } from "vitest";
import { connect } from "./mcp-client.ts";
import { rig, tinyPlan } from "./rig.ts";

it("tells how sessions stand, and what is wrong with a call", async () => {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true" }]));
  const served = await connect(here);
  expect(served.client.getServerVersion()).toMatchObject({ name: "bosun" });
  expect((await served.call("session_status")).value).toEqual({ sessions: [] });
  expect((await here.run(["run", "--plan", plan, "--session", "s-one", "--no-input"])).code).toBe(0);
  const { isError, text, value } = await served.call("session_status", { session: "s-one" });
  expect([isError, JSON.parse(text)]).toEqual([false, value]);
  expect(value).toMatchObject({
    session_id: "s-one",
    outcome: "done",
    tickets: [{ ticket_id: "one", status: "done" }],
  });
  expect((await served.call("session_status")).value).toMatchObject({ sessions: [{ session_id: "s-one" }] });
  const unknown = await served.call("session_stat");
  expect([unknown.isError, unknown.text]).toEqual([true, expect.stringContaining("session_status")]);
  const wrong = await served.call("session_status", { sesion: "s-one" });
  expect([wrong.isError, wrong.text]).toEqual([true, expect.stringContaining('did you mean "session"?')]);
  const none = await served.call("session_status", { session: "s-none" });
  expect(none).toMatchObject({ isError: true, value: { error: { code: "not_found" } } });
});
