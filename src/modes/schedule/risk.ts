import type { Task } from "../../protocol/payload.ts";
import type { Settings } from "./state.ts";

/** Words that mark an output as risky, if the configuration names none. */
const RISKY: readonly string[] = [
  ...["deploy", "deploys", "deployed", "deploying", "deployment", "deployments", "production"],
  ...["release", "releases", "released", "publish", "publishes", "published", "publishing"],
  ...["migrate", "migrates", "migrated", "migrating", "migration", "migrations"],
  ...["delete", "deletes", "deleted", "deleting", "deletion", "deletions", "drop", "drops", "dropped"],
  ...["credential", "credentials", "payment", "payments"],
  ...[
    "部署",
    "上线",
    "发布",
    "生产环境",
    "线上环境",
    "迁移",
    "删除",
    "清空",
    "凭证",
    "凭据",
    "密钥",
    "支付",
    "付款",
    "高风险",
  ],
  ...["上線", "發布", "發佈", "生產環境", "線上環境", "遷移", "刪除", "憑證", "憑據", "密鑰", "高風險"],
];

/** Whether a task names a risk, or an expected output that signals one. */
export function isRisky({ risks = [], expected_outputs = [] }: Task, settings: Settings): boolean {
  if (risks.length > 0) return true;
  const risky = matcherOf(settings.risk_patterns ?? RISKY);
  return expected_outputs.some((output) => risky.test(typeof output === "string" ? output : output.text));
}

/** Compiled patterns. A plan may have 100,000 tasks, which share the patterns of their session. */
const matchers = new WeakMap<readonly string[], RegExp>();

function matcherOf(patterns: readonly string[]): RegExp {
  const known = matchers.get(patterns);
  if (known) return known;
  const matcher = new RegExp(patterns.length === 0 ? "(?!)" : patterns.map(sourceOf).join("|"), "iu");
  matchers.set(patterns, matcher);
  return matcher;
}

const LETTER = String.raw`[\p{Script=Latin}\p{N}_]`;
const BEGINS_WITH_LETTER = new RegExp(String.raw`^\s*${LETTER}`, "u");
const ENDS_WITH_LETTER = new RegExp(String.raw`${LETTER}\s*$`, "u");

/** Converts a pattern to a regular expression. Where it begins or ends with a Latin letter or a digit, a word must begin or end there. */
function sourceOf(pattern: string): string {
  const words = pattern
    .trim()
    .replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
    .replaceAll(/\s+/g, String.raw`\s+`);
  const before = BEGINS_WITH_LETTER.test(pattern) ? `(?<!${LETTER})` : "";
  return `${before}${words}${ENDS_WITH_LETTER.test(pattern) ? `(?!${LETTER})` : ""}`;
}
