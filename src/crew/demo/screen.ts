import { relative } from "node:path";
import { styleText } from "node:util";
import { jsonEscaped, replaceEachUnsafe, replaceUnsafe, withoutSequences } from "../../lib/terminal-text.ts";
import { wrap } from "../../lib/text-layout.ts";

const WIDTH = 80;
/** Minimum number of columns for a text beside its label. */
const MIN_TEXT = 16;
const NAME_WIDTH = 11;
const TICKET_WIDTH = 10;

export type Style = Parameters<typeof styleText>[0];

/** The demo's output: numbered sections for people, one JSON object per section for programs, or nothing. */
export class Screen {
  readonly #reporter: string;
  readonly #directory: string;
  readonly #write: (text: string) => void;
  readonly #width: number;
  #sections = 0;

  /** Paths below `directory` are printed relative to it. `columns` is the terminal's width, if there is a terminal. */
  constructor(reporter: string, directory: string, write: (text: string) => void, columns = WIDTH) {
    this.#reporter = reporter;
    this.#directory = directory;
    this.#write = write;
    this.#width = Math.min(columns || WIDTH, WIDTH);
  }

  /** Starts a section. Programs get its type and facts, people the title. */
  section(type: string, facts: object, title: string): void {
    if (this.#reporter === "json") {
      this.#write(`${replaceEachUnsafe(JSON.stringify({ type, ...facts }), jsonEscaped)}\n`);
    }
    this.#sections += 1;
    this.blank();
    this.#print(`${this.#sections}  `, title, "bold", "bold");
  }

  blank(): void {
    this.#line("");
  }

  say(text: string, indent = 3, style?: Style): void {
    this.#print(" ".repeat(indent), text, undefined, style);
  }

  row(name: string, text: string): void {
    this.#print(`   ${name.padEnd(NAME_WIDTH)}`, text, "dim");
  }

  /** A row for copying: its text is never wrapped. */
  copyable(name: string, text: string, width = NAME_WIDTH): void {
    this.#line(`   ${styled("dim", name.padEnd(width))}${safe(text)}`);
  }

  kept(text: string): void {
    this.#print("   ok ", text, "green");
  }

  /** Prints a line about a ticket, with the time since the demo started. */
  work(ticket: string, text: string, style?: Style, evidence: readonly string[] = []): void {
    const time = (performance.now() / 1000).toFixed(1).padStart(6);
    const label = `${time}s  ${ticket.slice(0, TICKET_WIDTH).padEnd(TICKET_WIDTH)}  `;
    this.#print(label, text, "dim", style);
    for (const line of evidence) this.say(line, label.length + 2, "dim");
  }

  /** The shorter form of a path: absolute, or relative to the current directory. */
  path(path: string): string {
    const near = relative(this.#directory, path);
    return near !== "" && !near.startsWith("..") && near.length < path.length ? near : path;
  }

  /** Prints a label and its text, wrapped into a column of its own. */
  #print(label: string, text: string, labelStyle?: Style, textStyle?: Style): void {
    const lines = wrap(safe(text), Math.max(this.#width - label.length, MIN_TEXT));
    for (const [index, line] of lines.entries()) {
      const start = index === 0 ? styled(labelStyle, safe(label)) : " ".repeat(label.length);
      this.#line(start + styled(textStyle, line));
    }
  }

  #line(text: string): void {
    if (this.#reporter === "plain") this.#write(`${text}\n`);
  }
}

export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

function styled(style: Style | undefined, text: string): string {
  return style === undefined ? text : styleText(style, text, { stream: process.stdout });
}

/** Text from agents on one line, without control characters. */
function safe(text: string): string {
  return replaceUnsafe(withoutSequences(text), () => " ");
}
