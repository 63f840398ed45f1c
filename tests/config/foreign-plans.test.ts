import { describe, expect, test } from "vitest";
import { foreignPlan } from "../../src/config/foreign-plans.ts";
import { loadPlan } from "../../src/config/plan-file.ts";
import type { Task } from "../../src/protocol/payload.ts";
import { errorOf, problemsOf, scratch, valueOf } from "./scratch.ts";

/** The tasks of a list and its form, each task by its id: what it depends on. */
async function graphOf(name: string, text: string) {
  const { plan, format } = valueOf(await loadPlan(scratch().write(name, text)));
  return {
    format,
    tasks: Object.fromEntries(plan.tasks.map(({ task_id, dependencies = [] }) => [task_id, dependencies])),
  };
}

async function tasksOf(name: string, text: string): Promise<readonly Task[]> {
  return valueOf(await loadPlan(scratch().write(name, text))).plan.tasks;
}

async function problemsIn(name: string, text: string) {
  return problemsOf(errorOf(await loadPlan(scratch().write(name, text))));
}

const SPEC_KIT = `# Tasks: rate limits

**Input**: design documents

## Phase 1: Setup

- [x] T001 Create the project
- [ ] T012 [P] [US1] Create the \`Bucket\` model in src/bucket.ts
- [ ] T013 [P] [US1] Create the \`Clock\` in src/clock.ts
- [ ] T014 [US1] Implement the limiter in src/limiter.ts (depends on T001, T012, T013)

**Checkpoint**: the limiter works

## Phase 2

- [ ] T015 Document it
  in the README,
  - with an example
  - _Requirements: 1.2_

  and with its limits.

- [ ] Release
  Depends on: T014 and T015
`;

describe("a Markdown task list", () => {
  test("is a plan of its open items, by their words, with what is written below them", async () => {
    const tasks = await tasksOf("tasks.md", SPEC_KIT);
    expect(tasks.map(({ task_id, dependencies }) => [task_id, dependencies])).toEqual([
      ["t012-p-us1-create-the-bucket-model-in-src-bucket", undefined],
      ["t013-p-us1-create-the-clock-in-src-clock-ts", undefined],
      [
        "t014-us1-implement-the-limiter-in-src-limiter-ts",
        ["t012-p-us1-create-the-bucket-model-in-src-bucket", "t013-p-us1-create-the-clock-in-src-clock-ts"],
      ],
      ["t015-document-it", undefined],
      ["release", ["t014-us1-implement-the-limiter-in-src-limiter-ts", "t015-document-it"]],
    ]);
    expect(tasks[3]?.description).toBe(
      "T015 Document it\n  in the README,\n  - with an example\n  - _Requirements: 1.2_\n\n  and with its limits.",
    );
  });

  test("has parts that wait for what their whole waits for, and are done before it", async () => {
    const text = `* [ ] build
* [ ] ship (after: build)
\t1. [x] write the notes
\t2. [ ] tag (after: write the notes)
\t3. [ ] upload (after: tag)
* [x] old
  * [ ] but this is open
`;
    expect(await graphOf("PLAN", text)).toEqual({
      format: "markdown",
      tasks: {
        build: [],
        ship: ["build", "tag", "upload"],
        tag: ["build"],
        upload: ["tag", "build"],
        "but-this-is-open": [],
      },
    });
    const [, ship, tag] = await tasksOf("PLAN", text);
    expect(ship?.description).toContain("tag, upload");
    expect(tag?.description).toContain("Part of: ship");
  });

  test("gives items with the same or with no Latin words ids of their own", async () => {
    const text =
      "- [ ] Test it!\r\n- [ ] Test it\r\n- [ ] 写文档\r\n- [ ] [Read](http://x.example) (after: 写文档, test-it-2)\r\n";
    const { tasks } = await graphOf("tasks.md", text);
    expect(tasks).toEqual({ "test-it": [], "test-it-2": [], "item-3": [], read: ["item-3", "test-it-2"] });
  });

  test("has no items in code, and none in the texts of a plan file", async () => {
    expect(await graphOf("t.md", "- [ ] one\n\n```\n- [ ] two\n```\n")).toMatchObject({ tasks: { one: [] } });
    const plan = "tasks:\n  - task_id: a\n    description: |\n      Do\n      - [ ] this\n";
    expect(foreignPlan("plan.yaml", plan)).toBeUndefined();
    expect(await graphOf("plan.yaml", plan)).toEqual({ format: "plan_file", tasks: { a: [] } });
  });

  test("is refused at the item whose dependency is unknown or may be several", async () => {
    const text = "- [ ] test the client\n- [ ] test the server\n- [ ] ship (after: test, biuld)\n- [x] done\n";
    expect(await problemsIn("tasks.md", text)).toEqual([
      ["3:1", expect.stringMatching(/"ship" depends on "test", which may be test-the-client or test-the-server/)],
      ["3:1", expect.stringMatching(/"ship" depends on "biuld", which is not in this list .*how that begins/)],
    ]);
    expect(await problemsIn("tasks.md", "- [x] one\n- [x] two\n")).toEqual([["1:1", expect.stringContaining("left")]]);
  });
});

const MASTER = {
  tasks: [
    { id: 1, title: "Set up", description: "The project.", status: "done", dependencies: [], subtasks: [] },
    {
      id: 2,
      title: "Limit requests",
      description: "Per key.",
      details: "Use a token bucket.",
      testStrategy: "Send 11 requests; the last is refused. $(touch x)",
      status: "in-progress",
      priority: "high",
      dependencies: [1],
      subtasks: [
        { id: 1, title: "Count", description: "Requests.", status: "done", dependencies: [] },
        { id: 2, title: "Refuse", description: "With 429.", status: "pending", dependencies: [1] },
        { id: 3, title: "Tell", description: "The rest.", status: "pending", dependencies: [2, "4"] },
      ],
    },
    { id: 3, title: "Document", description: "Limits.", status: "pending", dependencies: [1, 2], subtasks: [] },
    { id: "4", title: "Headers", description: "Names.", status: "pending", dependencies: [] },
    { id: 5, title: "Later", description: "Some day.", status: "deferred", dependencies: [3] },
  ],
  metadata: { created: "2026-01-02T03:04:05.000Z", description: "Tasks for master context" },
};

describe("tasks.json of Task Master", () => {
  test("is a plan of its open tasks and their subtasks", async () => {
    const graph = { "2": ["2.2", "2.3"], "2.2": [], "2.3": ["2.2", "4"], "3": ["2"], "4": [] };
    expect(await graphOf("tasks.json", JSON.stringify(MASTER))).toEqual({ format: "task_master", tasks: graph });
    const [limit, refuse] = await tasksOf("tasks.json", JSON.stringify(MASTER));
    expect(limit?.description).toContain("Limit requests\n\nPer key.\n\nUse a token bucket.");
    expect(refuse?.description).toContain("Part of: Limit requests");
    // Words, which no check runs.
    expect(limit?.acceptance_criteria).toEqual([MASTER.tasks[1]?.testStrategy]);
  });

  test.each([
    ["the only tag", { master: MASTER }, "tag master", "2"],
    ["the only tag with open tasks", { master: { tasks: [MASTER.tasks[0]] }, next: MASTER }, "tag next", "2"],
    ["master, of several tags", { a: { tasks: [MASTER.tasks[3]] }, master: MASTER }, "tag master", "2"],
  ])("is read as %s", async (_, tags, about, first) => {
    const { plan } = valueOf(await loadPlan(scratch().write("tasks.json", JSON.stringify(tags))));
    expect([plan.summary, plan.tasks[0]?.task_id]).toEqual([expect.stringContaining(about), first]);
  });

  test("is refused at the task that is wrong", async () => {
    const task = (id: number, more: object) => ({ id, title: `T${id}`, status: "pending", ...more });
    const wrong = [
      task(1, { dependencies: [3] }),
      task(2, { dependencies: [9], title: 5 }),
      task(3, { status: "deferred" }),
    ];
    const text = JSON.stringify({ master: { tasks: wrong } }, null, 1);
    expect(await problemsIn("tasks.json", text)).toEqual([
      ["4:4", expect.stringMatching(/"T1" depends on "3", which is put off or cancelled .*open or done/)],
      ["12:4", expect.stringMatching(/"2" depends on "9", which is not in this list/)],
    ]);
    const nameless = JSON.stringify({ tasks: [task(1, {}), { title: "No id" }] }, null, 1);
    expect(await problemsIn("tasks.json", nameless)).toEqual([["8:3", expect.stringContaining("task_id")]]);
  });
});

describe("issues of GitHub", () => {
  const issues = [
    { body: "It breaks.\r\n\r\n**Depends on:** #4, #12 and #2\r\nblocked by #5", labels: [], number: 7, title: "Top" },
    {
      body: "",
      labels: [{ id: "LA_1", name: "bug", description: "", color: "d73a4a" }],
      number: 5,
      title: "Base \ud83d",
    },
    { body: "Related to #7.", labels: [], number: 4, title: "Other" },
  ];

  test("are a plan; those that are not listed are taken as closed, and named", async () => {
    const text = JSON.stringify(issues);
    expect(await graphOf("standard input", text)).toEqual({
      format: "github_issues",
      tasks: { "issue-7": ["issue-4", "issue-5"], "issue-5": [], "issue-4": [] },
    });
    const { plan } = valueOf(await loadPlan(scratch().write("issues.json", text)));
    expect(plan.summary).toMatch(/taken as done: #12, #2\.$/);
    expect(plan.tasks[1]?.description).toBe("Base \ufffd (#5)\n\nLabels: bug");
  });

  test("are refused at the issue without a number", async () => {
    const text = JSON.stringify([issues[2], { title: "No number" }]);
    expect(await problemsIn("issues.json", text)).toEqual([
      [`1:${text.indexOf('{"title":"No') + 1}`, expect.stringContaining("id")],
    ]);
  });
});

test.each([
  ["a list of something else", "[1, 2]", "an object"],
  ["tasks of a plan file with a mistake", '{"tasks": [{"task_id": "a", "title": "A", "id": 1}]}', "title"],
  ["an object of something else", '{"master": {"tasks": []}}', "master"],
  ["a text", "Do this, and that.", "an object"],
])("%s is refused as a plan file", async (_, text, what) => {
  const problems = await problemsIn("x.yaml", text);
  expect(problems.map(([, said]) => said).join()).toContain(what);
});
