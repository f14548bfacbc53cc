import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import type { Stay } from "../../lib/limits/crowd";
import { AppError } from "../../lib/errors";
import { createPauses, iso } from "../../lib/time";
import type { Found } from "./cards";
import type { Asked } from "./proposals";
import type { Wish } from "./tables";

/** Asks an owner on behalf of a caller who has only named their `userId`. For actions. */

/** Pause between two reads of the owner's answer. */
const LOOK_MS = 250;

const ENDED = {
  refused: "The owner has refused this",
  expired: "The owner has not answered within 10 minutes: ask again with another idempotency key",
  void: "The owner's rules have changed since: ask again with another idempotency key",
  undelivered:
    "The owner could not be asked: the linked account has to start the service's bot. Ask again with another idempotency key",
} as const;

/** Fields about a question to the owner, in addition to the order's. */
export const askedFields = {
  approvalId: z
    .string()
    .optional()
    .describe("While it waits for its owner: follow it with GET /mcp/defi/approval"),
  idempotencyKey: z
    .string()
    .optional()
    .describe("While it waits for its owner: repeat the request with this key for its outcome"),
  expiresAt: z.iso.datetime().optional().describe("Until when the owner can approve it"),
  error: z
    .string()
    .optional()
    .describe("What it waits for; or what is wrong with a swap that was mined and has failed"),
};

/** When an endpoint answers 202. */
export const WAITING =
  "The owner of the `userId` was asked in their chat and has not answered yet, or has approved it just now (`status`). Repeat the request with the `idempotencyKey` that the answer names to get its outcome.";

/**
 * Asks the owner, once for a key or the same terms, and waits for their tap.
 * @param find What the card shows besides the wish; called only if the owner is asked.
 * @param stay Renews the caller's place at each look.
 * @throws AppError `forbidden` if they refused or did not answer in time; what `proposals.propose` throws.
 */
export async function askOwner(
  ctx: ActionCtx,
  {
    userId,
    wish: rough,
    idempotencyKey,
    keyHash,
  }: { userId: string; wish: Wish; idempotencyKey: string | undefined; keyHash: string | undefined },
  find: () => Promise<{ wish: Wish; found: Found | null }>,
  stay: Stay,
): Promise<Asked> {
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  const known = await ctx.runQuery(internal.wallets.orders.proposals.earlier, {
    userId,
    wish: rough,
    ...key,
    now: Date.now(),
  });
  let asked =
    known ??
    (await ctx.runMutation(internal.wallets.orders.proposals.propose, {
      ...{ userId, ...key, ...(await find()) },
      ...(keyHash === undefined ? {} : { keyHash }),
    }));
  const { approvalId } = asked;
  const deadline = AbortSignal.timeout(deadlines.tap);
  const pause = createPauses(LOOK_MS);
  while (asked.status === "awaiting_approval" && !deadline.aborted) {
    await Promise.all([pause(), stay()]);
    asked =
      (await ctx.runQuery(internal.wallets.orders.proposals.view, { userId, approvalId, now: Date.now() })) ??
      asked;
  }
  if (asked.status === "failed") throw new AppError("forbidden", asked.error ?? "It could not be started");
  if (asked.status !== "awaiting_approval" && asked.status !== "approved")
    throw new AppError("forbidden", ENDED[asked.status]);
  return asked;
}

/** The answer to a caller whose order waits. */
export function waitingBody({ status, approvalId, idempotencyKey, expiresAt }: Asked) {
  const error =
    status === "approved"
      ? "Approved, and on its way: repeat the request with this idempotencyKey for its outcome"
      : "Waiting for your approval in the chat that is linked: approve it there, then repeat the request with this idempotencyKey";
  return {
    success: false,
    status: status === "approved" ? ("approved" as const) : ("awaiting_approval" as const),
    ...{ error, approvalId, idempotencyKey, expiresAt: iso(expiresAt) },
  };
}
