import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { TOKEN } from "../../accounts/access";
import { accountOf, dailyAt } from "../../accounts/model";
import { listedOf } from "../../accounts/recipients";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS, formatUnits, microUsd } from "../../lib/money/amounts";
import { isShort } from "../../lib/records/ids";
import { sha256Hex } from "../../lib/security/digests";
import { DAY, dateTime, MINUTE } from "../../lib/time";
import { walletAt } from "../model";
import type { By, Request, UserRequest } from "../tables";

/**
 * How much a credential may move in any 24 hours, and to whom. A sum is a function of the orders: nothing is kept beside
 * them, so an order that moved nothing counts nothing. The mutation that opens an order counts it. Micro-USD throughout.
 */

/** Who orders, and what for. */
export type Ordering = {
  userId: string;
  by: By;
  /** The key that orders, its name and its own cap (`null`: the account's). */
  key?: { id: string; name: string; daily: bigint | null } | undefined;
  /** A cap of the credential's own, below the account's: of posts. */
  most?: bigint | undefined;
  /** The caller's network address; `null` if the order came by no network. */
  address: string | null;
  request: UserRequest;
  /** Of the sent or sold amount, in micro-USD; absent without a live price. */
  value?: string | undefined;
};

/** A sum in 24 hours, and its cap. `about` ends "the limit of 500 USD in 24 hours". */
export type Limit = { about: string; most: bigint; counted: readonly Counted[] };
type Counted = { at: number; sum: bigint };

/** Taps and the chat's own orders, to recipients off the list and for what swaps may lose: anybody who has the chat can tap. */
const CHAT_DAILY = 100_000_000n;
/** More orders than anybody places in a day: so many rows are summed. */
const MOST_ORDERS = 500;

/** The credential in whose sum an order counts. */
export function credentialOf({ by, keyId }: { by: By; keyId?: string | undefined }): string {
  if (keyId !== undefined) return `key:${keyId}`;
  return by === "tap" ? "chat" : by;
}

/** The caps of an order, with what counts against each at `now` (epoch ms). @throws AppError `rate_limited` above 500 orders a day. */
export async function limitsOf(ctx: QueryCtx, order: Ordering, now: number): Promise<Limit[]> {
  const { userId, by, key, most = 0n } = order;
  const orders = ctx.db.query("orders");
  const rows = await ofDay(
    orders.withIndex("by_userId_and_countedAt", (q) => q.eq("userId", userId).gt("countedAt", now - DAY)),
    now,
  );
  const limit = (about: string, cap: bigint, which = rows): Limit => {
    return { about, most: cap, counted: which.map(countedOf) };
  };
  if (by === "free") {
    const cap = microUsd(setting("UNOWNED_DAILY_USD"));
    const own = limit(" for a userId without an owner", cap);
    const from = addressKey(order);
    if (from === undefined) return [own];
    const others = await ofDay(
      orders.withIndex("by_countedFor", (q) => q.eq("countedFor", from).gt("countedAt", now - DAY)),
      now,
    );
    return [own, limit(" for the short userIds of one network address", cap, others)];
  }
  const limits = [limit("", dailyAt(await accountOf(ctx, userId), now))];
  const mine = credentialOf({ by, keyId: key?.id });
  const ofCredential = rows.filter((row) => credentialOf(row) === mine);
  const daily = key?.daily ?? null;
  if (key !== undefined && daily !== null) limits.push(limit(` by the key ${key.name}`, daily, ofCredential));
  if (by === "post") limits.push(limit(" by mention", most, ofCredential));
  if (mine === "chat" && (await isLoose(ctx, order, now))) {
    const about = " that the chat approves to recipients off the owner's list, or lets swaps lose";
    const loose = ofCredential.filter((row) => row.isLoose === true);
    limits.push(limit(about, CHAT_DAILY, loose));
  }
  return limits;
}

/** Whether an order moves to a recipient off the owner's list, or may lose in a swap. */
export async function isLoose(
  ctx: QueryCtx,
  { userId, request }: Pick<Ordering, "userId" | "request">,
  now: number,
): Promise<boolean> {
  return request.kind === "swap" || !(await isListed(ctx, userId, request.toAddress, now));
}

/** Whether an order sends to a recipient that has to be on the owner's list, and is not: the owner may be asked about it. */
export async function isOffList(ctx: QueryCtx, order: Ordering, now: number): Promise<boolean> {
  const { by, request } = order;
  const needsList = by !== "owner" && by !== "tap" && by !== "free";
  return needsList && request.kind === "send" && (await isLoose(ctx, order, now));
}

/** Why an order is refused; `null` if it is allowed. */
export async function refusalOf(
  ctx: QueryCtx,
  order: Ordering,
  limits: readonly Limit[],
  now: number,
): Promise<AppError | null> {
  const { userId, by, request, value } = order;
  if (value === undefined && by !== "owner" && by !== "tap")
    return new AppError("upstream", "No live price is known for this transfer, and its value is limited");
  if (request.kind === "send" && (await isOffList(ctx, order, now)))
    return new AppError("forbidden", await unlistedWords(ctx, userId, request.toAddress));
  const amount = await countOf(ctx, order);
  const passed = limits.filter(({ most, counted }) => sumOf(counted) + amount > most);
  const refusals = passed.map((limit) => beyond(limit, order, amount, now));
  // What no wait makes fit counts first, and then the longest wait.
  const waits = ({ data: { retryAfterMs = Infinity } }: AppError) => retryAfterMs;
  return refusals.toSorted((a, b) => waits(b) - waits(a))[0] ?? null;
}

const OWN_IT = "Its owner may move more: the answer of /mcp/defi/connect has the link to own it";

/** A used-up cap. `rate_limited` says when there is room for this order again; what no wait makes fit is `forbidden`. */
function beyond(limit: Limit, { by, request }: Ordering, amount: bigint, now: number): AppError {
  const { most, about, counted } = limit;
  const what =
    request.kind === "send" ? "This transfer" : `This swap, whose terms let it lose ${cents(amount)} USD,`;
  const message = `${what} would go beyond the limit of ${formatUnits(most, 6)} USD in 24 hours${about}: ${cents(leftOf(limit))} USD are left`;
  if (by === "chat") return new AppError("forbidden", `${message}. Beyond it an order needs ${TOKEN}`);
  let used = sumOf(counted);
  for (const { at, sum } of counted) {
    used -= sum;
    if (used + amount > most) continue;
    const roomAt = at + DAY + MINUTE;
    return new AppError("rate_limited", `${message}, and there is room for it from ${dateTime(roomAt)}`, {
      retryAfterMs: Math.max(1, roomAt - now),
    });
  }
  return new AppError("forbidden", by === "free" ? `${message}. ${OWN_IT}` : message);
}

/**
 * What an order counts: of a send all that leaves its user, of a swap what its terms let it lose, or all of it where no
 * price is checked.
 */
export async function countOf(ctx: QueryCtx, { userId, request, value = "0" }: Ordering): Promise<bigint> {
  const worth = BigInt(value);
  if (request.kind === "send") return (await isOwn(ctx, userId, request.toAddress)) ? 0n : worth;
  if (request.acceptUnpriced === true) return worth;
  return (worth * toleratedBps(request.slippageBps) + BPS - 1n) / BPS;
}

/** How much less than the feeds' value a swap may bring, in basis points: its slippage, and the operator's allowance. */
function toleratedBps(slippageBps: number): bigint {
  return BigInt(slippageBps) + BigInt(setting("MAX_PRICE_IMPACT_BPS"));
}

/** The key of the network address against whose sum a free order counts: only of ids that are short. */
export function addressKey({ userId, by, address }: Ordering): string | undefined {
  return by === "free" && address !== null && isShort(userId) ? sha256Hex(`address:${address}`) : undefined;
}

export function sumOf(counted: readonly Counted[]): bigint {
  return counted.reduce((total, { sum }) => total + sum, 0n);
}

function countedOf({ state, counted, feeCounted, countedAt = 0 }: Doc<"orders">): Counted {
  const lives = state === "prepared" || state === "signed" || state === "confirmed";
  return { at: countedAt, sum: (lives ? BigInt(counted) : 0n) + BigInt(feeCounted) };
}

/** The orders of a sum, oldest first. */
async function ofDay(
  orders: { take: (count: number) => Promise<Doc<"orders">[]> },
  now: number,
): Promise<Doc<"orders">[]> {
  const rows = await orders.take(MOST_ORDERS);
  const [first] = rows;
  if (rows.length < MOST_ORDERS || first === undefined) return rows;
  throw new AppError("rate_limited", `At most ${MOST_ORDERS} orders are carried out in 24 hours`, {
    retryAfterMs: Math.max(1, (first.countedAt ?? now) + DAY - now),
  });
}

async function isListed(ctx: QueryCtx, userId: string, address: string, now: number): Promise<boolean> {
  if (await isOwn(ctx, userId, address)) return true;
  const listed = await listedOf(ctx, userId, address);
  return listed !== null && listed.countsFrom <= now;
}

async function isOwn(ctx: QueryCtx, userId: string, address: string): Promise<boolean> {
  return (await walletAt(ctx, address))?.userId === userId;
}

async function unlistedWords(ctx: QueryCtx, userId: string, address: string): Promise<string> {
  const listed = await listedOf(ctx, userId, address);
  const what = "This send needs a recipient on the owner's list";
  if (listed !== null) return `${what}, and this one counts from ${dateTime(listed.countsFrom + MINUTE)}`;
  return `${what}, and this one is not: its owner adds it in the web application, or approves the send in the linked chat`;
}

/** What is left of a cap. */
function leftOf({ most, counted }: Limit): bigint {
  const left = most - sumOf(counted);
  return left > 0n ? left : 0n;
}

/** What is left of the narrowest cap. */
export function leastLeft(limits: readonly Limit[]): bigint {
  return limits.map(leftOf).reduce((a, b) => (a < b ? a : b));
}

/** Micro-USD in USD, to the cent. */
export function cents(micro: bigint): string {
  return formatUnits(micro / 10_000n, 2);
}

/** Whether a request is one that limits know. */
export function isUsers(request: Request): request is UserRequest {
  return request.kind === "send" || request.kind === "swap";
}
