import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { isIdentified } from "../identity/access";
import { getCreditBalance, creditDeposit, toCredits, deduct, findDepositor } from "../credits/model";
import { defineMutation } from "../platform/changes";
import { isSet, getRequired } from "../lib/env";
import { formatUnits } from "../lib/money/amounts";
import { isWorking } from "../platform/outside/calls";
import { queryByBoth } from "../platform/records";
import { DAY, HOUR } from "../lib/time";
import { findUserIdByAddress } from "../wallets/model";
import { queryClaims } from "./model";
import { vRead, vDepositReading, type DepositReading, type UsdcTransfer } from "./tables";
import { PRICE } from "./terms";

/**
 * USDC transfers to the platform wallet, one row each, stored as the chain shows them. What one buys, it buys once: a
 * report, and credits of its sender's user for the rest. A cursor per platform wallet says up to which block they are
 * stored; `depositReader` moves it.
 */

/** A platform wallet that was replaced goes on being read for a day after its last hourly reread. */
const FORMER_MS = DAY + HOUR;
/** Rows of platform wallets that were ever configured. */
const WALLETS = 20;
/** Deposits that one transaction credits. */
const TOGETHER = 50;
/** Deposits of one transaction that an answer lists. */
const MOST_LISTED = 200;

const UNMATCHED = "unmatched: it is credited once its sending address is linked";

/** Starts a reading, every minute. Two at once change nothing twice; what a lost one has left out, the next one reads. */
export async function beginReading(ctx: MutationCtx): Promise<void> {
  if (!isSet("PLATFORM_WALLET_ADDRESS")) return;
  const wallet = platformWallet();
  const now = Date.now();
  const rows = await ctx.db.query("depositCursors").withIndex("by_wallet").take(WALLETS);
  const row = rows.find((one) => one.wallet === wallet) ?? null;
  const again = row !== null && row.rereadAt < now - HOUR;
  // What was on its way to the wallet that was configured before is its sender's all the same.
  const former = rows.filter((one) => one.wallet !== wallet && one.rereadAt > now - FORMER_MS);
  const chainWorks = await isWorking(ctx, "chain");
  for (const reading of [
    buildReading(wallet, row, again),
    ...former.map((one) => buildReading(one.wallet, one)),
  ])
    await ctx.scheduler.runAfter(0, internal.payments.depositReader.readDepositBlocks, {
      reading,
      chainWorks,
    });
}

/** Where a reading goes on. */
export const getReading = internalQuery({
  args: {},
  returns: vDepositReading,
  handler: async (ctx): Promise<DepositReading> =>
    buildReading(platformWallet(), await findCursor(ctx, platformWallet())),
});

function buildReading(wallet: string, row: Doc<"depositCursors"> | null, again = false): DepositReading {
  return { wallet, cursor: row && { start: row.start, block: row.block }, again };
}

/** Sets a cursor back that has run ahead of the chain: a node had told a head that there was not. */
export const setBack = defineMutation({ wallet: v.string(), to: v.number() }, async (ctx, { wallet, to }) => {
  const row = await findCursor(ctx, wallet);
  if (row === null || row.block <= to) return;
  await ctx.db.patch("depositCursors", row._id, { block: to, start: Math.min(row.start, to) });
});

/** The newest blocks were read again, to the last one: a reading that failed is made again in a minute. */
export const storeReread = defineMutation({ wallet: v.string() }, async (ctx, { wallet }) => {
  const row = await findCursor(ctx, wallet);
  if (row !== null) await ctx.db.patch("depositCursors", row._id, { rereadAt: Date.now() });
});

/**
 * Stores the transfers of blocks, and moves the cursor to `to`.
 * @param from The last block before them; a reading that would leave blocks out changes nothing.
 */
export const advanceDeposits = internalMutation({
  args: {
    wallet: v.string(),
    from: v.union(v.number(), v.null()),
    to: v.number(),
    transfers: v.array(vRead),
  },
  returns: v.null(),
  handler: async (ctx, { wallet, from, to, transfers }): Promise<null> => {
    const row = await findCursor(ctx, wallet);
    if (row === null && from === null) {
      await ctx.db.insert("depositCursors", { wallet, start: to, block: to, rereadAt: Date.now() });
    }
    if (row === null || from === null || from > row.block) return null;
    for (const transfer of transfers) await takeTransfer(ctx, transfer);
    if (to > row.block) await ctx.db.patch("depositCursors", row._id, { block: to });
    return null;
  },
});

/** Stores a transfer as a block shows it; a report may have bought with it before. */
async function takeTransfer(ctx: MutationCtx, read: Infer<typeof vRead>): Promise<void> {
  const earlier = await transferAt(ctx, read);
  if (earlier?.state !== undefined) return;
  const state = "unmatched" as const;
  const id = earlier?._id ?? (await ctx.db.insert("transfers", { ...read, state }));
  if (earlier !== null) await ctx.db.patch("transfers", id, { logIndex: read.logIndex, state });
  const row = await ctx.db.get("transfers", id);
  if (row !== null) await match(ctx, row);
}

/**
 * Credits an unmatched transfer if its sender has a user by now: what no report has used of it. While a signed payment
 * of its sender is being executed, the transfer may be that payment: it waits for the claim's end.
 */
async function match(ctx: MutationCtx, row: Row): Promise<void> {
  if ((await queryClaims(ctx, row.from, "settling").first()) !== null) return;
  const credits = toCredits(BigInt(row.amount) - (row.claimKey === undefined ? 0n : PRICE));
  if (credits === 0) {
    await ctx.db.patch("transfers", row._id, { state: "ignored" });
    return;
  }
  const userId = await findUserIdByAddress(ctx, row.from);
  if (userId === null) return;
  await creditDeposit(ctx, { userId, amount: credits, key: depositKey(row), source: "usdc" });
  await ctx.db.patch("transfers", row._id, { state: "credited", userId, credits });
}

/** Credits what an address has sent before it was linked, or while a signed payment of it was being executed. */
export const creditAddress = defineMutation({ address: v.string() }, async (ctx, { address }) => {
  const rows = await queryUnmatched(ctx, address.toLowerCase()).take(TOGETHER);
  for (const row of rows) await match(ctx, row);
  // The next page only if this one has moved: those left have no user.
  const [left] = await queryUnmatched(ctx, address.toLowerCase()).take(1);
  if (rows.length === TOGETHER && left?._id !== rows[0]?._id)
    await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
});

function queryUnmatched(ctx: QueryCtx, from: string) {
  return queryByBoth(ctx.db.query("transfers"), "from", from, "state", "unmatched");
}

/** What is known of the transactions that a webhook names. */
export const findKnownTransactions = internalQuery({
  args: { named: v.array(v.string()) },
  returns: v.object({
    credited: v.array(
      v.object({ txHash: v.string(), logIndex: v.number(), amountUsdc: v.string(), credits: v.number() }),
    ),
    ignored: v.array(v.object({ txHash: v.string(), reason: v.string() })),
  }),
  handler: async (ctx, { named }) => {
    const found = await Promise.all(
      named.map((txHash) =>
        ctx.db
          .query("transfers")
          .withIndex("by_txHash_and_position", (q) => q.eq("txHash", txHash))
          .take(MOST_LISTED),
      ),
    );
    const rows = found.flat();
    const credited = rows.flatMap(({ txHash, logIndex, amount, credits }) => {
      if (logIndex === undefined || credits === undefined) return [];
      return [{ txHash, logIndex, amountUsdc: formatUnits(BigInt(amount), 6), credits }];
    });
    const ignored = rows.flatMap(({ txHash, state }) => {
      if (state === undefined || state === "credited") return [];
      return [{ txHash, reason: state === "ignored" ? "it was spent on a report" : UNMATCHED }];
    });
    return { credited, ignored };
  },
});

function platformWallet(): string {
  return getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase();
}

function findCursor(ctx: QueryCtx, wallet: string): Promise<Doc<"depositCursors"> | null> {
  return getOneFrom(ctx.db, "depositCursors", "by_wallet", wallet);
}

type Place = Pick<UsdcTransfer, "txHash" | "position">;
type Row = Doc<"transfers">;

/** The key of a transfer: `0x…:3`. */
export function transferKey({ txHash, position }: Place): string {
  return `${txHash}:${position}`;
}

/** The ledger's key of a deposit. */
function depositKey(transfer: Place): string {
  return `deposit:${transferKey(transfer)}`;
}

async function transferAt(ctx: QueryCtx, { txHash, position }: Place): Promise<Row | null> {
  return queryByBoth(ctx.db.query("transfers"), "txHash", txHash, "position", position).unique();
}

type Buyer = { userId?: string | undefined; keyHash?: string | undefined; proven: boolean };

/**
 * Buys a report with a transfer, if it can: it has bought nothing yet, or credits, of which the price is taken now.
 * @param by Another user's credits buy nothing, and nor does an owner's id alone, unless the payer has signed.
 * @returns Whether it has bought it.
 * @throws AppError `unauthorized`, `forbidden` for a key that is wrong.
 */
export async function buyReport(
  ctx: MutationCtx,
  transfer: UsdcTransfer,
  claimKey: string,
  by: Buyer,
): Promise<boolean> {
  const row = await transferAt(ctx, transfer);
  if (row?.claimKey !== undefined) return false;
  if (row?.state === "credited" && !(await payInCredits(ctx, row, by))) return false;
  if (row === null) await ctx.db.insert("transfers", { ...transfer, claimKey });
  else await ctx.db.patch("transfers", row._id, { claimKey });
  return true;
}

async function payInCredits(ctx: MutationCtx, row: Row, by: Buyer): Promise<boolean> {
  // The ledger has the user, even if the row was made anonymous.
  const userId = await findDepositor(ctx, depositKey(row));
  if (userId === null) return false;
  if (!by.proven && !(userId === by.userId && (await isIdentified(ctx, userId, by.keyHash)))) return false;
  const amount = toCredits(PRICE);
  if ((await getCreditBalance(ctx, userId)) < amount) return false;
  const key = `report:${transferKey(row)}`;
  if (amount > 0) await deduct(ctx, { userId, amount, key, source: "report" });
  return true;
}
