import { linksAfter } from "../convex/signals/record/chain";
import type { ChainHead, ClosedContent, PromotedContent } from "../convex/signals/record/events";
import { DECISIVE } from "../convex/signals/statistics/inference";
import type { Levels } from "../convex/signals/trade/rules";

/** What the checks of the signals' record and of the shadow signals' share. Pure. */

/** Clocks differ a little. */
export const SKEW_MS = 60_000;

type Linked = Parameters<typeof linksAfter>[1] & ChainHead & { contentHash: string; previousHash: string };

/** Each event against its own hashes, its place, and the event before it. */
export function chainProblems<Event extends Linked>(
  events: readonly Event[],
  head: ChainHead | null,
  nameOf: (event: Event) => string,
): string[] {
  const problems: string[] = [];
  let previous: ChainHead | null = null;
  for (const event of events) {
    const right = linksAfter(previous, event);
    if (event.sequence !== right.sequence) {
      problems.push(
        `${nameOf(event)} stands where event ${right.sequence} belongs: events were removed, moved or added`,
      );
    }
    if (event.contentHash !== right.contentHash) {
      problems.push(`${nameOf(event)}: its content is not what was hashed, it was changed afterwards`);
    }
    if (event.previousHash !== right.previousHash) {
      problems.push(`${nameOf(event)} does not follow the event before it: the chain was broken there`);
    }
    const own = linksAfter(
      event.sequence === 1 ? null : { sequence: event.sequence - 1, hash: event.previousHash },
      event,
    );
    if (event.contentHash === right.contentHash && event.hash !== own.hash) {
      problems.push(`${nameOf(event)}: its hash is not that of its links, one of them was changed`);
    }
    previous = { sequence: event.sequence, hash: event.hash };
  }
  if (previous?.sequence !== head?.sequence || previous?.hash !== head?.hash) {
    problems.push(
      `The chain ends with ${described(previous)}, but the head is ${described(head)}: events are missing at the end`,
    );
  }
  return problems;
}

/** Where a signal of these levels can have ended. */
export function endProblems(
  levels: Levels,
  status: ClosedContent["status"],
  exitPrice: number | null,
): string[] {
  const { tp1, sl } = levels;
  if (status !== "EXPIRED") {
    const level = status === "WIN" ? tp1 : sl;
    return level === null || exitPrice !== level ? [`a ${status} ends at ${level}, not at ${exitPrice}`] : [];
  }
  if (exitPrice === null || tp1 === null || sl === null) return [];
  const isBetween = exitPrice >= Math.min(tp1, sl) && exitPrice <= Math.max(tp1, sl);
  return isBetween ? [] : [`it expired at ${exitPrice}, beyond its levels`];
}

/** Why a promotion is none: it is one of what was shown to be better, or says why it is one all the same. */
export function promotionProblems(promoted: PromotedContent, writer: PromotedContent | null): string[] {
  const { arm, model, promptVersion, previousModel, previousPromptVersion, eValue, needed, forced } =
    promoted;
  const problems: string[] = [];
  if (needed < DECISIVE) problems.push(`it needed an e-value of ${needed}, below ${DECISIVE}`);
  if (eValue < needed && forced === null)
    problems.push(`its e-value of ${eValue} is below the ${needed} needed, and no reason is given`);
  if (arm !== `${model}@${promptVersion}`) problems.push("its model and prompt are not those of its name");
  if (writer !== null && (writer.model !== previousModel || writer.promptVersion !== previousPromptVersion))
    problems.push(`${previousModel}@${previousPromptVersion} did not write the signals before it`);
  return problems;
}

function described(head: ChainHead | null): string {
  return head === null ? "nothing" : `event ${head.sequence}, ${head.hash}`;
}
