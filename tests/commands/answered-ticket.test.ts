import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";

it("log shows an answer with the ticket of its question", async () => {
  const here = rig();
  const crew = here.write(
    "crew.mjs",
    `import { readFileSync } from "node:fs";
    const { session_id, payload } = JSON.parse(readFileSync(0, "utf8"));
    const { role_id, message, context } = payload;
    const questions = [{ question_id: "colour", text: "Which colour?" }];
    const asked = context.clarifications.length > 0;
    const say = (payload_type, payload) => console.log(JSON.stringify(
      { session_id, source: role_id, target: "scheduler", payload_type, version: "1.0", payload }));
    if (role_id === "worker") say("report", asked ? { status: "completed", summary: "Done." } : { status: "blocked", summary: "?", questions });
    else if (message.payload_type === "requirement") say("plan", { tasks: [{ task_id: "paint", description: "Paint it" }] });
    else if (message.payload_type === "review_request") say("review", { decision: "approved" });
    else if (message.payload_type === "report" && !asked) say("clarification", { status: "open", questions });
    else say("instruction", { summary: "Paint it." });`,
  );
  const command = `${process.execPath} ${crew}`;
  expect((await typed(here, ["run", "Paint it.", "--manager", command, "--worker", command])).code).toBe(4);
  expect((await typed(here, ["answer", "colour", "blue"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(0);
  expect((await typed(here, ["log", "paint"])).stdout).toMatch(
    / paint {12}ANSWERED by \S+ \(cli\) "c1\.colour: blue"\n/,
  );
});
