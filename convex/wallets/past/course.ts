import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { findOwner, readMode } from "../../identity/model";
import { toUsd } from "../../lib/money/amounts";
import { formatGain, formatUsd } from "../../lib/text/numbers";
import { DAY, HOUR } from "../../lib/time";
import { findPriceAt } from "../../market/samples";
import type { Paragraph } from "../../messenger/format";
import { findWallet, requireWallet } from "../model";
import { SYMBOLS, WALLET_TOKENS } from "../tokens";
import { queryMoves } from "./looks";
import { createPast, readSum } from "../result";

/** A wallet's worth over time: what it held by its moves, at the service's own prices. A dollar is a dollar. */

const vWorth = v.object({
  /** Epoch ms. */
  at: v.number(),
  /** In USD; `paidIn` is less what was taken out. */
  value: v.number(),
  paidIn: v.number(),
});
export type Worth = Infer<typeof vWorth>;

/** The most points of a course besides its moves, the most moves that it goes back, and days. */
const [POINTS, MOST_MOVES, MOST_DAYS] = [60, 200, 400];

/** The course of a wallet from its first move, at most 400 days and 200 moves ago, until `now` (epoch ms), oldest first. */
export const readCourse = internalQuery({
  args: { walletId: v.string(), now: v.number() },
  returns: v.array(vWorth),
  handler: async (ctx, { walletId, now }) => {
    const wallet = await requireWallet(ctx, walletId);
    const moves = await queryMoves(ctx, walletId, Infinity).take(MOST_MOVES);
    const from = Math.max(moves.at(-1)?.at ?? now, now - MOST_DAYS * DAY);
    const step = Math.max(HOUR / 4, (now - from) / POINTS);
    const grid = Array.from({ length: Math.floor((now - from) / step) }, (_, n) => now - n * step);
    // Both sides of each move, so that what came in is a step and no slope.
    const around = moves.flatMap(({ at }) => (at > from ? [at - 1, at] : at === from ? [at] : []));
    return computeWorths(ctx, wallet, moves, [...new Set([...grid, ...around])]);
  },
});

/**
 * The worth of a wallet at some times, oldest first; without those for which a price is missing.
 * @param known Its newest moves, of which none is left out after the earliest of these times.
 */
async function computeWorths(
  ctx: QueryCtx,
  { past }: Doc<"wallets">,
  known: readonly Doc<"moves">[],
  times: readonly number[],
): Promise<Worth[]> {
  const { held, sums } = structuredClone(past ?? createPast());
  const moves = [...known];
  let paidIn = readSum(sums, "paidIn") - readSum(sums, "takenOut");
  const worths: Worth[] = [];
  for (const at of times.toSorted((a, b) => b - a)) {
    for (; moves[0] !== undefined && moves[0].at > at; moves.shift()) {
      const { out, in: into, fee, flow } = moves[0];
      paidIn -= BigInt(flow);
      for (const leg of [out, fee])
        if (leg) held[leg.token] = String(readSum(held, leg.token) + BigInt(leg.raw));
      if (into) held[into.token] = String(readSum(held, into.token) - BigInt(into.raw));
    }
    let value: number | null = 0;
    for (const token of SYMBOLS) {
      const amount = Number(readSum(held, token)) / 10 ** WALLET_TOKENS[token].decimals;
      const { feed } = WALLET_TOKENS[token];
      if (amount <= 0 || value === null) continue;
      const price: number | null = feed === "ETH" || feed === "BTC" ? await findPriceAt(ctx, feed, at) : 1;
      value = price === null ? null : value + amount * price;
    }
    if (value !== null) worths.unshift({ at, value, paidIn: toUsd(paidIn) });
  }
  return worths;
}

/** The part of a user's daily digest about their wallet; none for an id without an owner, and for an empty wallet. */
export async function buildWalletDigest(ctx: QueryCtx, userId: string, now: number): Promise<Paragraph[]> {
  const wallet = (await findOwner(ctx, userId)) === null ? null : await findWallet(ctx, userId, "custody");
  if (wallet?.past === undefined || (await readMode(ctx, userId)) === true) return [];
  const moves = await queryMoves(ctx, wallet.walletId, Infinity).take(MOST_MOVES);
  const isKnown = wallet.past.since < now - DAY && (moves.at(MOST_MOVES - 1)?.at ?? 0) < now - DAY;
  const worths = await computeWorths(ctx, wallet, moves, isKnown ? [now - DAY, now] : [now]);
  const [last, before] = [worths.at(-1), worths.at(-2)];
  if (last === undefined || (last.value === 0 && (before?.value ?? 0) === 0)) return [];
  const gain = before === undefined ? null : last.value - last.paidIn - (before.value - before.paidIn);
  const since = gain === null ? "" : `, ${formatGain(gain)} since yesterday`;
  return [[{ bold: "Your wallet" }, `\nWorth $${formatUsd(last.value)}${since}`]];
}
