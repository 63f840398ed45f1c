/** Names, ids and paths say nothing to people without their members' names. */
const TOKEN = /^[\w./:#@+-]*$/;

/** An empty line, and the fence around JSON. */
const EMPTY = /^\s*(?:```(?:json)?\s*)?$/;

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "", t: "\t", b: "", f: "" };

/**
 * What a model writes, for people who watch: text as it is, and of JSON the texts in it, without names and braces. Takes the text in any pieces and
 * shows line by line. An answer that is no valid JSON is shown somehow: whoever reads it for good reads the whole.
 */
export class Prose {
  readonly #show: (line: string) => void;
  #line = "";
  /** Open braces and brackets. Empty outside of JSON. */
  #open: string[] = [];
  /** Undefined outside of a string in JSON. */
  #string: { readonly isName: boolean } | undefined;
  #isName = false;
  /** The beginning of an escape. */
  #escape: string | undefined;

  constructor(show: (line: string) => void) {
    this.#show = show;
  }

  push(text: string): void {
    for (const character of text) {
      if (this.#string) this.#inString(character, this.#string);
      else if (this.#open.length > 0) this.#inJson(character);
      else if (character === "{" && /^\s*$/.test(this.#line)) this.#inJson(character);
      else if (character === "\n") this.#endLine(EMPTY);
      else this.#line += character;
    }
  }

  /** Shows what has no line feed. */
  end(): void {
    this.#endLine(TOKEN);
    this.#open = [];
    this.#string = undefined;
  }

  #inJson(character: string): void {
    switch (character) {
      case "{":
      case "[":
        this.#open.push(character);
        this.#isName = character === "{";
        break;
      case "}":
      case "]":
        this.#open.pop();
        break;
      case ",":
        this.#isName = this.#open.at(-1) === "{";
        break;
      case ":":
        this.#isName = false;
        break;
      case '"':
        this.#string = { isName: this.#isName };
        break;
    }
  }

  #inString(character: string, { isName }: { readonly isName: boolean }): void {
    if (this.#escape !== undefined) {
      this.#escape += character;
      const text = unescaped(this.#escape);
      if (text === undefined) return;
      this.#escape = undefined;
      if (!isName) this.#add(text);
    } else if (character === "\\") this.#escape = "";
    else if (character === '"') {
      this.#string = undefined;
      if (!isName) this.#endLine(TOKEN);
    } else if (!isName) this.#add(character);
  }

  #add(text: string): void {
    if (text === "\n") this.#endLine(EMPTY);
    else this.#line += text;
  }

  #endLine(hidden: RegExp): void {
    if (!hidden.test(this.#line)) this.#show(this.#line);
    this.#line = "";
  }
}

/** What an escape without its backslash stands for, or undefined if it goes on. */
function unescaped(escape: string): string | undefined {
  if (!escape.startsWith("u")) return ESCAPES[escape] ?? escape;
  return escape.length < 5 ? undefined : String.fromCharCode(Number.parseInt(escape.slice(1), 16) || 0x20);
}
