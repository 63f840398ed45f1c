import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import type { UnsealedRecord } from "../../../src/protocol/record.ts";
import { RecordFormatter } from "../../../src/ui/record-formatter.ts";
import { BRIEF } from "../../../src/ui/record-event.ts";
import type { Line } from "../../../src/ui/tui/line.ts";
import type { Scene } from "../../../src/ui/tui/scene.ts";
import { Stories } from "../../../src/ui/tui/stories.ts";
import { modelOf } from "../records.ts";

/** The dashboard's scene five seconds after the last of these records. */
export function sceneOf(records: readonly UnsealedRecord[], more: Partial<Scene> = {}): Scene {
  const { presentation = schedulePresentation } = more;
  const model = modelOf(records);
  const stories = new Stories();
  const formatter = new RecordFormatter();
  for (const record of records) {
    const at = Date.parse(record.record.received_at);
    for (const { ticket, text, style } of formatter.format(record, { ...BRIEF, presentation }))
      stories.add({ at, ticket, text, style });
  }
  return {
    model,
    presentation,
    now: Date.parse(model.at) + 5_000,
    events: stories.events,
    story: (id) => stories.of(id),
    answer: "bosun answer s-1 c1.q1 …",
    steers: true,
    diffs: true,
    merges: false,
    outages: [],
    ctrl_c: "stops",
    detaches: true,
    notice: undefined,
    ...more,
  };
}

/** Texts that would corrupt a screen. */
export const HOSTILE = [
  "\u001B]52;c;cm0gLXJm\u0007\u001B[2J\u001B[31mred",
  "a\rb\bc\u202Etxt.exe\u200B\u0000",
  "漢字かな交じり文の題名はとても長い",
  "👩‍👩‍👧‍👦🇨🇭👍🏽é̂̂̂̂̂̂",
  "</script><img src=x onerror=alert(1)>",
  "x".repeat(5_000),
  "",
];

/** The text of a screen. Times of day are masked, because they depend on the time zone. */
export function textOf(lines: readonly Line[]): string {
  const texts = lines.map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
  return texts.join("\n").replace(/\d\d:\d\d:\d\d/g, "hh:mm:ss");
}
