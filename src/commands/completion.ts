import { script } from "@bomb.sh/tab";
import { Argument, type Command } from "commander";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { Action } from "./context/command.ts";
import { invocationName } from "./context/invocation.ts";

const SHELLS = ["bash", "zsh", "fish"];

/** `bosun completion`: prints the script that makes a shell complete commands. */
export function register(command: Command): Action<object> {
  command.addArgument(new Argument("[shell]", "your shell").choices(SHELLS));
  return async (context, [shell]) => {
    if (shell === undefined)
      return fails("usage", `Name your shell: ${SHELLS.join(", ")}.`, { hint: "bosun help completion" });
    const program = invocationName({ ...context, home: undefined }, "elsewhere");
    // The library writes to stdout itself.
    if (shell === "bash") context.terminal.out.line(bashScript(program));
    else script(shell, "bosun", program);
    return ok(EXIT_DONE);
  };
}

/**
 * The script for bash, with `program` as the command that completes. The one of `@bomb.sh/tab` needs a package of its own (bash-completion),
 * runs `$(…)` in the typed line and in candidates, and never offers files.
 */
function bashScript(program: string): string {
  return `# bash completion for bosun

_bosun() {
  local word value directive joins= words=() found=()
  # bash takes --option=value for three words.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ \${#words[@]} -gt 0 && ( $word == = || $joins ) ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == = ]]; then joins=yes; else joins=; fi
  done
  while IFS=$'\\t' read -r value _; do
    case $value in
      :*) directive=\${value#:} ;;
      *) found+=("$value") ;;
    esac
  done < <(${program} complete -- "\${words[@]}" 2>/dev/null)
  COMPREPLY=("\${found[@]}")
  # Old versions of bash have no compopt, or cannot keep the order.
  if (( directive & 32 )); then compopt -o nosort 2>/dev/null; fi
  if (( directive & 16 )); then compopt +o default -o dirnames 2>/dev/null; fi
  if (( directive & 4 )); then compopt +o default 2>/dev/null; fi
}

complete -o default -F _bosun bosun`;
}
