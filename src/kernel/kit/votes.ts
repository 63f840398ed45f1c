/** What somebody says about a proposal. */
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
export type Decision = "accepted" | "rejected" | "no_quorum" | "tied";

type Tally = Readonly<Record<Choice, number>>;

/** Everything that a result shows of the count. */
export interface Count {
  readonly status: Decision;
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

/** The result if nobody votes any more. */
export function count(policy: VotePolicy, { roll, invited, votes }: Ballot): Count {
  const { base } = policy;
  const of = (choice: Choice) => roll.filter((id) => votes.get(id) === choice);
  const [yes, no, abstain] = [of("yes"), of("no"), of("abstain")];
  const counts = { yes: yes.length, no: no.length, abstain: abstain.length };
  const weights = { yes: weigh(policy, yes), no: weigh(policy, no), abstain: weigh(policy, abstain) };
  const voted = counts.yes + counts.no + counts.abstain;
  const quorum = headsNeeded(policy.quorum, roll.length);
  const base_size = base === "cast" ? weights.yes + weights.no : weigh(policy, base === "active" ? roll : invited);
  const isVetoed = policy.veto.some((id) => no.includes(id));
  return {
    status: voted < quorum ? "no_quorum" : decision(policy, weights, base_size, isVetoed),
    ...{ counts, weights, base, base_size, quorum, quorum_met: voted >= quorum, voted },
    rule: ruleText(policy),
    missing: roll.filter((id) => !votes.has(id)),
  };
}

function decision({ threshold, tie }: VotePolicy, { yes, no }: Tally, base_size: number, isVetoed: boolean): Decision {
  if (isVetoed) return "rejected";
  if (reaches(threshold, yes, base_size)) return "accepted";
  return tie !== "reject" && yes === no && yes > 0 ? "tied" : "rejected";
}

/** Whether every way in which the others could still vote, or not vote, gives the result of `count`. A tie that is not final yet counts as open. */
export function isCertain(policy: VotePolicy, ballot: Ballot): boolean {
  const { votes } = ballot;
  const open = unheard(ballot);
  if (open.length === 0) return true;
  const { status, weights } = count(policy, ballot);
  const ends = (["yes", "no", "abstain"] as const).map((choice) => {
    const all = new Map([...votes, ...open.map((id) => [id, choice] as const)]);
    return count(policy, { ...ballot, votes: all }).status;
  });
  // A tie would not be a rejection.
  const mayTie = policy.tie !== "reject" && Math.abs(weights.yes - weights.no) <= weigh(policy, open);
  return ends.every((end) => end === status) && (status === "accepted" || status === "no_quorum" || !mayTie);
}

/** Whether a ballot needs no more votes: by the policy at once when it is certain, or only when nobody is left to vote. */
export function isDecided(policy: VotePolicy, ballot: Ballot): boolean {
  return policy.early ? isCertain(policy, ballot) : unheard(ballot).length === 0;
}

/** Who can still vote. */
function unheard({ roll, votes, silent }: Ballot): string[] {
  return roll.filter((id) => !votes.has(id) && !silent.has(id));
}

/** Whether so many yes votes of so many are enough. None of none are not. */
export function reaches(threshold: string, yes: number, base: number): boolean {
  if (base === 0) return false;
  if (threshold === "unanimous") return yes === base;
  const isStrict = !threshold.startsWith(">=");
  const [over, under] = fraction(threshold.slice(isStrict ? 1 : 2));
  return isStrict ? yes * under > over * base : yes * under >= over * base;
}

function headsNeeded(quorum: string, size: number): number {
  const [over, under] = fraction(quorum);
  return /^\d+$/.test(quorum) ? over : Math.ceil((over * size) / under);
}

/** Reads `2/3`, `0.55` or `1` as a fraction of integers. */
function fraction(text: string): [over: number, under: number] {
  const [over = "0", under = "1"] = text.split("/");
  const [whole = "0", digits = ""] = over.split(".");
  return [Number(whole + digits), Number(under) * 10 ** digits.length];
}

function weigh({ weights }: VotePolicy, ids: readonly string[]): number {
  return ids.reduce((sum, id) => sum + (Object.hasOwn(weights, id) ? (weights[id] ?? 1) : 1), 0);
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
