import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { shellWord } from "../src/lib/shell-word.ts";

const TIMEOUT_MS = 60_000;

/** A real terminal (tmux) with a command in it, whose screens can be kept. */
export class Terminal {
  readonly #socket: string;

  constructor(command: string, directory: string, columns: number, rows: number, environment: Record<string, string>) {
    this.#socket = `bosun-recording-${process.pid}-${columns}x${rows}`;
    // Not with tmux's own option, because the start-up files of a shell may set the same variables.
    const variables = Object.entries(environment).map(([name, value]) => shellWord(`${name}=${value}`));
    const size = ["-x", String(columns), "-y", String(rows)];
    // The shell keeps the last screen.
    const words = `env ${variables.join(" ")} ${command}; exec cat`;
    this.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", directory, words);
    this.#tmux("set-option", "-g", "status", "off");
  }

  /** Types; names such as `Enter`, `Escape` and `C-c` are keys. */
  type(...keys: string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** What is on the screen now. */
  screen(): string {
    return this.#tmux("capture-pane", "-p");
  }

  /** The same with its escape sequences for styles. */
  styled(): string {
    return this.#tmux("capture-pane", "-p", "-e");
  }

  /** Waits until a text is on the screen. */
  async shows(text: string): Promise<void> {
    for (let waited = 0; !this.screen().includes(text); waited += 50) {
      if (waited > TIMEOUT_MS) throw new Error(`"${text}" is not on the screen, which is\n${this.screen()}`);
      await delay(50);
    }
  }

  end(): void {
    spawnSync("tmux", ["-L", this.#socket, "kill-server"]);
  }

  #tmux(...args: string[]): string {
    return execFileSync("tmux", ["-L", this.#socket, ...args], { encoding: "utf8" });
  }
}

/** The colours of a dark terminal by the codes of SGR. */
const COLOURS: Readonly<Record<number, string>> = {
  31: "#f47067",
  32: "#6bc46d",
  33: "#e0b95b",
  36: "#56b6c2",
};

/** A screen with styles as a page of its own, to make a picture of. */
export function pageOf(styled: string): string {
  let colour = "";
  let weight = "";
  let opacity = "";
  // oxlint-disable-next-line no-control-regex -- the sequences of styles
  const parts = styled.trimEnd().split(/\u001B\[([\d;]*)m/);
  const html = parts.map((part, index) => {
    if (index % 2 === 0) return `<span style="${colour}${weight}${opacity}">${escaped(part)}</span>`;
    for (const code of part.split(";").map(Number)) {
      if (code === 0 || code === 39) colour = "";
      if (code === 0 || code === 22) weight = opacity = "";
      if (code === 1) weight = "font-weight:bold;";
      if (code === 2) opacity = "opacity:0.6;";
      if (COLOURS[code] !== undefined) colour = `color:${COLOURS[code]};`;
    }
    return "";
  });
  return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #1d2027; }
pre { margin: 0; padding: 14px 16px; font: 14px/1.25 "DejaVu Sans Mono", monospace; color: #d5d9e0; display: inline-block; }
</style><pre>${html.join("")}</pre>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
