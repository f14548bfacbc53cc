import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { computeMicroUsd, toUsd } from "../lib/money/amounts";
import { defined } from "../lib/objects";
import { toIso } from "../lib/time";
import { FEED_DECIMALS } from "../market/feeds";
import type { Past, StoredMove } from "./tables";
import { SYMBOLS, WALLET_TOKENS, type Symbol } from "./tokens";

/**
 * A wallet's result: a function of its moves alone, by average cost. Tokens of one feed are one thing, so wrapping
 * ether realises nothing; they have the same decimals. Pure. Amounts in the smallest unit, sums in micro-USD.
 */

/** `value` is its worth when it moved; `null` without a live price. */
export type Leg = { token: Symbol; raw: bigint; value: bigint | null };
export type Move = {
  kind: StoredMove["kind"];
  out?: Leg;
  in?: Leg;
  /** The network fee, in ether. */
  fee?: Leg;
  /** From one wallet of the account to another: at cost, which the receiving wallet is told. */
  isOwn?: boolean;
  cost?: bigint;
};

/** The past of a wallet without moves. */
export const createPast = (): Past => ({
  ...{ since: 0, at: 0, block: 0, count: 0 },
  ...{ held: {}, cost: {}, unpriced: {}, sums: {} },
});

type Sums = Record<string, string>;
export const readSum = (sums: Sums, name: string): bigint => BigInt(sums[name] ?? 0);
const add = (sums: Sums, name: string, more: bigint) => (sums[name] = String(readSum(sums, name) + more));

const feedOf = (token: Symbol) => WALLET_TOKENS[token].feed;

/** All that is held of a token and of those that are the same thing. */
function readAmount({ held }: Past, token: Symbol): bigint {
  const same = SYMBOLS.filter((one) => feedOf(one) === feedOf(token));
  return same.reduce((sum, one) => sum + readSum(held, one), 0n);
}

type Cost = { cost: bigint; unpriced: bigint };

/** Takes an amount out with its share of the cost; an amount whose arrival was never read has none. */
function take(past: Past, { token, raw }: Leg): Cost {
  const amount = readAmount(past, token);
  const feed = feedOf(token);
  const part = (sum: bigint) => (raw >= amount ? sum : (sum * raw) / amount);
  const [cost, unpriced] = [part(readSum(past.cost, feed)), part(readSum(past.unpriced, feed))];
  put(past, { token, raw: -raw }, { cost: -cost, unpriced: -unpriced });
  return { cost, unpriced };
}

/** Puts an amount in at a cost; `unpriced` is the part of it that has none. */
function put(past: Past, { token, raw }: Pick<Leg, "token" | "raw">, { cost, unpriced }: Cost): void {
  add(past.held, token, raw);
  add(past.cost, feedOf(token), cost);
  add(past.unpriced, feedOf(token), unpriced);
}

/** The outcome of a move: the result of a swap, and the cost of the amount that left. */
type Entered = { realised: bigint | null; flow: bigint; cost: bigint };

/**
 * Enters a move into the past. `flow` is what it adds to what was paid in less what was taken out. A swap without any price
 * realises nothing: what is bought has the cost of what was sold.
 */
export function enterMove(past: Past, move: Move): Entered {
  const { out, in: into, fee } = move;
  const taken = out === undefined ? { cost: 0n, unpriced: 0n } : take(past, out);
  const entered: Entered = { realised: null, flow: 0n, cost: taken.cost };
  if (out !== undefined && into !== undefined) {
    const value = out.value ?? into.value;
    if (feedOf(out.token) === feedOf(into.token)) put(past, into, taken);
    else if (value === null)
      put(past, into, { cost: taken.cost, unpriced: (into.raw * taken.unpriced) / out.raw });
    else {
      put(past, into, { cost: value, unpriced: 0n });
      entered.realised = (value * (out.raw - taken.unpriced)) / out.raw - taken.cost;
      add(past.sums, "realised", entered.realised);
    }
  } else if (into !== undefined) {
    const cost = move.cost ?? into.value;
    put(past, into, { cost: cost ?? 0n, unpriced: cost === null ? into.raw : 0n });
    entered.flow = cost ?? 0n;
    add(past.sums, "paidIn", entered.flow);
  } else if (out !== undefined) {
    entered.flow = -(move.isOwn === true ? taken.cost : (out.value ?? 0n));
    add(past.sums, "takenOut", -entered.flow);
  }
  if (fee !== undefined) {
    const { cost } = take(past, fee);
    add(past.sums, "fees", fee.value ?? cost);
  }
  return entered;
}

/** A move and its time. */
export type Dated = Move & { at: number; orderId?: Id<"orders"> };

const writeLeg = (leg: Leg | undefined) =>
  leg && { token: leg.token, raw: leg.raw.toString(), ...defined({ value: leg.value?.toString() }) };

/** Stores moves of a wallet, or of its book by its id, and enters them into its past, which the caller stores. */
export async function storeMoves(
  ctx: MutationCtx,
  { walletId, userId }: { walletId: string; userId: string },
  past: Past,
  moves: readonly Dated[],
): Promise<void> {
  for (const move of moves) {
    const { kind, at, out, in: into, fee, orderId } = move;
    const { realised, flow, cost } = enterMove(past, move);
    past.count += 1;
    if (past.count === 1) past.since = at;
    past.at = at;
    await ctx.db.insert("moves", {
      ...{ walletId, userId, n: past.count, at, kind, flow: flow.toString() },
      ...defined({
        out: writeLeg(out),
        in: writeLeg(into),
        fee: writeLeg(fee),
        orderId,
        realised: realised?.toString(),
        cost: kind === "send" ? cost.toString() : undefined,
      }),
    });
  }
}

/** Live prices in the feeds' unit; `null` without one. */
export type Prices = Partial<Record<Symbol, bigint | null>>;

/** The worth of an amount; `null` without a live price. */
export function computeWorth(prices: Prices, token: Symbol, raw: bigint): bigint | null {
  const price = prices[token] ?? null;
  return price === null ? null : computeMicroUsd(raw, WALLET_TOKENS[token].decimals, price, FEED_DECIMALS);
}

/** The result at these prices, in USD. Tokens that are `unpriced`, wholly or in part, are left out of it. */
export function computeResult(past: Past | null, prices: Prices) {
  const known = past ?? createPast();
  const tokens: Partial<
    Record<Symbol, { costUsd: number; averageUsd: number | null; unrealisedUsd: number | null }>
  > = {};
  const unpriced: Symbol[] = [];
  let unrealised = 0n;
  for (const token of SYMBOLS.filter((one) => readSum(known.held, one) > 0n)) {
    const held = readSum(known.held, token);
    const share = (sums: Sums) => (readSum(sums, feedOf(token)) * held) / readAmount(known, token);
    const [cost, priced] = [share(known.cost), held - share(known.unpriced)];
    const worth = computeWorth(prices, token, priced);
    unrealised += worth === null ? 0n : worth - cost;
    if (worth === null || priced < held) unpriced.push(token);
    const whole = 10n ** BigInt(WALLET_TOKENS[token].decimals);
    tokens[token] = {
      costUsd: toUsd(cost),
      averageUsd: priced === 0n ? null : toUsd((cost * whole) / priced),
      unrealisedUsd: worth === null ? null : toUsd(worth - cost),
    };
  }
  const sum = (name: string) => readSum(known.sums, name);
  const [paidIn, total] = [sum("paidIn"), sum("realised") + unrealised - sum("fees")];
  const result = {
    since: past === null ? null : toIso(past.since),
    paidInUsd: toUsd(paidIn),
    takenOutUsd: toUsd(sum("takenOut")),
    realisedUsd: toUsd(sum("realised")),
    unrealisedUsd: toUsd(unrealised),
    feesUsd: toUsd(sum("fees")),
    totalUsd: toUsd(total),
    percent: paidIn <= 0n ? null : Number((total * 10_000n) / paidIn) / 100,
    unpriced,
  };
  return { result, tokens };
}

export type Result = ReturnType<typeof computeResult>["result"];
