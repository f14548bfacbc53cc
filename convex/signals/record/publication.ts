import type { QueryCtx } from "../../_generated/server";
import { addressesOf, lastSentBy } from "../../wallets/serviceOrders";
import { headOf, newestOf } from "./chain";
import type { ChainHead } from "./events";
import { totalsOf } from "./model";
import { DAILY, type Desk } from "./rows";

/** The published head of the record and its anchors, for the code that issues and closes signals. */

/** How many anchors of one address are checked for an event: an hour has one at most. */
const LATEST = 16;

/**
 * Whether an anchor of a desk's event, or of a later one, was in a block by a moment (epoch ms). Shadows are not dated.
 */
export async function anchoredBefore(
  ctx: QueryCtx,
  desk: Desk,
  issued: number | undefined,
  moment: number,
): Promise<boolean> {
  if (desk === "lab" || issued === undefined) return false;
  const event = desk === "daily" ? issued : await holderOf(ctx, issued);
  const address = (await addressesOf(ctx, "anchor")).at(-1);
  if (address === undefined || event === undefined) return false;
  return (await lastSentBy(ctx, "anchor", address, LATEST)).some(
    ({ request, state, endedAt = Infinity }) =>
      request.kind === "anchor" && request.sequence >= event && state === "confirmed" && endedAt <= moment,
  );
}

/** The event of the daily chain that fixes an event of people's chain. */
async function holderOf(ctx: QueryCtx, event: number): Promise<number | undefined> {
  const holders = (await newestOf(ctx, "people", LATEST)).filter(
    ({ content }) => content.peopleSequence >= event,
  );
  return holders.at(-1)?.sequence;
}

/** The head as it is published: with the address whose anchors hold it, where there is one, and what they did not hold in time. */
export async function publishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await headOf(ctx, "daily");
  if (head === null) return null;
  const { wins, losses, expired, anchored } = await totalsOf(ctx, DAILY, "ALL");
  const closed = wins + losses + expired;
  const anchoredBy = (await addressesOf(ctx, "anchor")).at(-1) ?? null;
  return { ...head, anchoredBy, closed, unanchored: closed - anchored };
}
export type PublishedHead = ChainHead & { anchoredBy: string | null; closed: number; unanchored: number };
