/** What a participant says about a proposal. */
export type Choice = "yes" | "no" | "abstain";

/** When a proposal is accepted. All numbers are integers: 0.55 of 100 votes is not 55 in floating point. */
export interface VotePolicy {
  /** What the yes votes are compared with: those who could vote, the votes for and against, or everybody who was invited. */
  readonly base: "active" | "cast" | "invited";
  /** `>1/2`, `>=2/3`, `>=0.55` or `unanimous`. */
  readonly threshold: string;
  /** How many must vote: heads (`3`), or a part of those who can (`4/5`, `0.8`), rounded up. */
  readonly quorum: string;
  /** By participant, 1 for everybody else. A quorum counts heads all the same. */
  readonly weights: Readonly<Record<string, number>>;
  /** Whose "no" rejects. */
  readonly veto: readonly string[];
  /** What a tie does: it rejects, whoever leads decides, or all vote once more. */
  readonly tie: "reject" | "facilitator" | "revote";
  /** Whether a proposal is decided as soon as no vote that is missing can change the result. */
  readonly early: boolean;
}

/** The forms of `VotePolicy.threshold` and `VotePolicy.quorum`. */
export const THRESHOLD = "^(?:unanimous|>=?(?:[0-9]{1,4}/[1-9][0-9]{0,3}|0?\\.[0-9]{1,4}|1))$";
export const QUORUM = "^(?:[0-9]{1,4}|[0-9]{1,4}/[1-9][0-9]{0,3}|0?\\.[0-9]{1,4})$";

/** A vote on one proposal as it stands. */
export interface Ballot {
  /** Who can vote. */
  readonly roll: readonly string[];
  /** Everybody who was invited and has not left. */
  readonly invited: readonly string[];
  readonly votes: ReadonlyMap<string, Choice>;
  /** Who has declared not to vote. */
  readonly silent: ReadonlySet<string>;
}

/** How a ballot ends: by its votes, or undecided for want of votes, or because as many are for as against. */
export type Verdict = "accepted" | "rejected" | "no_quorum" | "tied";

export type Tally = Readonly<Record<Choice, number>>;

/** Everything that a result shows of the count. */
export interface Count {
  readonly status: Verdict;
  readonly counts: Tally;
  readonly weights: Tally;
  readonly base: VotePolicy["base"];
  readonly base_size: number;
  readonly quorum: number;
  readonly quorum_met: boolean;
  readonly voted: number;
  readonly rule: string;
  /** Who could vote and did not. */
  readonly missing: readonly string[];
}

/** A part of something. */
interface Fraction {
  readonly over: number;
  readonly under: number;
}

/** The result if nobody votes any more. */
export function count(policy: VotePolicy, ballot: Ballot): Count {
  const { roll, votes } = ballot;
  const heads = tally(ballot, () => 1);
  const weights = tally(ballot, (id) => weightOf(policy, id));
  const voted = heads.yes + heads.no + heads.abstain;
  const quorum = headsNeeded(policy.quorum, roll.length);
  const vetoed = policy.veto.some((id) => roll.includes(id) && votes.get(id) === "no");
  const base_size = sizeOf(policy, ballot, weights);
  return {
    status: verdict(policy, { weights, base_size, quorum_met: voted >= quorum, vetoed }),
    counts: heads,
    weights,
    base: policy.base,
    base_size,
    quorum,
    quorum_met: voted >= quorum,
    voted,
    rule: ruleText(policy),
    missing: roll.filter((id) => !votes.has(id)),
  };
}

/** Whether every way in which the others could still vote, or not vote, gives the result of `count`. A tie that is not final yet counts as open. */
export function isCertain(policy: VotePolicy, ballot: Ballot): boolean {
  const { roll, votes, silent } = ballot;
  const open = roll.filter((id) => !votes.has(id) && !silent.has(id));
  const now = count(policy, ballot);
  if (open.length === 0) return true;
  if (!now.quorum_met) return now.voted + open.length < now.quorum;
  if (now.status === "tied") return false;
  const best = all(policy, ballot, open, "yes");
  const worst = all(policy, ballot, open, "no");
  if (now.status === "accepted") return worst.status === "accepted";
  // A tie would not be a rejection.
  const { yes, no } = now.weights;
  const mayTie =
    policy.tie !== "reject" && Math.abs(yes - no) <= open.reduce((sum, id) => sum + weightOf(policy, id), 0);
  return best.status === "rejected" && !mayTie;
}

/** Whether a ballot needs no more votes: by the policy at once when it is certain, or only when nobody is left to vote. */
export function isDecided(policy: VotePolicy, ballot: Ballot): boolean {
  const { roll, votes, silent } = ballot;
  return policy.early ? isCertain(policy, ballot) : roll.every((id) => votes.has(id) || silent.has(id));
}

/** The count if all who can still vote choose the same. */
function all(policy: VotePolicy, ballot: Ballot, open: readonly string[], choice: Choice): Count {
  const votes = new Map([...ballot.votes, ...open.map((id) => [id, choice] as const)]);
  return count(policy, { ...ballot, votes });
}

function verdict(
  { threshold, tie }: VotePolicy,
  counted: {
    readonly weights: Tally;
    readonly base_size: number;
    readonly quorum_met: boolean;
    readonly vetoed: boolean;
  },
): Verdict {
  const { weights, base_size, quorum_met, vetoed } = counted;
  if (!quorum_met) return "no_quorum";
  if (vetoed) return "rejected";
  if (reaches(threshold, weights.yes, base_size)) return "accepted";
  return tie !== "reject" && weights.yes === weights.no && weights.yes > 0 ? "tied" : "rejected";
}

/** Whether so many yes votes of so many are enough. None of none are not. */
function reaches(threshold: string, yes: number, base: number): boolean {
  if (base === 0) return false;
  if (threshold === "unanimous") return yes === base;
  const isStrict = !threshold.startsWith(">=");
  const { over, under } = fraction(threshold.slice(isStrict ? 1 : 2));
  return isStrict ? yes * under > over * base : yes * under >= over * base;
}

function headsNeeded(quorum: string, size: number): number {
  if (/^\d+$/.test(quorum)) return Number(quorum);
  const { over, under } = fraction(quorum);
  return Math.ceil((over * size) / under);
}

/** Reads `2/3`, `0.55` or `1`. */
function fraction(text: string): Fraction {
  const [over = "0", under = "1"] = text.split("/");
  const [whole = "0", digits = ""] = over.split(".");
  return { over: Number(`${whole}${digits}`), under: Number(under) * 10 ** digits.length };
}

function sizeOf(policy: VotePolicy, { roll, invited }: Ballot, { yes, no }: Tally): number {
  if (policy.base === "cast") return yes + no;
  return (policy.base === "active" ? roll : invited).reduce((sum, id) => sum + weightOf(policy, id), 0);
}

function weightOf({ weights }: VotePolicy, id: string): number {
  return Object.hasOwn(weights, id) ? (weights[id] ?? 1) : 1;
}

function tally({ roll, votes }: Ballot, weight: (id: string) => number): Tally {
  const counted = { yes: 0, no: 0, abstain: 0 };
  for (const id of roll) {
    const choice = votes.get(id);
    if (choice !== undefined) counted[choice] += weight(id);
  }
  return counted;
}

/** The rule in words, which stand beside every result. */
export function ruleText({ threshold, base, quorum, weights, veto, tie }: VotePolicy): string {
  const of = { active: "those who can vote", cast: "the votes for and against", invited: "all who were invited" }[base];
  const parts = [
    threshold === "unanimous" ? `yes from all of ${of}` : `yes ${threshold.replace(/^(>=?)/, "$1 ")} of ${of}`,
    ...(quorum === "0" ? [] : [`a quorum of ${quorum}`]),
    ...(Object.keys(weights).length === 0 ? [] : ["votes are weighed"]),
    ...(veto.length === 0 ? [] : [`a veto of ${veto.join(", ")}`]),
    ...(tie === "reject" ? [] : [tie === "revote" ? "a tie is voted on again once" : "whoever leads decides a tie"]),
  ];
  return parts.join("; ");
}
