import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { rowsByBoth } from "../lib/records/rows";
import { HOUR } from "../lib/time";
import { levelRowOf } from "../users/levels";

/** Addresses to which an owner's wallets may send. Plain functions; those that write are steps of their caller's mutation. */

const MOST_LISTED = 100;

/** How much later a new address counts, so that an owner who did not want it can remove it. */
const LISTED_AFTER_MS = 2 * HOUR;

/** Epoch ms; the address counts from `countsFrom`. */
export type Listed = { address: string; addedAt: number; countsFrom: number };

/** @param address Checksummed. */
export async function listedOf(ctx: QueryCtx, userId: string, address: string): Promise<Listed | null> {
  const row = await rowOf(ctx, userId, address);
  if (row === null) return null;
  const entry = listed(row);
  return isCalledOff(entry, await calledOffAt(ctx, userId)) ? null : entry;
}

/** The user's list, by address. */
export async function allListed(ctx: QueryCtx, userId: string): Promise<Listed[]> {
  const rows = await ctx.db
    .query("socialRecipients")
    .withIndex("by_userId_and_address", (q) => q.eq("userId", userId))
    .take(MOST_LISTED);
  const at = await calledOffAt(ctx, userId);
  return rows.map(listed).filter((entry) => !isCalledOff(entry, at));
}

/** Whether a freeze cancelled the entry: it does so for entries that did not count yet. */
function isCalledOff({ addedAt, countsFrom }: Listed, at: number): boolean {
  return addedAt <= at && at < countsFrom;
}

async function calledOffAt(ctx: QueryCtx, userId: string): Promise<number> {
  return (await levelRowOf(ctx, userId))?.calledOffAt ?? 0;
}

async function isListFull(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await allListed(ctx, userId)).length >= MOST_LISTED;
}

/**
 * Puts an address on the list, to count in two hours; a listed one keeps its time.
 * @returns The entry, and whether it is new.
 * @throws AppError `conflict` if the list is full.
 */
export async function list(
  ctx: MutationCtx,
  userId: string,
  address: string,
): Promise<Listed & { isNew: boolean }> {
  const present = await listedOf(ctx, userId, address);
  if (present !== null) return { ...present, isNew: false };
  if (await isListFull(ctx, userId))
    throw new AppError("conflict", `At most ${MOST_LISTED} addresses can be on the list`);
  await unlist(ctx, userId, address);
  const addedAt = Date.now();
  const entry = { address, addedAt, countsFrom: addedAt + LISTED_AFTER_MS };
  await ctx.db.insert("socialRecipients", { userId, ...entry });
  return { ...entry, isNew: true };
}

/** Takes an address off. @returns Whether it was on the list. */
export async function unlist(ctx: MutationCtx, userId: string, address: string): Promise<boolean> {
  const row = await rowOf(ctx, userId, address);
  if (row !== null) await ctx.db.delete("socialRecipients", row._id);
  return row !== null;
}

function rowOf(ctx: QueryCtx, userId: string, address: string): Promise<Doc<"socialRecipients"> | null> {
  return rowsByBoth(ctx.db.query("socialRecipients"), "userId", userId, "address", address).unique();
}

function listed({ address, addedAt, countsFrom = addedAt }: Doc<"socialRecipients">): Listed {
  return { address, addedAt, countsFrom };
}
