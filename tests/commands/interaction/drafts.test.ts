import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Drafts } from "../../../src/commands/interaction/questions.ts";
import type { OpenQuestion } from "../../../src/ui/waiting.ts";

const question = (id: string, more: Partial<OpenQuestion> = {}): OpenQuestion => ({
  ...{ kind: "question", ask_id: "c1", question_id: `c1.${id}`, text: "Which?", options: [], ...more },
});

const FREE = question("free");
const CLOSED = question("closed", { options: ["yes", "no"], free_text: false });

function home(): { readonly drafts: Drafts; readonly file: string; readonly folder: string } {
  const here = mkdtempSync(join(tmpdir(), "bosun-drafts-"));
  onTestFinished(() => rmSync(here, { recursive: true }));
  const folder = join(here, "sessions", "s-1");
  return { drafts: new Drafts(here, "s-1"), file: join(folder, "answers-to-send.json"), folder };
}

describe("answers that are not sent yet", () => {
  it("are kept by question, and forgotten once they are sent", () => {
    const { drafts, file } = home();
    expect(drafts.of([FREE])).toEqual(new Map());
    drafts.keep("c1.free", "one");
    drafts.keep("c1.closed", "no");
    drafts.keep("c1.free", "two");
    expect([...drafts.of([CLOSED, FREE])]).toEqual([
      ["c1.closed", "no"],
      ["c1.free", "two"],
    ]);
    drafts.forget(["c1.free", "c1.other"]);
    expect([...drafts.of([CLOSED, FREE])]).toEqual([["c1.closed", "no"]]);
    drafts.forget(["c1.closed"]);
    expect(existsSync(file)).toBe(false);
  });

  it.each(["", "{", "[]", "null", '{"c1.free":7,"c1.closed":"maybe"}'])(
    "are none if the file has %j, whoever wrote it",
    (content) => {
      const { drafts, file, folder } = home();
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, content);
      expect(drafts.of([FREE, CLOSED, question("q", { question_id: "toString" })])).toEqual(new Map());
      expect(drafts.keep("c1.free", "one")).toEqual({ ok: true });
      expect([...drafts.of([FREE])]).toEqual([["c1.free", "one"]]);
    },
  );

  it("are told to be lost where they cannot be written", () => {
    const { drafts, file } = home();
    mkdirSync(file, { recursive: true });
    expect(drafts.keep("c1.free", "one")).toMatchObject({ ok: false, error: { code: "storage" } });
    drafts.forget(["c1.free"]);
  });
});
