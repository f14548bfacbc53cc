import { describe, expect, test } from "vitest";
import type { Id } from "../../convex/_generated/dataModel";
import { explain, type Effect } from "../../convex/wallets/past/moves";
import {
  computeResult,
  createPast,
  enterMove,
  readSum,
  type Leg,
  type Move,
  type Prices,
} from "../../convex/wallets/result";
import { SYMBOLS, WALLET_TOKENS, type Symbol } from "../../convex/wallets/tokens";

/** What a wallet has made, against a plain bookkeeper with floating numbers, who knows one lot of each thing. */

const FEED_UNIT = 10n ** 8n;

/** Repeatable random numbers. */
function createRandom(seed: number) {
  let state = seed;
  const random = () => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff;
  return { random, pick: <One>(of: readonly One[]): One => of[Math.floor(random() * of.length)] as One };
}

/** Prices that wander; each is missing at one moment of ten. */
function createMarket({ random }: ReturnType<typeof createRandom>) {
  const usd = { ETH: 3_000, BTC: 100_000, USDC: 1, USDT: 1, DAI: 1 };
  const priceOf = (token: Symbol) => BigInt(Math.round(usd[WALLET_TOKENS[token].feed] * 1e8));
  return {
    step: () => {
      for (const feed of ["ETH", "BTC"] as const) usd[feed] *= 0.97 + 0.06 * random();
    },
    priceOf,
    /** What the service knows of it now. */
    see: (): Prices => {
      const missing = new Set(SYMBOLS.filter(() => random() < 0.1).map((one) => WALLET_TOKENS[one].feed));
      return Object.fromEntries(
        SYMBOLS.map((one) => [one, missing.has(WALLET_TOKENS[one].feed) ? null : priceOf(one)]),
      );
    },
  };
}

const whole = (token: Symbol) => 10n ** BigInt(WALLET_TOKENS[token].decimals);
const thing = (token: Symbol) => (token === "WETH" ? "ETH" : token);
const toFloat = (token: Symbol, raw: bigint) => Number(raw) / Number(whole(token));
const worth = (prices: Prices, token: Symbol, raw: bigint) => {
  const price = prices[token] ?? null;
  return price === null ? null : (raw * price * 1_000_000n) / (whole(token) * FEED_UNIT);
};
const legOf = (prices: Prices, token: Symbol, raw: bigint): Leg => ({
  token,
  raw,
  value: worth(prices, token, raw),
});

/** The bookkeeper: of each thing so much is known, at a cost, and so much came without a price. */
function createOracle() {
  const lots: Record<string, { known: number; cost: number; unpriced: number }> = {};
  const sums = { paidIn: 0, takenOut: 0, realised: 0, fees: 0 };
  const lotOf = (token: Symbol) => (lots[thing(token)] ??= { known: 0, cost: 0, unpriced: 0 });
  const usd = (leg: Leg | undefined) => (leg?.value == null ? null : Number(leg.value) / 1e6);
  const take = ({ token, raw }: Leg) => {
    const lot = lotOf(token);
    const share = Math.min(1, toFloat(token, raw) / (lot.known + lot.unpriced || 1));
    const taken = { known: lot.known * share, cost: lot.cost * share, unpriced: lot.unpriced * share };
    for (const field of ["known", "cost", "unpriced"] as const) lot[field] -= taken[field];
    return { ...taken, knownShare: taken.known / (taken.known + taken.unpriced || 1) };
  };
  const put = (token: Symbol, more: { known: number; cost: number; unpriced: number }) => {
    const lot = lotOf(token);
    for (const field of ["known", "cost", "unpriced"] as const) lot[field] += more[field];
  };
  return {
    lots,
    sums,
    enter({ out, in: into, fee, isOwn, cost }: Move) {
      if (out && into) {
        const taken = take(out);
        const amount = toFloat(into.token, into.raw);
        const value = usd(out) ?? usd(into);
        if (thing(out.token) === thing(into.token)) put(into.token, taken);
        else if (value === null)
          put(into.token, {
            known: amount * taken.knownShare,
            cost: taken.cost,
            unpriced: amount * (1 - taken.knownShare),
          });
        else {
          put(into.token, { known: amount, cost: value, unpriced: 0 });
          sums.realised += value * taken.knownShare - taken.cost;
        }
      } else if (into) {
        const amount = toFloat(into.token, into.raw);
        const paid = cost === undefined ? usd(into) : Number(cost) / 1e6;
        put(into.token, {
          known: paid === null ? 0 : amount,
          cost: paid ?? 0,
          unpriced: paid === null ? amount : 0,
        });
        sums.paidIn += paid ?? 0;
      } else if (out) {
        const taken = take(out);
        sums.takenOut += isOwn === true ? taken.cost : (usd(out) ?? 0);
      }
      if (fee) {
        const taken = take(fee);
        sums.fees += usd(fee) ?? taken.cost;
      }
    },
  };
}

test("the result of 1,000 random histories is a plain bookkeeper's: unpriced moments, wraps, transfers between own wallets", () => {
  for (let seed = 1; seed <= 1_000; seed++) {
    const dice = createRandom(seed);
    const { random, pick } = dice;
    const market = createMarket(dice);
    const past = createPast();
    const oracle = createOracle();
    for (let step = 0; step < 25; step++) {
      market.step();
      const seen = market.see();
      const token = pick(SYMBOLS);
      const held = readSum(past.held, token);
      const some = (held * BigInt(1 + Math.floor(random() * 999))) / 1_000n;
      const gas = whole("ETH") / 50_000n;
      const fee = readSum(past.held, "ETH") > 3n * gas ? { fee: legOf(seen, "ETH", gas) } : {};
      const kind = random();
      let move: Move | null = null;
      if (kind < 0.3 || step < 3) {
        const raw = BigInt(1 + Math.floor(random() * 1e6)) * (whole(token) / 10_000n);
        const cost =
          random() < 0.2 ? { cost: worth({ [token]: market.priceOf(token) }, token, raw) ?? 0n } : {};
        move = { kind: "received", in: legOf(seen, token, raw), ...cost };
      } else if (some === 0n || token === "ETH")
        move = Object.keys(fee).length === 0 ? null : { kind: "fee", ...fee };
      else if (kind < 0.5)
        move = { kind: "send", out: legOf(seen, token, some), isOwn: random() < 0.5, ...fee };
      else {
        const to = pick(SYMBOLS.filter((one) => one !== token));
        const isWrap = thing(to) === thing(token);
        const raw = isWrap
          ? some
          : (some * market.priceOf(token) * whole(to) * 997n) / (market.priceOf(to) * whole(token) * 1_000n);
        move = { kind: "swap", out: legOf(seen, token, some), in: legOf(seen, to, raw), ...fee };
      }
      if (move === null) continue;
      enterMove(past, move);
      oracle.enter(move);
    }
    const prices = market.see();
    const { result } = computeResult(past, prices);
    let unrealised = 0;
    const unpriced = new Set<string>();
    for (const token of SYMBOLS) {
      if (readSum(past.held, token) === 0n) continue;
      const lot = oracle.lots[thing(token)];
      if (prices[token] == null || (lot?.unpriced ?? 0) > 1e-12) unpriced.add(token);
    }
    for (const [name, { known, cost }] of Object.entries(oracle.lots)) {
      const price = prices[name as Symbol];
      if (price != null) unrealised += (known * Number(price)) / 1e8 - cost;
    }
    const { paidInUsd, takenOutUsd, realisedUsd, feesUsd, unrealisedUsd } = result;
    const got = [paidInUsd, takenOutUsd, realisedUsd, feesUsd, unrealisedUsd];
    const { paidIn, takenOut, realised, fees } = oracle.sums;
    const wanted = [paidIn, takenOut, realised, fees, unrealised];
    const apart = got.map((one, index) => Math.abs(one - (wanted[index] ?? NaN)));
    // A tenth of a cent, which is the smallest unit of bitcoin, and what a floating number of this size cannot tell.
    const size = Math.max(...wanted.map(Math.abs));
    expect([seed, apart.every((one) => one < 0.001 + size * 1e-8)]).toEqual([seed, true]);
    expect(result.totalUsd).toBeCloseTo(realisedUsd + unrealisedUsd - feesUsd, 5);
    expect([seed, new Set(result.unpriced)]).toEqual([seed, unpriced]);
  }
});

describe("what lies between two looks", () => {
  const CENT = 10_000n;

  test("is explained to the last digit in 1,000 random histories, with strangers' dust, unknown proceeds and dropped blocks", () => {
    for (let seed = 1; seed <= 1_000; seed++) {
      const dice = createRandom(seed);
      const { random, pick } = dice;
      const market = createMarket(dice);
      const chain = new Map<Symbol, bigint>();
      const on = (token: Symbol) => chain.get(token) ?? 0n;
      const add = (token: Symbol, raw: bigint) => chain.set(token, on(token) + raw);
      const past = createPast();
      const sums = new Map<Symbol, bigint>();
      let effects: Effect[] = [];
      let droppable: { token: Symbol; raw: bigint } | null = null;
      let [foreign, orders, entered] = [0, 0, 0];
      for (let at = 1; at <= 15; at++) {
        market.step();
        const prices = Object.fromEntries(SYMBOLS.map((one) => [one, market.priceOf(one)]));
        for (let n = Math.floor(random() * 3); n > 0; n--) {
          const token = pick(SYMBOLS);
          const kind = random();
          if (kind < 0.4 || on("ETH") < whole("ETH") / 100n) {
            const raw = BigInt(Math.floor(random() * 1e6)) * (whole("ETH") / 1_000_000n) + 1n;
            add("ETH", raw);
            droppable = { token: "ETH", raw };
            foreign++;
          } else if (kind < 0.5) add(token, 1n);
          else if (kind < 0.55 && droppable !== null && on(droppable.token) > droppable.raw) {
            add(droppable.token, -droppable.raw);
            droppable = null;
          } else {
            const out: Leg = { token: "ETH", raw: on("ETH") / 3n, value: null };
            const fee: Leg = { token: "ETH", raw: whole("ETH") / 100_000n, value: null };
            const bought = BigInt(1 + Math.floor(random() * 1e9));
            const isKnown = random() < 0.7;
            const common = {
              kind: "swap",
              orderId: `o${orders++}` as Id<"orders">,
              at: at * 100,
              block: at,
            } as const;
            const into: Leg = { token: "USDC", raw: bought, value: null };
            const rest = isKnown ? { in: into } : { in: { ...into, raw: 0n }, open: "in" as const };
            effects.push({ ...common, out, fee, ...rest });
            add("ETH", -out.raw - fee.raw);
            add("USDC", bought);
          }
        }
        if (random() < 0.5) continue;
        const moves = explain(past, { held: Object.fromEntries(chain), at: at * 100 + 50, prices }, effects);
        entered += effects.length;
        effects = [];
        const wrong: string[] = [];
        let last = past.at;
        for (const move of moves) {
          if (move.at < last) wrong.push(`${move.kind} at ${move.at}`);
          last = move.at;
          enterMove(past, move);
          for (const leg of [move.out, move.fee])
            if (leg) sums.set(leg.token, (sums.get(leg.token) ?? 0n) - leg.raw);
          if (move.in) sums.set(move.in.token, (sums.get(move.in.token) ?? 0n) + move.in.raw);
        }
        past.at = last;
        for (const token of SYMBOLS) {
          const [known, apart] = [readSum(past.held, token), on(token) - readSum(past.held, token)];
          const value = worth(prices, token, apart < 0n ? -apart : apart) ?? 0n;
          if (value >= CENT || known < 0n || known !== (sums.get(token) ?? 0n))
            wrong.push(`${apart} ${token}`);
        }
        expect([seed, wrong]).toEqual([seed, []]);
      }
      expect(foreign).toBeGreaterThan(0);
      expect(entered).toBeLessThanOrEqual(orders);
    }
  });

  const prices: Prices = { ETH: 3_000n * FEED_UNIT, USDC: FEED_UNIT };
  const present = (held: Partial<Record<Symbol, bigint>>, at = 1_000) => ({ held, at, prices });
  const swap: Effect = {
    ...{ orderId: "o" as Id<"orders">, kind: "swap", at: 500, block: 7 },
    out: { token: "USDC", raw: 50_000_000n, value: 50_000_000n },
    fee: { token: "ETH", raw: 1_000n, value: null },
  };

  test("comes before the orders that may have spent it, and a swap's unknown proceeds are its own", () => {
    const effects: Effect[] = [{ ...swap, in: { token: "ETH", raw: 0n, value: null }, open: "in" }];
    const moves = explain(createPast(), present({ USDC: 50_000_000n, ETH: 10n ** 16n }), effects);
    expect(moves.map(({ kind, at, in: into }) => [kind, at, into?.raw])).toEqual([
      ["received", 499, 100_000_000n],
      ["swap", 500, 10n ** 16n + 1_000n],
    ]);
  });

  test("is no row below a cent, and is one when it has grown to a cent or was spent", () => {
    const dust = present({ USDC: 9_999n });
    const past = createPast();
    expect(explain(past, dust, [])).toEqual([]);
    expect(explain(past, present({ USDC: 10_000n }), [])).toMatchObject([{ kind: "received", at: 1_000 }]);
    const { fee: _fee, ...free } = swap;
    const bought = { token: "ETH", raw: 3n, value: null } as const;
    const spent: Effect = { ...free, out: { token: "USDC", raw: 9_999n, value: 9_999n }, in: bought };
    const moves = explain(past, present({ ETH: 3n }), [spent]);
    expect(moves.map(({ kind }) => kind)).toEqual(["received", "swap"]);
  });

  test("a dropped block shows as two opposite moves", () => {
    const past = createPast();
    const held = { USDC: 5_000_000n };
    for (const [state, kind] of [
      [held, "received"],
      [{}, "taken"],
      [held, "received"],
    ] as const) {
      const moves = explain(past, present(state), []);
      expect(moves.map((one) => one.kind)).toEqual([kind]);
      for (const move of moves) enterMove(past, move);
    }
    const { paidInUsd, takenOutUsd } = computeResult(past, prices).result;
    expect([paidInUsd - takenOutUsd, readSum(past.held, "USDC")]).toEqual([5, 5_000_000n]);
  });
});
