interface AskedQuestion {
  /** The request that asked it. */
  readonly ask_id: string;
  /** Scoped by the request: `c2.q1`. */
  readonly question_id: string;
}

/** The ids by which an answer may name a question: its own, which counts first, and the one without the request's. Both parts may contain dots. */
export function idsOf({ ask_id, question_id }: AskedQuestion): [scoped: string, bare: string] {
  return [question_id, question_id.slice(ask_id.length + 1)];
}

/** The questions that an id means: the one with this id, else those with this id within their requests. */
export function questionsMeant<Q extends AskedQuestion>(id: string, questions: readonly Q[]): Q[] {
  const exact = questions.filter((one) => one.question_id === id);
  return exact.length > 0 ? exact : questions.filter((one) => idsOf(one).includes(id));
}
