import { describe, expect, it } from "vitest";
import { shown } from "../../src/crew/survey/finding.ts";

describe("a file's name in a finding", () => {
  it.each(["src/a.ts", "文档/👩‍👧.md", "naïve.txt"])("is %s as it is", (file) => {
    expect(shown(file)).toBe(file);
  });

  it.each(["a\nb", "a`b", 'a"b', "a\\b", "a\u202eb", "a\u3164b", "a\u{e0041}b", "a\u001b[2Jb"])(
    "is written as JSON writes it where it is %j",
    (file) => {
      expect(JSON.parse(shown(file))).toBe(file);
      expect(shown(file)).toMatch(/^[ -~]+$/);
      expect(shown(file)).not.toContain("`");
    },
  );
});
