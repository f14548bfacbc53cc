import type { QueryCtx } from "../../_generated/server";
import { addressesOf, lastSentBy } from "../../wallets/transactions/serviceHistory";
import { headOf } from "./chain";
import type { ChainHead } from "./events";

/** The record's head as it is published, and where: what whoever issues and closes signals needs to know of its anchors. */

/** Anchors of one address that are looked at for an event: a day has one or two. */
const LATEST = 8;

/** Whether an anchor of the event, or of one behind it, was seen in a block by a moment (epoch ms). */
export async function anchoredBefore(
  ctx: QueryCtx,
  event: number | undefined,
  moment: number,
): Promise<boolean> {
  const address = (await addressesOf(ctx, "anchor")).at(-1);
  if (address === undefined || event === undefined) return false;
  return (await lastSentBy(ctx, "anchor", address, LATEST)).some(
    ({ request, state, endedAt = Infinity }) =>
      request.kind === "anchor" && request.sequence >= event && state === "confirmed" && endedAt <= moment,
  );
}

/** The head as it is published: with the address whose anchors hold it, where there is one. */
export async function publishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await headOf(ctx, "daily");
  return head === null ? null : { ...head, anchoredBy: (await addressesOf(ctx, "anchor")).at(-1) ?? null };
}
export type PublishedHead = ChainHead & { anchoredBy: string | null };
