/** What a program may ask for, or do. A program that speaks envelopes is told no permissions: only its sandbox keeps it. */
export type Kind = keyof typeof TABLE;

/** Who holds the program to the role's permissions: only what Bosun decides is granted by it unasked. */
type Cell = readonly [by: "Bosun" | "its program" | "its sandbox" | "you", compared: string];

/** Who decides what of each dialect, and what is compared. docs/agents/permissions.md shows this table to users. */
export const TABLE = {
  run: {
    claude: ["its program", "the command, with its rules `Bash(npm test)`; more comes to you, with its whole input"],
    codex: ["Bosun", "outside of Codex's sandbox: the command, its real folder, and every other member of the request"],
    opencode: ["its program", "the command, with its rules of `bash`; other commands are denied"],
    acp: ["Bosun", "the command, its real folder, and every other member of the input"],
  },
  read: {
    claude: ["its program", "the path as it resolves it: the workspace and the session's files; more comes to you"],
    codex: ["its sandbox", "nothing: Codex's sandbox lets commands read everywhere"],
    opencode: ["its program", "the path, with its rules of `external_directory`; other folders are denied"],
    acp: ["Bosun", "the real path of every text of the input and the locations that could be one"],
  },
  write: {
    claude: [
      "its program",
      "the path as it resolves it: the workspace, the artifacts; more comes to you with its contents",
    ],
    codex: ["its sandbox", "the real path; more comes to you, with the patch and what else it would open"],
    opencode: ["its program", "the path, with its rules of `edit` and `external_directory`; others are denied"],
    acp: ["Bosun", "the real path of every text of the input and the locations that could be one"],
  },
  protected: {
    claude: ["its program", "the path as it resolves it: `.git` comes to you, `.bosun` is denied"],
    codex: ["its sandbox", "the real path: `.git` comes to you, unless `commands` name git; `.bosun` is open"],
    opencode: ["its program", "the path: denied"],
    acp: ["you", "the real path, at any depth and in any case"],
  },
  fetch: {
    claude: ["its program", "the tools `WebFetch` and `WebSearch`, which are allowed, absent, or come to you"],
    codex: ["its sandbox", "its network access; a host that it asks for comes to you"],
    opencode: ["its program", "the tools `webfetch`, `websearch` and `codesearch`"],
    acp: ["Bosun", "the kind of the tool; with `network: true` also the real path of every text but http addresses"],
  },
  other: {
    claude: ["its program", "its own rules; what it asks comes to you, with its whole input"],
    codex: ["you", "rights that it asks for, all of them, for one turn"],
    opencode: ["its program", "its own rules"],
    acp: ["you", "the whole input"],
  },
} as const satisfies Record<string, Record<string, Cell>>;
