import { internal } from "../../_generated/api";
import { messageOf } from "../../lib/errors";
import { open } from "../../lib/security/seals";
import { iso, MINUTE } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { postWebhook } from "../../providers/webhooks";
import { secretSeal, vLane, type Result, type Try } from "./events";

/** No batch begins later than this, so that the work has ended before its lease does. */
const WORKS_FOR_MS = 5 * MINUTE;

/** Posts everything due in a lane, batch after batch. */
export const carry = worker({ lane: vLane }, async (ctx, { lane }) => {
  const until = Date.now() + WORKS_FOR_MS;
  for (let now = Date.now(); now < until; now = Date.now()) {
    const tries: Try[] = await ctx.runQuery(internal.messenger.webhooks.events.batch, { lane, now });
    if (tries.length === 0) return "over";
    const results = await Promise.all(tries.map(attempt));
    await ctx.runMutation(internal.messenger.webhooks.events.mark, { results });
  }
  return "over";
});

async function attempt({ postId, tries, event, webhook }: Try): Promise<Result> {
  const attempted = { postId, tries };
  if (webhook === null) return { ...attempted, kind: "gone", problem: "The webhook has ended" };
  const { id, type, at, data } = event;
  const body = `{"type":"${type}","timestamp":"${iso(at)}","data":${data}}`;
  try {
    const secret = await open(webhook.sealedSigning, secretSeal(webhook));
    return { ...attempted, ...(await postWebhook({ url: webhook.url, secret, id, body })) };
  } catch (error) {
    return { ...attempted, kind: "failed", problem: messageOf(error) };
  }
}
