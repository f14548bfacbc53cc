import type { Id } from "../../_generated/dataModel";
import type { Order } from "../orders/model";
import { formatTokenAmount } from "../model";
import type { NamedMove, Past, SignedTry } from "../tables";
import { SYMBOLS, type Symbol } from "../tokens";
import { computeWorth, readSum, type Dated, type Leg, type Move, type Prices } from "../result";

/**
 * What lies between the balances that are known and those of a block: the account's own mined orders, and the rest, which
 * came or went by other hands; and the words of a move. Pure.
 */

/** The effect of a mined order on a wallet. */
export type Effect = Move & {
  orderId: Id<"orders">;
  /** Epoch ms, and the newest block of its transactions. */
  at: number;
  block: number;
  /** Not known, or not wholly: the swap's proceeds, or the fee. The rest of it is in the difference. */
  open?: "in" | "fee" | undefined;
};

/** The mined transactions of an order: one at each nonce, the one that decided it. */
function listMined({ tries, txHash, approvalTxHash }: Order): (SignedTry & { block: number })[] {
  const mined = tries.flatMap((one) => (one.block === undefined ? [] : [{ ...one, block: one.block }]));
  const decided = ({ hash }: SignedTry) => hash === txHash || hash === approvalTxHash;
  return mined.filter(
    (one) =>
      decided(one) || !mined.some((other) => other !== one && other.nonce === one.nonce && decided(other)),
  );
}

/** The input of `toEffect`: an ended order's row, and what its effect depends on besides. */
type Ended = {
  row: Order;
  /** The relayer's order that has ended a gas order. */
  half: Order | null;
  /** The address of the account's other wallet. */
  other: string | undefined;
  prices: Prices;
};

/** The effect of an ended order on its own wallet; `null` if none of its transactions was mined. */
export function toEffect({ row, half, other, prices }: Ended): Effect | null {
  const { _id: orderId, request, state, value, etherPrice } = row;
  const mined = listMined(half ?? row);
  const last = mined.at(-1);
  if (last === undefined || (request.kind === "gas" && state !== "confirmed")) return null;
  const worth = value === undefined ? undefined : BigInt(value);
  const leg = (token: Symbol, digits: string, knownValue?: bigint): Leg => {
    const raw = BigInt(digits);
    return { token, raw, value: knownValue ?? computeWorth(prices, token, raw) };
  };
  const block = Math.max(...mined.map((one) => one.block));
  const base = { orderId, at: half === null ? last.at : (row.endedAt ?? last.at), block };
  if (request.kind === "gas")
    return { ...base, kind: "swap", out: leg("USDC", request.amount, worth), in: leg("ETH", request.ether) };
  const paid = mined.reduce((sum, one) => sum + BigInt(one.paid ?? 0), 0n);
  const price = BigInt(etherPrice);
  const fee = leg("ETH", paid.toString(), price === 0n ? undefined : (paid * price) / 10n ** 18n);
  const open = mined.some((one) => one.paid === undefined) ? ("fee" as const) : undefined;
  const spent = { ...base, fee, open };
  if (state === "confirmed" && request.kind === "send" && request.toAddress !== row.address) {
    const { token, amount, toAddress } = request;
    return { ...spent, kind: "send", out: leg(token, amount, worth), isOwn: toAddress === other };
  }
  if (state !== "confirmed" || request.kind !== "swap") return { ...spent, kind: "fee" };
  const { fromToken, toToken, amount } = request;
  const swapped = { ...spent, kind: "swap", out: leg(fromToken, amount, worth) } as const;
  const isOpen = row.bought === undefined ? { open: "in" as const } : {};
  return { ...swapped, in: leg(toToken, row.bought ?? "0"), ...isOpen };
}

/** In micro-USD. A smaller amount from outside gets no row, and stays in the difference. */
const DUST = 10_000n;

/**
 * The moves that lead from a past to the balances of a block, in their order. What came or went by other hands is dated
 * before the orders of the meantime, which may have spent it.
 * @param present The balances at that block, and its time.
 */
export function explain(
  past: Past,
  present: { held: Partial<Record<Symbol, bigint>>; at: number; prices: Prices },
  effects: readonly Effect[],
): Dated[] {
  const { held, prices, at } = present;
  const rest = new Map(SYMBOLS.map((token) => [token, (held[token] ?? 0n) - readSum(past.held, token)]));
  const read = (token: Symbol) => rest.get(token) ?? 0n;
  const add = ({ token, raw }: Pick<Leg, "token" | "raw">) => rest.set(token, read(token) + raw);
  for (const { out, in: into, fee } of effects) {
    for (const leg of [out, fee]) if (leg !== undefined) add(leg);
    if (into !== undefined) add({ ...into, raw: -into.raw });
  }
  const ownMoves = effects.map(({ open, ...effect }): Dated => {
    const known = open && effect[open];
    const more = known === undefined ? 0n : open === "in" ? read(known.token) : -read(known.token);
    if (open === undefined || known === undefined || more <= 0n) return effect;
    const { token } = known;
    add({ token, raw: open === "in" ? -more : more });
    const raw = known.raw + more;
    return { ...effect, [open]: { token, raw, value: computeWorth(prices, token, raw) } };
  });
  const first = Math.min(at, ...ownMoves.map((one) => one.at - 1));
  const external = SYMBOLS.flatMap((token): Dated[] => {
    const difference = read(token);
    const raw = difference < 0n ? -difference : difference;
    const value = computeWorth(prices, token, raw);
    const isShort = (held[token] ?? 0n) < difference;
    if (raw === 0n || (value !== null && value < DUST && !isShort)) return [];
    const leg = { token, raw, value };
    return [
      difference > 0n ? { kind: "received", at: first, in: leg } : { kind: "taken", at: first, out: leg },
    ];
  });
  return [...external, ...ownMoves].map((one) => ({ ...one, at: Math.max(one.at, past.at) }));
}

/**
 * A move in words: `100 USDC received`, `25 USDC → 0.0074 ETH`.
 * @param format The amount of a token, exact unless something else is given.
 */
export function describeMove(
  { kind, out, in: into, fee, to = "" }: NamedMove,
  format: (raw: string, token: Symbol) => string = formatTokenAmount,
): string {
  const amount = (leg: NamedMove["out"]) => (leg === undefined ? "" : format(leg.raw, leg.token));
  if (kind === "fee") return `${amount(fee)} for network fees`;
  if (kind === "swap") return `${amount(out)} → ${amount(into)}`;
  if (kind === "send") return `${amount(out)} to ${to}`;
  return kind === "received" ? `${amount(into)} received` : `${amount(out)} taken out`;
}
