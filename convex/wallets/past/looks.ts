import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { defineMutation } from "../../platform/changes";
import { queryByBoth } from "../../platform/records";
import { defined } from "../../lib/objects";
import { DAY, HOUR } from "../../lib/time";
import { findOwner, readMode } from "../../identity/model";
import { toUsd } from "../../lib/money/amounts";
import { formatGain, formatUsd } from "../../lib/text/numbers";
import { findPriceAt } from "../../market/samples";
import type { Paragraph } from "../../messenger/format";
import { findWallet, requireWallet, findBlockingOrder } from "../model";
import { type Order } from "../orders/model";
import { vNamedMove, vPast, vSymbol, type NamedMove } from "../tables";
import { SYMBOLS, WALLET_TOKENS } from "../tokens";
import { explain, toEffect, type Effect } from "./moves";
import { computeWorth, createPast, enterMove, readSum, storeMoves, type Leg, type Prices } from "../result";

/**
 * Looks at wallets: each compares the balances of a block with the known ones, and enters what is new as moves, all of them
 * or none. A look that finds nothing new writes nothing. From the moves follows what a wallet was worth over time.
 */

/** A wallet with at least a dollar is read daily, for a month after the last request for it. */
const WATCHED_USD = 1_000_000n;
const WATCHED_MS = 30 * DAY;
/** No order waits for longer before its first signature. */
const LONGEST_WAIT_MS = HOUR;
/** At the first look: the newest orders of each end. */
const MOST_ORDERS = 500;

/** The balances at a block with the feeds' prices, in digits. */
const vLook = v.object({
  walletId: v.string(),
  block: v.number(),
  /** Epoch ms. */
  at: v.number(),
  tokens: v.array(v.object({ token: vSymbol, raw: v.string(), price: v.optional(v.string()) })),
  /** Whether a request, not the cron, causes it. */
  isAsked: v.boolean(),
});
export type Look = Infer<typeof vLook>;

/**
 * Enters what a look has found. It is put off while an order is under way, and where the node was behind an order's end or
 * an earlier look.
 * @returns The wallet's past afterwards; `null` before its first move.
 */
export const storeLook = internalMutation({
  args: vLook.fields,
  returns: v.union(vPast, v.null()),
  handler: async (ctx, look) => {
    const wallet = await requireWallet(ctx, look.walletId);
    const past = (await enterFound(ctx, wallet, look)) ?? wallet.past;
    const watch = planLooks(wallet, look);
    const changes = { ...(past === wallet.past ? {} : { past }), ...watch };
    if (Object.keys(changes).length > 0) await ctx.db.patch("wallets", wallet._id, changes);
    return past ?? null;
  },
});

const readPrices = ({ tokens }: Pick<Look, "tokens">): Prices =>
  Object.fromEntries(tokens.map(({ token, price }) => [token, price === undefined ? null : BigInt(price)]));

/** Enters the new moves. @returns The past with them; `undefined` if there are none, or the look is put off. */
async function enterFound(ctx: MutationCtx, wallet: Doc<"wallets">, look: Look) {
  const { walletId, userId } = wallet;
  const past = structuredClone(wallet.past ?? createPast());
  const prices = readPrices(look);
  const effects = look.block < past.block ? null : await listEffects(ctx, wallet, prices);
  if (effects === null || effects.some(({ block }) => block > look.block)) return undefined;
  const held = Object.fromEntries(look.tokens.map(({ token, raw }) => [token, BigInt(raw)]));
  const moves = explain(past, { held, at: look.at, prices }, effects);
  await storeMoves(ctx, { walletId, userId }, past, moves);
  return moves.length === 0 ? undefined : { ...past, block: look.block };
}

/**
 * What the account's orders did to a wallet since the known moves, oldest first: its own, and sends from the account's other
 * wallet. `null` while one is under way.
 */
async function listEffects(ctx: QueryCtx, wallet: Doc<"wallets">, prices: Prices): Promise<Effect[] | null> {
  const { walletId, userId, address, kind, past } = wallet;
  const other = await findWallet(ctx, userId, kind === "basic" ? "custody" : "basic");
  const ids = [walletId, ...(other === null ? [] : [other.walletId])];
  for (const id of ids) if ((await findBlockingOrder(ctx, { walletId: id, userId })) !== null) return null;
  const after = past === undefined ? 0 : past.at - LONGEST_WAIT_MS;
  const effects: Effect[] = [];
  for (const row of (await Promise.all(ids.map((id) => listEnded(ctx, id, after)))).flat()) {
    const isOwn = row.walletId === walletId;
    if (!isOwn && (row.request.kind !== "send" || row.request.toAddress !== address)) continue;
    if ((await findEntered(ctx, walletId, row)) !== null) continue;
    const half =
      row.exchange && (await ctx.db.get("orders", row.exchange.fallbackId ?? row.exchange.serviceId));
    const effect = toEffect({ row, half: half ?? null, other: other?.address, prices });
    if (effect === null) continue;
    if (isOwn) effects.push(effect);
    else if (other !== null && effect.out !== undefined)
      effects.push(await receive(ctx, other, row, { ...effect, out: effect.out }));
  }
  return effects.sort((a, b) => a.at - b.at);
}

/** A send of the account's other wallet as the receiving one sees it: at the cost that it has had there. */
async function receive(
  ctx: QueryCtx,
  sender: Doc<"wallets">,
  row: Order,
  { orderId, at, block, out }: Effect & { out: Leg },
): Promise<Effect> {
  const entered = await findEntered(ctx, sender.walletId, row);
  const received = { orderId, at, block, kind: "received", in: out } as const;
  if (entered !== null) return { ...received, cost: BigInt(entered.cost ?? 0) };
  const past = structuredClone(sender.past ?? createPast());
  if (readSum(past.held, out.token) < out.raw) return received;
  return { ...received, cost: enterMove(past, { kind: "send", out }).cost };
}

function findEntered(ctx: QueryCtx, walletId: string, { _id }: Order) {
  return queryByBoth(ctx.db.query("moves"), "walletId", walletId, "orderId", _id).unique();
}

/** The orders of a wallet that have ended and were made after a moment. */
async function listEnded(ctx: QueryCtx, walletId: string, after: number): Promise<Order[]> {
  const ends = (["confirmed", "failed"] as const).map((state) =>
    ctx.db
      .query("orders")
      .withIndex("by_walletId_and_state", (q) =>
        q.eq("walletId", walletId).eq("state", state).gt("_creationTime", after),
      )
      .order("desc")
      .take(MOST_ORDERS),
  );
  return (await Promise.all(ends)).flat();
}

/** The moves of a wallet before one of them, newest first. */
export const listMoves = internalQuery({
  args: { walletId: v.string(), before: v.number(), limit: v.number() },
  returns: v.array(vNamedMove),
  handler: async (ctx, { walletId, before, limit }): Promise<NamedMove[]> => {
    const rows = await queryMoves(ctx, walletId, before).take(limit);
    return Promise.all(
      rows.map(async ({ _id, _creationTime, walletId: _wallet, userId: _user, ...move }) => {
        const order = move.orderId === undefined ? null : await ctx.db.get("orders", move.orderId);
        if (order === null) return { ...move, by: "others" };
        const { request, by, txHash, approvalTxHash } = order;
        const to = request.kind === "send" && move.kind === "send" ? request.toAddress : undefined;
        return { ...move, by, ...defined({ to, txHash: txHash ?? approvalTxHash }) };
      }),
    );
  },
});

/** A wallet's moves before one of them (`n`), newest first. */
export function queryMoves(ctx: QueryCtx, walletId: string, before: number) {
  return ctx.db
    .query("moves")
    .withIndex("by_walletId_and_n", (q) => q.eq("walletId", walletId).lt("n", before))
    .order("desc");
}

/** The changes of the fields for daily reads: a request starts them, and a wallet worth nothing ends them. */
function planLooks({ lookAt, lookUntil = 0 }: Doc<"wallets">, { at, tokens, isAsked }: Look) {
  const prices = readPrices({ tokens });
  const values = tokens.map(({ token, raw }) =>
    raw === "0" ? 0n : computeWorth(prices, token, BigInt(raw)),
  );
  // Without a live price an amount may be worth anything.
  const isWorthy =
    values.includes(null) || values.reduce((sum: bigint, one) => sum + (one ?? 0n), 0n) >= WATCHED_USD;
  if (!isWorthy || (!isAsked && lookUntil <= at))
    return lookAt === undefined ? {} : { lookAt: undefined, lookUntil: undefined };
  return isAsked && lookUntil < at + WATCHED_MS - DAY
    ? { lookAt: lookAt ?? at + DAY, lookUntil: at + WATCHED_MS }
    : {};
}

/** The wallets whose daily read is due. */
export function queryDueLooks(ctx: QueryCtx, now: number) {
  return ctx.db.query("wallets").withIndex("by_lookAt", (q) => q.gt("lookAt", 0).lte("lookAt", now));
}

/** Has the due wallets looked at, and plans the next look of each for the same time of the next day. */
export const takeUpLooks = defineMutation({}, async (ctx) => {
  const now = Date.now();
  for (const { _id, walletId, address, lookAt = now } of await queryDueLooks(ctx, now).take(50)) {
    const days = Math.floor((now - lookAt) / DAY) + 1;
    await ctx.db.patch("wallets", _id, { lookAt: lookAt + days * DAY });
    await ctx.scheduler.runAfter(0, internal.wallets.actions.lookDaily, { walletId, address });
  }
});

/** A wallet's worth: its holdings by its moves, at the service's own prices. Stablecoins count as a dollar. */
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
    // Both sides of each move, so that a deposit is a step and no slope.
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
