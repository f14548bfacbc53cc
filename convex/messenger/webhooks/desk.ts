import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { action, internalAction, type ActionCtx } from "../../_generated/server";
import { charge } from "../../lib/limits/charges";
import { resealAll, vRotated } from "../../lib/security/rotation";
import { seal } from "../../lib/security/seals";
import { secretSeal, vWebhook, type Webhook } from "./rows";
import { EVENTS, vEventType, type EventType } from "./tables";

/** Webhooks that users add and remove, and the sealing of their secrets. */

const SECRET_BYTES = 32;

type Wanted = { userId: string; url: string; events?: readonly EventType[] | undefined };

/**
 * Adds a webhook, for actions.
 * @param beforeKeeping Called once the address is accepted.
 * @returns The webhook with its secret, which is shown only once.
 * @throws AppError `invalid_request` for an address that nothing is posted to; `conflict` with three already, or the
 * same address; `not_configured` without a key to seal with.
 */
export async function addWebhook(
  ctx: ActionCtx,
  { userId, url: address, events = EVENTS }: Wanted,
  beforeKeeping: () => Promise<void> = () => Promise.resolve(),
): Promise<{ webhook: Webhook; secret: string }> {
  // The address parser is loaded only when it is needed.
  const { postable } = await import("./targets");
  const url = postable(address);
  await beforeKeeping();
  const key = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const secret = `whsec_${btoa(String.fromCharCode(...key))}`;
  const sealedSigning = await seal(secret, secretSeal({ userId, url }));
  const webhook: Webhook = await ctx.runMutation(internal.messenger.webhooks.rows.store, {
    ...{ userId, url, sealedSigning },
    events: EVENTS.filter((type) => events.includes(type)),
  });
  return { webhook, secret };
}

/** Adds a webhook of the web application's signed-in user, for all events unless some are named. @throws AppError as `addWebhook` does; `rate_limited`. */
export const add = action({
  args: { url: v.string(), events: v.optional(v.array(vEventType)) },
  returns: v.object({ webhook: vWebhook, secret: v.string() }),
  handler: async (ctx, wanted): Promise<{ webhook: Webhook; secret: string }> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    return addWebhook(ctx, { ...wanted, userId });
  },
});

/**
 * Seals every webhook's secret again that is not under the current `WALLET_ENCRYPTION_KEY`; run it with the rotation of
 * the wallets' keys (`wallets/custody/keys:rotate`). Safe to run twice, and to resume after a crash.
 * @returns How many were sealed again, and which do not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: vRotated,
  handler: async (ctx): Promise<Infer<typeof vRotated>> => {
    return resealAll(
      ctx,
      internal.messenger.webhooks.rows.outdated,
      internal.messenger.webhooks.rows.replaceSecrets,
    );
  },
});
