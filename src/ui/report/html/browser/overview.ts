import type { ResultPart } from "../../../../kernel/presentation.ts";
import type { PageData, PageProof } from "../page-data.ts";
import { make } from "./dom.ts";

/** The header of the page: what was wanted, how it ended, and the figures. */
export function overview({ title, session_id, outcome, tone, facts, parts }: PageData): HTMLElement[] {
  const figures = make("dl", "facts");
  for (const [label, text] of facts) figures.append(make("div", "", make("dt", "", label), make("dd", "", text)));
  const named = make("p", "named", make("span", `badge ${tone}`, outcome), " ", make("code", "", session_id));
  return [make("h1", "", title), named, figures, ...parts.map(partOf)];
}

function partOf({ title, text, points }: ResultPart): HTMLElement {
  const list = make("ul", "", ...points.map((point) => make("li", "", point)));
  return make("article", "", make("h3", "", title), make("p", "", text), ...(points.length > 0 ? [list] : []));
}

/** What the log proves. */
export function proofOf({ tone, word, lines, problems }: PageProof): HTMLElement[] {
  const table = make("dl", "proof");
  for (const [tone, name, text] of lines) table.append(make("dt", tone, name), make("dd", "", text));
  const list = make("ul", "problems", ...problems.map((problem) => make("li", "", problem)));
  return [
    make("h2", "", "Verification ", make("span", `badge ${tone}`, word)),
    table,
    ...(problems.length > 0 ? [list] : []),
  ];
}
