import { describe, expect, it, test } from "vitest";
import { Withholder } from "../../src/lib/withholder.ts";

const SECRET = 'sk-aB3/é"x\\w_9zQ';

const CHARACTERS = SECRET.split("");
const JSON_TEXT = JSON.stringify(SECRET).slice(1, -1);

/** The secret as programs print it. */
const PRINTED: readonly (readonly [how: string, text: string])[] = [
  ["as it is", SECRET],
  ["in JSON", JSON_TEXT],
  ["in JSON in JSON", JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
  [
    "in JSON with all escapes",
    CHARACTERS.map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  ],
  ["in JSON with capital escapes", JSON_TEXT.replace("é", "\\u00E9").replace("/", "\\/")],
  ["wrapped", CHARACTERS.join("\n  ")],
  ["wrapped in JSON", JSON.stringify(CHARACTERS.join("\r\n")).slice(1, -1)],
];

describe("a secret", () => {
  const secrets = new Withholder([SECRET]);

  it.for(PRINTED)("is withheld %s", ([, text]) => {
    // The first character's escape may keep its backslash.
    expect(secrets.text(`before ${text} after`).replace("\\[", "[")).toBe("before [withheld] after");
  });

  it.for([SECRET, `user:${SECRET}!`, `one ${SECRET} two`])(
    "is withheld in base64, with what is around it: %s",
    (text) => {
      for (const alphabet of ["base64", "base64url"] as const) {
        const shown = secrets.text(`before ${Buffer.from(text).toString(alphabet)} after`);
        expect(shown).toMatch(/^before .{0,8}\[withheld\].{0,8} after$/);
      }
    },
  );

  it("is withheld in the texts and names of a JSON value, which keeps its form", () => {
    const value = { list: [1, null, `x${SECRET}`], [SECRET]: { deep: SECRET, other: "y" } };
    expect(secrets.json(value)).toEqual({
      list: [1, null, "x[withheld]"],
      "[withheld]": { deep: "[withheld]", other: "y" },
    });
    const clean = { list: ["x"] };
    expect(secrets.json(clean)).toBe(clean);
  });

  it("of several lines is withheld line by line too", () => {
    const key = ["-----BEGIN KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQE", "FAASCBKcwggSjAgEAAoIBAQC", "-----END KEY-----"];
    const withholder = new Withholder([key.join("\n")]);
    expect(withholder.text(`the second is ${key[2]}.`)).toBe("the second is [withheld].");
    expect(withholder.text(key.join("\\n"))).toBe("[withheld]");
  });

  it("may go on after a part of it, in any of its forms", () => {
    const goesOn = (text: string) => secrets.mayGoOn(text);
    expect([SECRET.slice(0, 8), SECRET.slice(0, 3), `${SECRET} `, "", "sk-b"].map(goesOn)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(goesOn(Buffer.from(SECRET).toString("base64").slice(0, 9))).toBe(true);
  });

  it("too short to be told from other words is not looked for", () => {
    expect(new Withholder(["abc"]).text("the abc")).toBe("the abc");
  });
});

describe("a password in an address", () => {
  const none = new Withholder([]);

  test.for([
    ["postgres://app:s3cret@db/x", "postgres://app:[withheld]@db/x"],
    ["see http://u:p@proxy:8080 and https://:pw@h", "see http://u:[withheld]@proxy:8080 and https://:[withheld]@h"],
    ["git+ssh://git@host/x", "git+ssh://git@host/x"],
    ["http://host:8080/a@b", "http://host:8080/a@b"],
    ["10:30 a://b and c:d@e", "10:30 a://b and c:d@e"],
  ])("is withheld without any secret: %s", ([text = "", shown]) => {
    expect(none.text(text)).toBe(shown);
    expect(none.text(none.text(text))).toBe(shown);
    expect(none.json({ text })).toEqual({ text: shown });
  });
});
