import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { messageOf } from "../../lib/errors";
import { providerAction } from "../../lib/outside/providerCalls";
import { open } from "../../lib/security/seals";
import { SECOND, sleep } from "../../lib/time";
import { postWebhook, type PostOutcome } from "../../providers/webhooks";
import type { Holder, Result, Try } from "./posts";
import { secretSeal } from "./rows";
import { refusalOf } from "./targets";

/** Posts that end within this time of one another are stored together. */
const GATHERED_MS = SECOND / 10;
/** No post begins later than this: the next action begins a minute after this one. */
const WORKS_FOR_MS = 40 * SECOND;

/** Posts everything due to webhooks. */
export const carry = providerAction({}, async (ctx) => {
  const until = Date.now() + WORKS_FOR_MS;
  const underWay = new Map<Id<"webhookPosts">, { holder: Holder; done: Promise<void> }>();
  const results: Result[] = [];
  for (;;) {
    const held = [...underWay.values()].map(({ holder }) => holder);
    const tries: Try[] =
      Date.now() < until ? await ctx.runMutation(internal.messenger.webhooks.posts.claim, { held }) : [];
    for (const one of tries) {
      const { postId, try: number, webhookId, host, proven, quick } = one;
      const begunAt = Date.now();
      const done = outcomeOf(one).then((outcome) => {
        results.push({ postId, try: number, ms: Date.now() - begunAt, outcome });
        underWay.delete(postId);
      });
      underWay.set(postId, { holder: { webhookId, host, proven, quick }, done });
    }
    if (underWay.size === 0) return;
    await Promise.race([...underWay.values()].map(({ done }) => done));
    if (underWay.size > 0) await sleep(GATHERED_MS);
    await ctx.runMutation(internal.messenger.webhooks.posts.mark, { results: results.splice(0) });
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
