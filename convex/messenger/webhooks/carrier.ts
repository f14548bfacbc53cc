import { internal } from "../../_generated/api";
import { messageOf } from "../../lib/errors";
import { open } from "../../lib/security/seals";
import { MINUTE } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { postWebhook } from "../../providers/webhooks";
import { vLane, type Result, type Try } from "./posts";
import { secretSeal } from "./rows";

/** No batch begins later than this, so that the work has ended before its lease does. */
const WORKS_FOR_MS = 5 * MINUTE;

/** Posts everything due in a lane, batch after batch. */
export const carry = worker({ lane: vLane }, async (ctx, { lane }) => {
  const until = Date.now() + WORKS_FOR_MS;
  for (let now = Date.now(); now < until; now = Date.now()) {
    const tries: Try[] = await ctx.runQuery(internal.messenger.webhooks.posts.batch, { lane, now });
    if (tries.length === 0) return "over";
    const results = await Promise.all(tries.map(attempt));
    await ctx.runMutation(internal.messenger.webhooks.posts.mark, { results });
  }
  return "over";
});

async function attempt({ postId, tries, messageId, userId, url, sealedSigning, body }: Try): Promise<Result> {
  if (body === null) return { postId, tries, outcome: { kind: "dropped" } };
  try {
    const secret = await open(sealedSigning, secretSeal({ userId, url }));
    return {
      postId,
      tries,
      outcome: await postWebhook({ url, secret, id: messageId, body }),
    };
  } catch (error) {
    return {
      postId,
      tries,
      outcome: { kind: "failed", reason: messageOf(error) },
    };
  }
}
