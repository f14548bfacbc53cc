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
import { vRead, vDepositReading, type DepositReading, type UsdcTransfer } from "./tables";
import { PRICE } from "./terms";

/**
 * USDC transfers to the platform wallet, one row each. A transfer buys at most one report, and credits for the rest, once.
 * A cursor per platform wallet has the last stored block; `depositReader` moves it.
 */

/** A former platform wallet is read for a day after its last hourly reread. */
const FORMER_MS = DAY + HOUR;
/** Limit of platform wallets that are read. */
const WALLETS = 20;
/** Deposits that one transaction credits. */
const TOGETHER = 50;
/** Deposits of one transaction that a webhook's answer lists. */
const MOST_LISTED = 200;

const UNMATCHED = "unmatched: it is credited once its sending address is linked";

/** Starts a reading, every minute. Concurrent readings are idempotent, and the next one resumes a lost one. */
export async function beginReading(ctx: MutationCtx): Promise<void> {
  if (!isSet("PLATFORM_WALLET_ADDRESS")) return;
  const wallet = getPlatformWallet();
  const now = Date.now();
  const rows = await ctx.db.query("depositCursors").withIndex("by_wallet").take(WALLETS);
  const row = rows.find((one) => one.wallet === wallet) ?? null;
  const again = row !== null && row.rereadAt < now - HOUR;
  // Deposits on their way to a former wallet are credited, too.
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

/** The next reading of the configured wallet. */
export const getReading = internalQuery({
  args: {},
  returns: vDepositReading,
  handler: async (ctx): Promise<DepositReading> =>
    buildReading(getPlatformWallet(), await findCursor(ctx, getPlatformWallet())),
});

function buildReading(wallet: string, row: Doc<"depositCursors"> | null, again = false): DepositReading {
  return { wallet, cursor: row && { start: row.start, block: row.block }, again };
}

/**
 * Sets back a cursor that a node's false head has moved ahead of the newest confirmed block.
 * @param args.isReread The newest blocks were read again completely; a reread that failed is repeated in a minute.
 */
export const correctCursor = defineMutation(
  { wallet: v.string(), last: v.number(), isReread: v.boolean() },
  async (ctx, { wallet, last, isReread }) => {
    const row = await findCursor(ctx, wallet);
    if (row === null) return;
    const [block, start] = [Math.min(row.block, last), Math.min(row.start, last)];
    await ctx.db.patch("depositCursors", row._id, {
      block,
      start,
      ...(isReread && { rereadAt: Date.now() }),
    });
  },
);

/**
 * Stores the transfers of blocks, and moves the cursor to `to`.
 * @param from The last block before them. A reading that would skip blocks changes nothing.
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

/** Stores a transfer from a block. Its row may exist already, because it has bought a report. */
async function takeTransfer(ctx: MutationCtx, read: Infer<typeof vRead>): Promise<void> {
  const earlier = await findTransfer(ctx, read);
  if (earlier?.state !== undefined) return;
  const row = { ...read, state: "unmatched" as const };
  const _id = earlier?._id ?? (await ctx.db.insert("transfers", row));
  if (earlier !== null) await ctx.db.patch("transfers", _id, row);
  await match(ctx, { ...earlier, ...row, _id });
}

/**
 * Credits an unmatched transfer, less the price of a report it has bought, if its sender has a user by now. While a signed
 * payment of its sender is being settled, the transfer may be that payment: it waits for the claim's end.
 */
async function match(ctx: MutationCtx, row: Omit<Row, "_creationTime">): Promise<void> {
  const claims = ctx.db.query("paymentClaims");
  if ((await queryByBoth(claims, "payer", row.from, "state", "settling").first()) !== null) return;
  const credits = toCredits(BigInt(row.amount) - (row.claimKey === undefined ? 0n : PRICE));
  if (credits === 0) return ctx.db.patch("transfers", row._id, { state: "ignored" });
  const userId = await findUserIdByAddress(ctx, row.from);
  if (userId === null) return;
  await creditDeposit(ctx, { userId, amount: credits, key: toDepositKey(row), source: "usdc" });
  await ctx.db.patch("transfers", row._id, { state: "credited", userId, credits });
}

/** Credits the held transfers of an address: sent before it was linked, or during a settlement. */
export const creditAddress = defineMutation({ address: v.string() }, async (ctx, { address }) => {
  const rows = await queryUnmatched(ctx, address.toLowerCase()).take(TOGETHER);
  for (const row of rows) await match(ctx, row);
  // The next page only if this one was credited: otherwise the sender has no user.
  const [left] = await queryUnmatched(ctx, address.toLowerCase()).take(1);
  if (rows.length === TOGETHER && left?._id !== rows[0]?._id)
    await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
});

function queryUnmatched(ctx: QueryCtx, from: string) {
  return queryByBoth(ctx.db.query("transfers"), "from", from, "state", "unmatched");
}

/** Finds the stored transfers of the transactions in a webhook. */
export const findKnownTransactions = internalQuery({
  args: { requestedHashes: v.array(v.string()) },
  returns: v.object({
    credited: v.array(
      v.object({ txHash: v.string(), logIndex: v.number(), amountUsdc: v.string(), credits: v.number() }),
    ),
    ignored: v.array(v.object({ txHash: v.string(), reason: v.string() })),
  }),
  handler: async (ctx, { requestedHashes }) => {
    const found = await Promise.all(
      requestedHashes.map((txHash) =>
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

function getPlatformWallet(): string {
  return getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase();
}

function findCursor(ctx: QueryCtx, wallet: string): Promise<Doc<"depositCursors"> | null> {
  return getOneFrom(ctx.db, "depositCursors", "by_wallet", wallet);
}

type Place = Pick<UsdcTransfer, "txHash" | "position">;
type Row = Doc<"transfers">;

/** Builds the key of a transfer: `0x…:3`. */
export function toTransferKey({ txHash, position }: Place): string {
  return `${txHash}:${position}`;
}

/** The ledger's key of a deposit. */
function toDepositKey(transfer: Place): string {
  return `deposit:${toTransferKey(transfer)}`;
}

async function findTransfer(ctx: QueryCtx, { txHash, position }: Place): Promise<Row | null> {
  return queryByBoth(ctx.db.query("transfers"), "txHash", txHash, "position", position).unique();
}

type Buyer = { userId?: string | undefined; keyHash?: string | undefined; proven: boolean };

/**
 * Buys a report with a transfer that has bought none. If it was credited, the price is taken from these credits.
 * @param by The buyer: the credited user with their credential, or the payer by signature (`proven`).
 * @returns Whether the report was bought.
 * @throws AppError `unauthorized`, `forbidden` for a key that is wrong.
 */
export async function buyReport(
  ctx: MutationCtx,
  transfer: UsdcTransfer,
  claimKey: string,
  by: Buyer,
): Promise<boolean> {
  const row = await findTransfer(ctx, transfer);
  if (row?.claimKey !== undefined) return false;
  if (row?.state === "credited" && !(await payInCredits(ctx, row, by))) return false;
  if (row === null) await ctx.db.insert("transfers", { ...transfer, claimKey });
  else await ctx.db.patch("transfers", row._id, { claimKey });
  return true;
}

async function payInCredits(ctx: MutationCtx, row: Row, by: Buyer): Promise<boolean> {
  // The ledger has the user, even after the row was anonymised.
  const userId = await findDepositor(ctx, toDepositKey(row));
  if (userId === null) return false;
  if (!by.proven && !(userId === by.userId && (await isIdentified(ctx, userId, by.keyHash)))) return false;
  const amount = toCredits(PRICE);
  if ((await getCreditBalance(ctx, userId)) < amount) return false;
  await deduct(ctx, { userId, amount, key: `report:${toTransferKey(row)}`, source: "report" });
  return true;
}
