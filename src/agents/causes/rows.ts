import type { CauseName } from "./causes.ts";

/** Which codes, words and numbers mean a cause. */
export interface Row {
  readonly cause: CauseName;
  /** Error codes and kinds as in `Complaint.kinds`, separated by spaces. */
  readonly kinds?: string;
  readonly words?: RegExp;
  /** HTTP statuses, and codes of JSON-RPC. */
  readonly numbers?: readonly number[];
}

/**
 * What all programs and providers have in common, the most specific first. A program's own words are rows
 * that its dialect puts before these.
 */
export const ROWS: readonly Row[] = [
  {
    cause: "context",
    kinds: "contextwindowexceeded contextlengthexceeded contextoverflowerror prompttoolong blockinglimit",
    words: /context window|context.length.exceeded|maximum context|(?:prompt|input) is too long/i,
    numbers: [413],
  },
  { cause: "length", kinds: "maxtokens maxoutputtokens messageoutputlengtherror", words: /\bmax_output_tokens\b/ },
  { cause: "requests", kinds: "maxturns maxturnrequests errormaxturns" },
  { cause: "budget", kinds: "sessionbudgetexceeded errormaxbudgetusd" },
  { cause: "schema", kinds: "errormaxstructuredoutputretries" },
  { cause: "interrupted", kinds: "interrupted cancelled errorduringexecution" },
  {
    cause: "refusal",
    kinds: "refusal cyberpolicy contentfilter contentfiltererror contentpolicyviolation",
    words: /content (?:filter|policy|management policy)|safeguards flagged/i,
  },
  {
    cause: "credit",
    kinds:
      "billingerror billingnotactive billinghardlimitreached creditserror creditsrequired insufficientquota " +
      "insufficientcredits insufficientbalance outofcredits paymentrequired",
    words:
      /credit balance|insufficient[ _](?:balance|credits?|funds|quota)|out of (?:\w+ )?credits?|no credits?\b|(?:spend(?:ing)?|billing|credit) (?:cap|limit)|extra usage|payment required|plan and billing|upgrade (?:your plan )?to \w+|not included in your plan|余额不足|欠费/i,
    numbers: [402],
  },
  { cause: "capacity", kinds: "serveroverloaded modelatcapacity", words: /model is at capacity/i },
  {
    cause: "account",
    kinds: "oauthorgnotallowed accountonhold verificationrequired permissionerror permissiondenied",
    words:
      /account (?:is|has been) (?:on hold|suspended|disabled)|verification is required|organi[sz]ation has been disabled/i,
    numbers: [403],
  },
  {
    cause: "login",
    kinds:
      "authrequired authenticationfailed authenticationerror providerautherror cloudcredentialerror invalidapikey " +
      "unauthenticated unauthorized",
    words:
      /not (?:logged|signed) in|(?:log|sign) ?in again|please (?:log|sign) ?in|run \/login|(?:invalid|incorrect|missing|expired) (?:x-)?api[- ]key|api key (?:not valid|expired|is missing)|could not be refreshed|token (?:has |is )?(?:expired|revoked)|\bunauthorized\b/i,
    // In ACP, -32000 asks for a login.
    numbers: [401, -32_000],
  },
  {
    cause: "limit",
    kinds:
      "usagelimitexceeded usagelimitreached ratelimit ratelimited ratelimiterror ratelimitexceeded ratelimitreached " +
      "modelratelimited quotaexceeded resourceexhausted throttlingexception toomanyrequests",
    words:
      /(?:usage|rate|session|weekly|hour)[ -]limit|usage limits|too many requests|exhausted your (?:\w+ )?(?:capacity|quota)|quota (?:exceeded|exhausted|will reset)|exceeded your (?:current )?quota/i,
    numbers: [429, -32_003],
  },
  {
    cause: "model",
    kinds: "modelnotfound notfounderror",
    words:
      /model\b.{0,80}? (?:not found|(?:is|are) not (?:supported|available)|does not exist)|selected model|(?:no such|unknown) model/i,
    numbers: [404],
  },
  {
    cause: "outage",
    kinds:
      "overloaded overloadederror servererror internalservererror serviceunavailable serverisoverloaded slowdown " +
      "unavailable deadlineexceeded timeouterror connectionfailed httpconnectionfailed responsestreamconnectionfailed " +
      "responsestreamdisconnected responsetoomanyfailedattempts",
    words:
      /overloaded|service unavailable|bad gateway|gateway time-?out|internal server error|server error|temporarily unavailable|high demand|connect(?:ion)?\b.{0,20}\b(?:refused|reset|error|failed|closed|lost|timed? ?out)|unable to connect|could not (?:connect|resolve)|name resolution|\bE(?:CONN\w+|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b|socket hang up|fetch failed|network error|stream disconnected|error sending request|API Error: terminated/i,
    numbers: [408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529],
  },
];
