import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { messageOf } from "../../lib/errors";
import { open } from "../../lib/security/seals";
import { SECOND, sleep } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { postWebhook, type PostOutcome } from "../../providers/webhooks";
import type { Holder, Result, Try } from "./posts";
import { secretSeal } from "./rows";
import { refusalOf } from "./targets";

/** Posts that end within this time of one another are stored together. */
const GATHERED_MS = SECOND / 10;
/** No post begins later than this, so that the carrier has ended when the dispatcher comes by again. */
const WORKS_FOR_MS = 40 * SECOND;

/** Posts everything due to webhooks. */
export const carry = worker({}, async (ctx, { job }) => {
  const until = Date.now() + WORKS_FOR_MS;
  const underWay = new Map<Id<"webhookPosts">, { holder: Holder; done: Promise<void> }>();
  const results: Result[] = [];
  for (;;) {
    const held = [...underWay.values()].map(({ holder }) => holder);
    const tries: Try[] | null =
      Date.now() < until ? await ctx.runMutation(internal.messenger.webhooks.posts.claim, { job, held }) : [];
    if (tries === null) return;
    for (const one of tries) {
      const { postId, try: number, webhookId, host, proven, quick } = one;
      const begunAt = Date.now();
      const done = outcomeOf(one).then(
        (outcome) => void results.push({ postId, try: number, ms: Date.now() - begunAt, outcome }),
      );
      underWay.set(postId, { holder: { webhookId, host, proven, quick }, done });
    }
    if (underWay.size === 0) return "over";
    await Promise.race([...underWay.values()].map(({ done }) => done));
    if (underWay.size > results.length) await sleep(GATHERED_MS);
    const ended = results.splice(0);
    await ctx.runMutation(internal.messenger.webhooks.posts.mark, { results: ended });
    // A post keeps its place until its outcome is stored: without a place it would count as lost.
    for (const { postId } of ended) underWay.delete(postId);
  }
});

async function outcomeOf(one: Try): Promise<PostOutcome> {
  const { userId, url, sealedSigning, messageId: id, body } = one;
  // An earlier version may have accepted an address that is refused today.
  const refusal = refusalOf(url);
  if (refusal !== null) return { kind: "failed", reason: `The address ${refusal}` };
  try {
    return await postWebhook({
      url,
      secret: await open(sealedSigning, secretSeal({ userId, url })),
      id,
      body,
    });
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}
