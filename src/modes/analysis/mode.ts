import { valueFitting } from "../../kernel/kit/json-schema.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import { seated, seatOf } from "../../kernel/kit/speakers.ts";
import { from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { analysis } from "./analysis.ts";

export const analysisMode = modeOf(analysis, {
  begin: ({ reader, schema }, { payload: { roles } }) => ({
    self: defined({ schema }),
    subjects: [seated(reader, roles)],
  }),
  seat: (_self, reader) => ({ seat: seatOf(reader), message: "requirement" }),
  retries: ({ max_retries }) => Math.min(max_retries, 2),
  question({ self: { opened, schema } }) {
    const read = (field: string) => from(opened, `/input/${field}`);
    const about = { session_id: read("transcript/session_id"), up_to: read("transcript/up_to") };
    const metadata = { ...about, ...defined({ schema: schema && read("schema") }) };
    return { payload: { text: read("prompt") }, context: { transcript: read("transcript/entries"), metadata } };
  },
  goOn(draft) {
    for (const { id } of draft.all()) draft.offer(id);
  },
  answered(draft, fact, reader) {
    if (fact.payload_type !== "report" || !reader) return undefined;
    const lacking = lackingIn(fact.payload, "the reader answers with its analysis");
    if (lacking) return lacking;
    const { schema } = draft.self;
    const read = schema && valueFitting(fact.payload.summary ?? "", schema, "/summary");
    if (read?.ok === false) return read.error;
    draft.move(reader.id, "answered");
    draft.patchSubject(reader.id, { said: fact.sequence });
    draft.patch({ value: read?.value });
    draft.finish("done");
    return undefined;
  },
  spent(draft, { id }, code) {
    draft.move(id, "failed", code);
    draft.finish("failed", "no_analysis");
  },
  drop: (draft, _analyst, reason) => draft.finish("cancelled", reason),
  result(session) {
    const { opened, value } = session.self;
    const [{ id, said } = { id: "" }] = session.all();
    const read = (field: string) => from(opened, `/input/transcript/${field}`);
    const result = said === undefined || value !== undefined ? value : from(said, "/summary");
    return { reader: id, subject_session: read("session_id"), up_to_seq: read("up_to"), ...defined({ result }) };
  },
});
