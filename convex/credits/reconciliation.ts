import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { recordCronRun } from "../lib/cronRuns";
import { log } from "../lib/log";
import { rowsBy } from "../lib/records/rows";
import { standingOf } from "./model";
import { vStanding, type Standing } from "./tables";

/** Rows of the ledger, or users, per transaction. */
const PAGE = 1_000;

/**
 * The state of the recomputation: the arguments of its next step, so that it continues after a restart. A user is
 * compared with the balance at the start of their turn: later rows are not read.
 */
const vCursor = v.object({
  userId: v.string(),
  stored: vStanding,
  /** The sums of the rows up to this sequence number. */
  sequence: v.number(),
  balance: v.number(),
  paidBack: v.number(),
});
type Cursor = Infer<typeof vCursor>;

/**
 * Recomputes every balance from the ledger's rows, page by page, and records differences. It corrects nothing: a person
 * has to understand a difference. `after` is the last finished user, `open` the current one.
 */
export const run = change(
  { after: v.optional(v.string()), open: v.optional(vCursor) },
  async (ctx, { after, open }) => {
    let last = after ?? "";
    let cursor = open ?? null;
    for (let left = PAGE; left > 0;) {
      cursor ??= await nextUser(ctx, last);
      if (cursor === null) {
        await recordCronRun(ctx, "recompute the ledger");
        return;
      }
      const read = await sumRows(ctx, cursor, left);
      left -= read + 1;
      if (cursor.sequence < cursor.stored.transactions && read > 0) break;
      await compare(ctx, cursor);
      last = cursor.userId;
      cursor = null;
    }
    await ctx.scheduler.runAfter(0, internal.credits.reconciliation.run, {
      after: last,
      ...(cursor === null ? {} : { open: cursor }),
    });
  },
);

/** The first user after `after` with a balance or a row: one without the other is also a difference. */
async function nextUser(ctx: QueryCtx, after: string): Promise<Cursor | null> {
  const balance = await ctx.db
    .query("creditBalances")
    .withIndex("by_userId", (q) => q.gt("userId", after))
    .first();
  const row = await ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_sequence", (q) => q.gt("userId", after))
    .first();
  const [userId] = [balance, row].flatMap((one) => one?.userId ?? []).sort(byCodePoints);
  if (userId === undefined) return null;
  return { userId, stored: await standingOf(ctx, userId), sequence: 0, balance: 0, paidBack: 0 };
}

/** Adds up to `limit` more rows to the cursor's sums. @returns How many rows it read. */
async function sumRows(ctx: QueryCtx, cursor: Cursor, limit: number): Promise<number> {
  const { userId, stored } = cursor;
  // Without a balance row every row of the ledger is too many, and one is enough to report it.
  const end = Math.max(stored.transactions, 1);
  const rows = await ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_sequence", (q) =>
      q.eq("userId", userId).gt("sequence", cursor.sequence).lte("sequence", end),
    )
    .take(limit);
  for (const { type, amount, source, sequence } of rows) {
    cursor.balance += type === "deduction" ? -amount : amount;
    cursor.paidBack += source === "reversal" ? amount : 0;
    cursor.sequence = sequence;
  }
  return rows.length;
}

/** Records a difference between the stored balance and the sum of the rows. */
async function compare(ctx: MutationCtx, cursor: Cursor): Promise<void> {
  const { userId, stored } = cursor;
  const reversed = await reversedCredits(ctx, userId);
  // The debt can only be checked if nothing has changed since the user's turn began.
  const now = await standingOf(ctx, userId);
  const unchanged = now.transactions === stored.transactions && now.owed === stored.owed;
  const computed: Standing = {
    balance: cursor.balance,
    owed: unchanged ? reversed - cursor.paidBack : stored.owed,
    transactions: cursor.sequence,
  };
  if (
    computed.balance === stored.balance &&
    computed.owed === stored.owed &&
    computed.transactions === stored.transactions
  ) {
    return;
  }
  const id = await ctx.db.insert("creditDiscrepancies", { userId, foundAt: Date.now(), stored, computed });
  log.error("credits.discrepancy", { id });
}

/** The credits of all of a user's reversed deposits; a user has few. */
async function reversedCredits(ctx: QueryCtx, userId: string): Promise<number> {
  const reversals = await rowsBy(ctx.db.query("creditReversals"), "userId", userId).take(PAGE);
  return reversals.reduce((sum, { amount }) => sum + amount, 0);
}

/** The order of the database's indexes: UTF-8 bytes, which equals the order of code points. */
function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
