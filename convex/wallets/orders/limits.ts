import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { findAccount, getDailyLimit } from "../../identity/model";
import { findRecipient } from "../../identity/model";
import { getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS, formatUnits, toMicroUsd } from "../../lib/money/amounts";
import { isGuessableId } from "../../platform/records";
import { sha256Hex } from "../../lib/crypto";
import { DAY, formatDateTime, HOUR, MINUTE } from "../../lib/time";
import { findWalletByAddress } from "../model";
import type { By, UserRequest } from "../tables";

/**
 * How much a credential may move in any 24 hours, and to whom. A sum is a function of the orders: nothing is kept beside
 * them, so an order that moved nothing counts nothing. The mutation that opens an order counts it. Micro-USD throughout.
 */

/** Who orders, and what for. */
export type Ordering = {
  userId: string;
  by: By;
  /** The key that orders. */
  key?: Doc<"keys"> | undefined;
  /** A cap of the credential's own, below the account's: of posts. */
  most?: bigint | undefined;
  /** The caller's network address; `null` if the order came by no network. */
  address: string | null;
  request: UserRequest;
  /** Of the sent or sold amount, in micro-USD; absent without a live price. */
  value?: string | undefined;
};

/** A cap, and the orders that count against it. `about` ends "the limit of 500 USD in 24 hours". */
type Limit = { about: string; most: bigint; orders: readonly Doc<"orders">[] };

/** To whom a send goes; `countsFrom`: of an address that is on the list and does not count yet (epoch ms). */
export type Recipient =
  | { kind: "own"; wallet: Doc<"wallets">["kind"] }
  | { kind: "listed"; since: number }
  | { kind: "unlisted"; countsFrom: number | null };

/** An order beside its limits. */
type LimitCheck = {
  /** Why it is refused; `null` if it is allowed. */
  refusal: AppError | null;
  /** What it counts, and what was left of its narrowest cap before it. */
  counted: bigint;
  left: bigint;
  /** Whether it goes to a recipient off the list, or may lose in a swap. */
  isLoose: boolean;
  /** `null` for a swap. */
  recipient: Recipient | null;
};

/** Taps and the chat's own orders, to recipients off the list and for what swaps may lose: anybody who has the chat can tap. */
const CHAT_DAILY = 100_000_000n;

/** More orders than anybody places in a day: so many rows are summed. */
const MOST_ORDERS = 500;

const OWN_IT = "Its owner may move more: the answer of /mcp/defi/connect has the link to own it";
const UNPRICED = "No live price is known for this transfer, and its value is limited";

/** The credential in whose sum an order counts. */
export function toCredentialKey({ by, keyId }: { by: By; keyId?: string | undefined }): string {
  if (keyId !== undefined) return `key:${keyId}`;
  return by === "tap" ? "chat" : by;
}

/** Weighs an order at `now` (epoch ms). @throws AppError `rate_limited` above 500 orders a day. */
export async function checkLimits(ctx: QueryCtx, order: Ordering, now: number): Promise<LimitCheck> {
  const recipient = await classifyRecipient(ctx, order, now);
  const countsAgainstChatCap = recipient === null || recipient.kind === "unlisted";
  const amount = countAmount(order, recipient);
  const limits = await listCaps(ctx, order, countsAgainstChatCap, now);
  const left = limits.map(getRemaining).reduce((a, b) => (a < b ? a : b));
  const passed = limits.filter(({ most, orders }) => sumOrders(orders) + amount > most);
  const refusals = passed.map((limit) => limitError(limit, order, amount, now));
  // What no wait makes fit counts first, and then the longest wait.
  const waits = ({ data: { retryAfterMs = Infinity } }: AppError) => retryAfterMs;
  const [worst] = refusals.toSorted((a, b) => waits(b) - waits(a));
  const refusal = findRefusal(order, recipient) ?? worst ?? null;
  return { refusal, counted: amount, left, isLoose: countsAgainstChatCap, recipient };
}

/** Why an order is refused whatever it counts. */
function findRefusal(order: Ordering, recipient: Recipient | null): AppError | null {
  if (order.value === undefined && order.by !== "owner" && order.by !== "tap")
    return new AppError("upstream", UNPRICED);
  if (!needsList(order) || recipient?.kind !== "unlisted") return null;
  const { countsFrom } = recipient;
  const how =
    countsFrom === null
      ? "is not: its owner adds it in the web application"
      : `counts from ${formatDateTime(countsFrom + MINUTE)}`;
  return new AppError("forbidden", `This send needs a recipient on the owner's list, and this one ${how}`);
}

function needsList({ by }: Ordering): boolean {
  return by !== "owner" && by !== "tap" && by !== "free";
}

async function classifyRecipient(
  ctx: QueryCtx,
  { userId, request }: Ordering,
  now: number,
): Promise<Recipient | null> {
  if (request.kind === "swap") return null;
  const wallet = await findWalletByAddress(ctx, request.toAddress);
  if (wallet?.userId === userId) return { kind: "own", wallet: wallet.kind };
  const countsFrom = (await findRecipient(ctx, userId, request.toAddress))?.countsFrom ?? null;
  return countsFrom !== null && countsFrom <= now
    ? { kind: "listed", since: countsFrom }
    : { kind: "unlisted", countsFrom };
}

/** The caps of an order. */
async function listCaps(ctx: QueryCtx, order: Ordering, isLoose: boolean, now: number): Promise<Limit[]> {
  const { userId, by, key, most = 0n } = order;
  const orders = () => ctx.db.query("orders");
  const since = now - DAY;
  const all = await ofDay(
    orders().withIndex("by_userId_and_countedAt", (q) => q.eq("userId", userId).gt("countedAt", since)),
  );
  if (by === "free") {
    const cap = toMicroUsd(getSetting("UNOWNED_DAILY_USD"));
    const ownCaps = { about: " for a userId without an owner", most: cap, orders: all };
    const from = getAddressKey(order);
    if (from === undefined) return [ownCaps];
    const others = await ofDay(
      orders().withIndex("by_countedFor", (q) => q.eq("countedFor", from).gt("countedAt", since)),
    );
    return [ownCaps, { about: " for the short userIds of one network address", most: cap, orders: others }];
  }
  const limits = [{ about: "", most: getDailyLimit(await findAccount(ctx, userId), now), orders: all }];
  const mine = all.filter((row) => toCredentialKey(row) === toCredentialKey({ by, keyId: key?._id }));
  if (key?.dailyMicroUsd !== undefined)
    limits.push({ about: ` by the key ${key.name}`, most: BigInt(key.dailyMicroUsd), orders: mine });
  if (by === "post") limits.push({ about: " by mention", most, orders: mine });
  if ((by === "tap" || by === "chat") && isLoose) {
    const about = " that the chat approves to recipients off the owner's list, or lets swaps lose";
    limits.push({ about, most: CHAT_DAILY, orders: mine.filter((row) => row.isLoose === true) });
  }
  return limits;
}

/** The orders of a sum, oldest first. */
async function ofDay(range: { take: (count: number) => Promise<Doc<"orders">[]> }): Promise<Doc<"orders">[]> {
  const rows = await range.take(MOST_ORDERS);
  if (rows.length < MOST_ORDERS) return rows;
  const message = `At most ${MOST_ORDERS} orders are carried out in 24 hours`;
  throw new AppError("rate_limited", message, { retryAfterMs: HOUR });
}

/** The key of the network address against whose sum a free order counts: only of ids that are short. */
export function getAddressKey({ userId, by, address }: Ordering): string | undefined {
  return by === "free" && address !== null && isGuessableId(userId)
    ? sha256Hex(`address:${address}`)
    : undefined;
}

/**
 * What an order counts: of a send all that leaves its user, of a swap what its terms let it lose (its slippage, and the
 * operator's allowance), or all of it where no price is checked, or a post orders it.
 */
function countAmount({ request, by, value = "0" }: Ordering, recipient: Recipient | null): bigint {
  const worth = BigInt(value);
  if (request.kind === "send") return recipient?.kind === "own" ? 0n : worth;
  if (request.acceptUnpriced === true || by === "post") return worth;
  const tolerated = BigInt(request.slippageBps) + BigInt(getSetting("MAX_PRICE_IMPACT_BPS"));
  return (worth * tolerated + BPS - 1n) / BPS;
}

/** A used-up cap. `rate_limited` says when there is room for this order again; what no wait makes fit is `forbidden`. */
function limitError(limit: Limit, { by, request }: Ordering, amount: bigint, now: number): AppError {
  const { most, about, orders } = limit;
  const what =
    request.kind === "send" ? "This transfer" : `This swap, whose terms let it lose ${cents(amount)} USD,`;
  const message = `${what} would go beyond the limit of ${formatUnits(most, 6)} USD in 24 hours${about}: ${cents(getRemaining(limit))} USD are left`;
  let used = sumOrders(orders);
  for (const row of orders) {
    used -= sumOrders([row]);
    if (used + amount > most) continue;
    const roomAt = (row.countedAt ?? now) + DAY + MINUTE;
    return new AppError(
      "rate_limited",
      `${message}, and there is room for it from ${formatDateTime(roomAt)}`,
      {
        retryAfterMs: Math.max(1, roomAt - now),
      },
    );
  }
  return new AppError("forbidden", by === "free" ? `${message}. ${OWN_IT}` : message);
}

/** What orders count: while they are not failed what they move, and in any case the fees of what was signed. */
function sumOrders(orders: readonly Doc<"orders">[]): bigint {
  return orders.reduce((sum, { state, counted, feeCounted }) => {
    const lives = state === "prepared" || state === "signed" || state === "confirmed";
    return sum + (lives ? BigInt(counted) : 0n) + BigInt(feeCounted);
  }, 0n);
}

/** What is left of a cap. */
function getRemaining({ most, orders }: Limit): bigint {
  const left = most - sumOrders(orders);
  return left > 0n ? left : 0n;
}

/** Micro-USD in USD, to the cent. */
function cents(micro: bigint): string {
  return formatUnits(micro / 10_000n, 2);
}
