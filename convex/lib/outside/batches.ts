import { sleep } from "../time";

/**
 * One call for what many ask at one moment: those who come while it is gathered share it, and each gets its own answer. For
 * work that goes on side by side in one action.
 * @param ask Answers all of them, in their order.
 * @param gatherMs How long it waits for others.
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
    if (answer === undefined) throw new Error("A call has left some questions without an answer");
    return answer;
  };
}
