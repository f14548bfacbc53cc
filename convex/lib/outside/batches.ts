import { sleep } from "../time";

/**
 * Joins calls that are made at almost the same moment into one; each caller gets its own answer. For work that runs
 * side by side in one action.
 * @param ask Answers all of them, in their order.
 * @param gatherMs How long to wait for others.
 */
export function together<One, Answer>(
  ask: (all: One[]) => Promise<Answer[]>,
  gatherMs: number,
): (one: One) => Promise<Answer> {
  let gathered: { all: One[]; answers: Promise<Answer[]> } | null = null;
  const gather = (first: One) => {
    const all = [first];
    const answers = sleep(gatherMs).then(() => {
      gathered = null;
      return ask(all);
    });
    gathered = { all, answers };
    return { answers, place: 0 };
  };
  const join = (one: One) =>
    gathered === null ? gather(one) : { answers: gathered.answers, place: gathered.all.push(one) - 1 };
  return async (one) => {
    const { answers, place } = join(one);
    const answer = (await answers)[place];
    if (answer === undefined) throw new Error("The call left some questions without an answer");
    return answer;
  };
}
