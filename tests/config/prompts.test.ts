import { expect, test } from "vitest";
import { loadPrompts } from "../../src/config/prompts.ts";
import { errorOf, problemsOf, scratch, valueOf } from "./scratch.ts";

test("later folders of prompts win, and a missing one has none", () => {
  const place = scratch();
  place.write("user/ticket.md", "of the user");
  place.write("user/error.md", "of the user");
  place.write("user/.notes", "no prompt");
  const file = place.write("project/ticket.md", "of the project");
  const folders = ["nowhere", "user", "project"].map((name) => `${place.directory}/${name}`);
  const [error, ticket, ...more] = valueOf(loadPrompts(folders)).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  expect([error?.name, error?.text]).toEqual(["error", "of the user"]);
  expect(ticket).toEqual({ name: "ticket", file, text: "of the project" });
  expect(more).toEqual([]);
});

test("a prompt that no message has is refused with the nearest name, as is one that is no text", () => {
  const place = scratch();
  place.write("ticket.txt", "x");
  place.write("raport.md", "x");
  place.write("error.md", new Uint8Array([0xff, 0xfe, 0x00]));
  place.write("turn.md", "x".repeat(200_001));
  const said = problemsOf(errorOf(loadPrompts([place.directory])));
  expect(said).toEqual([
    ["error.md", expect.anything()],
    ["raport.md", expect.stringContaining("report.md")],
    ["ticket.txt", expect.stringMatching(/ticket\.md$/)],
    ["turn.md", expect.stringContaining("200,000 bytes")],
  ]);
});
