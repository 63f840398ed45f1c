import { ENVELOPES_ID, type PageData, type PageEnvelope } from "../page-data.ts";
import type { Detail } from "./detail.ts";
import { dataOf } from "./dom.ts";
import type { ListSource } from "./list.ts";

/** The list of envelopes. Each block is parsed when it is needed, because a whole log takes a while. */
export class Envelopes implements ListSource {
  readonly title = "Envelopes";
  readonly empty = "There are no records.";
  readonly columns = [
    { heading: "#", width: 7, align: "right" },
    { heading: "time (UTC)", width: 13 },
    { heading: "from → to", width: 24 },
    { heading: "type", width: 23 },
    { heading: "ticket", width: 18 },
    { heading: "what" },
  ] as const;
  readonly #data: PageData;
  readonly #show: (detail: Detail) => void;
  readonly #blocks = new Map<number, readonly PageEnvelope[]>();
  readonly #haystacks: (string | undefined)[] = [];

  constructor(data: PageData, show: (detail: Detail) => void) {
    this.#data = data;
    this.#show = show;
  }

  get length(): number {
    return this.#data.envelopes;
  }

  cells(index: number): readonly string[] {
    const envelope = this.#envelope(index);
    if (envelope === undefined) return [];
    const [sequence, after, source, target, type, ticket, disposition, line] = envelope;
    const what = disposition === "" ? line : `${disposition}: ${line}`;
    return [String(sequence), this.#time(after).slice(11, 23), `${source} → ${target}`, type, ticket, what];
  }

  tone(index: number): string {
    return this.#envelope(index)?.[6] === "" ? "" : "aside";
  }

  haystack(index: number): string {
    const known = this.#haystacks[index];
    if (known !== undefined) return known;
    const text = `#${this.cells(index).join(" ")} ${this.#envelope(index)?.[8] ?? ""}`.toLowerCase();
    this.#haystacks[index] = text;
    return text;
  }

  open(index: number): void {
    const envelope = this.#envelope(index);
    if (envelope === undefined) return;
    const [sequence, after, source, target, type, ticket, disposition, line, payload] = envelope;
    const about: [string, string][] = [
      ["time", this.#time(after)],
      ["from", source],
      ["to", target],
      ["ticket", ticket],
      ["disposition", disposition],
      ["what", line],
    ];
    this.#show({
      title: `#${sequence} ${type}`,
      details: [...about.filter(([, text]) => text !== ""), ["payload", indented(payload), "code"]],
    });
  }

  #time(after_ms: number): string {
    return new Date(this.#data.began + after_ms).toISOString();
  }

  #envelope(index: number): PageEnvelope | undefined {
    const number = Math.floor(index / this.#data.block);
    const block =
      this.#blocks.get(number) ?? (dataOf(`${ENVELOPES_ID}${number}`) as readonly PageEnvelope[] | undefined) ?? [];
    this.#blocks.set(number, block);
    return block[index % this.#data.block];
  }
}

/** Indents JSON. A payload that was cut stays as it is. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}
