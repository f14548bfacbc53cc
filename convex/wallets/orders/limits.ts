import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { findAccount, findRecipient, getDailyLimit, getMode, isGuessableId } from "../../identity/model";
import { getSetting } from "../../lib/env";
import { AppError, limitExceeded } from "../../lib/errors";
import { BPS, formatUnits, toMicroUsd } from "../../lib/money/amounts";
import { sha256Hex } from "../../lib/crypto";
import { DAY, formatDateTime, HOUR, MINUTE } from "../../lib/time";
import { findWalletByAddress } from "../model";
import type { By, UserRequest } from "../tables";

/**
 * Limits of orders: how much a credential may move in any 24 hours, and to which recipients. Sums are computed from the
 * orders alone, without a counter, so an order that moved nothing counts nothing, and paper and live orders count apart.
 * The mutation that opens an order also counts it. Amounts are in micro-USD.
 */

/** The credential and the request of an order. */
export type Ordering = {
  userId: string;
  by: By;
  /** The ordering API key. */
  key?: Doc<"keys"> | undefined;
  /** A cap of the credential itself, below the account's: for orders by post. */
  most?: bigint | undefined;
  /** The caller's network address; `null` for an order that did not come over the network. */
  address: string | null;
  request: UserRequest;
  /** Value of the sent or sold amount, in micro-USD; absent without a live price. */
  value?: string | undefined;
};

/** A cap, the orders that count against it, and what is left. @param about Completes "the limit of 500 USD in 24 hours". */
function toLimit(about: string, most: bigint, orders: readonly Doc<"orders">[]) {
  const used = sumOrders(orders);
  return { about, most, orders, used, left: most > used ? most - used : 0n };
}
type Limit = ReturnType<typeof toLimit>;

/** The recipient of a send. `countsFrom`: when a newly listed address takes effect (epoch ms); `null` off the list. */
export type Recipient =
  | { kind: "own"; wallet: Doc<"wallets">["kind"] }
  | { kind: "listed"; since: number }
  | { kind: "unlisted"; countsFrom: number | null };

/** The result of checking an order against its limits. */
export type LimitCheck = {
  /** The reason of refusal; `null` if the order is allowed. */
  refusal: AppError | null;
  /** The amount that the order counts, and its narrowest cap: what it allows a day, and what is left of it before. */
  countedAmount: bigint;
  narrowest: { most: bigint; left: bigint };
  /** Whether the chat's cap counts it: a send to a recipient off the list, or a swap that may lose. */
  countsAgainstChatCap: boolean;
  /** `null` for a swap. */
  recipient: Recipient | null;
};

/**
 * Daily cap of taps and of the chat's own orders, for recipients off the list and possible swap losses: anybody with
 * access to the chat can tap.
 */
const CHAT_DAILY = 100_000_000n;

/** Gas orders of an account in 24 hours. */
const MOST_GAS_ORDERS = 3;

/** Ceiling of the rows in a sum; above any plausible number of orders a day. */
const MOST_ORDERS = 500;

const OWN_IT = "Its owner may move more: the answer of /mcp/defi/connect has the link to own it";
/** The refusal of a send that needs its recipient on the owner's list. */
export const NEEDS_LISTING = "This send needs a recipient on the owner's list, and this one is not";
const UNPRICED = "No live price is known for this transfer, and its value is limited: try again later";

/** The key under which a credential's orders are summed. */
export function toCredentialKey({ by, keyId }: { by: By; keyId?: string | undefined }): string {
  if (keyId !== undefined) return `key:${keyId}`;
  return by === "tap" ? "chat" : by;
}

/** Checks an order against its limits at `now` (epoch ms). @throws AppError `rate_limited` above 500 orders a day. */
export async function checkLimits(ctx: QueryCtx, order: Ordering, now: number): Promise<LimitCheck> {
  const recipient = await classifyRecipient(ctx, order, now);
  const countsAgainstChatCap = recipient === null || recipient.kind === "unlisted";
  const amount = countAmount(order, recipient);
  const limits = await listCaps(ctx, order, countsAgainstChatCap, now);
  const narrowest = limits.reduce((a, b) => (a.left < b.left ? a : b));
  const passed = limits.filter(({ most, used }) => used + amount > most);
  const refusals = passed.map((limit) => limitError(limit, order, amount, now));
  // Prefer the refusal that waiting cannot cure, then the one with the longest wait.
  const waits = ({ data: { retryAfterMs = Infinity } }: AppError) => retryAfterMs;
  const [worst] = refusals.toSorted((a, b) => waits(b) - waits(a));
  const refusal = findRefusal(order, recipient) ?? findGasRefusal(order, limits, now) ?? worst ?? null;
  return { refusal, countedAmount: amount, narrowest, countsAgainstChatCap, recipient };
}

/** The reason to refuse an order whatever its amount; `null` if there is none. */
function findRefusal(order: Ordering, recipient: Recipient | null): AppError | null {
  if (order.value === undefined && order.by !== "owner" && order.by !== "tap")
    return new AppError("upstream", UNPRICED);
  if (!needsList(order) || recipient?.kind !== "unlisted") return null;
  const { countsFrom } = recipient;
  if (countsFrom === null)
    return new AppError("forbidden", `${NEEDS_LISTING}: its owner adds it, and it counts two hours later`);
  const from = formatDateTime(countsFrom + MINUTE);
  return new AppError("forbidden", `${NEEDS_LISTING} yet: it counts from ${from}`);
}

/** The refusal of a gas order beyond the daily number; the first limit has all orders of the account. */
function findGasRefusal({ request }: Ordering, [all]: readonly Limit[], now: number): AppError | null {
  if (request.kind !== "gas") return null;
  const lives = ({ request: { kind }, state }: Doc<"orders">) => kind === "gas" && state !== "failed";
  const [first, ...others] = all?.orders.filter(lives) ?? [];
  if (others.length + 1 < MOST_GAS_ORDERS) return null;
  const againAt = (first?.countedAt ?? now) + DAY + MINUTE;
  return limitExceeded(
    `At most ${MOST_GAS_ORDERS} times in 24 hours USDC buys ETH for fees`,
    Math.max(1, againAt - now),
  );
}

function needsList({ by }: Ordering): boolean {
  return by !== "owner" && by !== "tap" && by !== "free";
}

async function classifyRecipient(
  ctx: QueryCtx,
  { userId, request }: Ordering,
  now: number,
): Promise<Recipient | null> {
  if (request.kind !== "send") return null;
  const wallet = await findWalletByAddress(ctx, request.toAddress);
  if (wallet?.userId === userId) return { kind: "own", wallet: wallet.kind };
  const countsFrom = (await findRecipient(ctx, userId, request.toAddress))?.countsFrom ?? null;
  return countsFrom !== null && countsFrom <= now
    ? { kind: "listed", since: countsFrom }
    : { kind: "unlisted", countsFrom };
}

/** The caps that apply to an order. */
async function listCaps(
  ctx: QueryCtx,
  order: Ordering,
  countsAgainstChatCap: boolean,
  now: number,
): Promise<Limit[]> {
  const { userId, by, key, most = 0n } = order;
  const orders = () => ctx.db.query("orders");
  const since = now - DAY;
  const account = await findAccount(ctx, userId);
  const paper = getMode(account);
  const all = await listSummedOrders(
    orders().withIndex("by_userId_and_countedAt", (q) =>
      q.eq("userId", userId).eq("paper", paper).gt("countedAt", since),
    ),
  );
  if (by === "free") {
    const cap = toMicroUsd(getSetting("UNOWNED_DAILY_USD"));
    const ownCaps = toLimit(" for a userId without an owner", cap, all);
    const from = getAddressKey(order, paper);
    if (from === undefined) return [ownCaps];
    const others = await listSummedOrders(
      orders().withIndex("by_countedFor", (q) => q.eq("countedFor", from).gt("countedAt", since)),
    );
    return [ownCaps, toLimit(" for the short userIds of one network address", cap, others)];
  }
  const limits = [toLimit("", getDailyLimit(account, now), all)];
  const mine = all.filter((row) => toCredentialKey(row) === toCredentialKey({ by, keyId: key?._id }));
  if (key?.dailyMicroUsd !== undefined)
    limits.push(toLimit(` by the key ${key.name}`, BigInt(key.dailyMicroUsd), mine));
  if (by === "post") limits.push(toLimit(" by mention", most, mine));
  if ((by === "tap" || by === "chat") && countsAgainstChatCap) {
    const about = " that the chat approves to recipients off the owner's list, or lets swaps lose";
    limits.push(
      toLimit(
        about,
        CHAT_DAILY,
        mine.filter((row) => row.countsAgainstChatCap === true),
      ),
    );
  }
  return limits;
}

/** An owner's limit of all orders, and the chat's own cap, each with what is left of it at `now`; in micro-USD. */
export async function getChatAllowance(ctx: QueryCtx, userId: string, now: number) {
  const request = { kind: "send", token: "USDC", amount: "0", toAddress: "" } as const;
  const caps = await listCaps(ctx, { userId, by: "chat", address: null, request }, true, now);
  const [account, chat] = caps;
  if (account === undefined || chat === undefined) throw new Error("A chat has two caps");
  return { account, chat: { most: chat.most, left: chat.left < account.left ? chat.left : account.left } };
}

/** The orders of a sum, oldest first. @throws AppError `rate_limited` if there are too many. */
async function listSummedOrders(range: {
  take: (count: number) => Promise<Doc<"orders">[]>;
}): Promise<Doc<"orders">[]> {
  const rows = await range.take(MOST_ORDERS);
  if (rows.length < MOST_ORDERS) return rows;
  const message = `At most ${MOST_ORDERS} orders are carried out in 24 hours`;
  throw new AppError("rate_limited", message, { retryAfterMs: HOUR });
}

/** The hashed network address against whose sum in its mode a free order counts: only for short ids. */
export function getAddressKey(
  { userId, by, address }: Ordering,
  paper: true | undefined,
): string | undefined {
  return by === "free" && address !== null && isGuessableId(userId)
    ? sha256Hex(`${paper === true ? "paper" : "address"}:${address}`)
    : undefined;
}

/**
 * The amount that an order counts: of a send everything that leaves its user; of a swap the loss that its terms permit
 * (slippage, and the operator's allowance), or all of it if no price is checked or it was ordered by post.
 */
function countAmount({ request, by, value = "0" }: Ordering, recipient: Recipient | null): bigint {
  const worth = BigInt(value);
  if (request.kind === "send") return recipient?.kind === "own" ? 0n : worth;
  if (request.kind === "gas") return BigInt(request.cost);
  if (request.acceptUnpriced === true || by === "post") return worth;
  const tolerated = BigInt(request.slippageBps) + BigInt(getSetting("MAX_PRICE_IMPACT_BPS"));
  return (worth * tolerated + BPS - 1n) / BPS;
}

/**
 * The error for an exhausted cap: `rate_limited` with the time at which this order fits again; `forbidden` if no wait
 * makes it fit.
 */
function limitError(limit: Limit, { by, request }: Ordering, amount: bigint, now: number): AppError {
  const { most, about, orders, left } = limit;
  const what =
    request.kind !== "swap"
      ? "This transfer"
      : `This swap, whose terms let it lose ${formatCents(amount)} USD,`;
  const message = `${what} would go beyond the limit of ${formatUnits(most, 6)} USD in 24 hours${about}: ${formatCents(left)} USD are left`;
  let { used } = limit;
  for (const row of orders) {
    used -= sumOrders([row]);
    if (used + amount > most) continue;
    const roomAt = (row.countedAt ?? now) + DAY + MINUTE;
    const why = `${message}, and there is room for it from ${formatDateTime(roomAt)}`;
    return new AppError("rate_limited", why, { retryAfterMs: Math.max(1, roomAt - now) });
  }
  return new AppError("forbidden", by === "free" ? `${message}. ${OWN_IT}` : message);
}

/** The sum of orders: the amount of each that has not failed, and in any case the fees of signed transactions. */
function sumOrders(orders: readonly Doc<"orders">[]): bigint {
  return orders.reduce((sum, { state, countedAmount, feeCounted }) => {
    const lives = state === "prepared" || state === "signed" || state === "confirmed";
    return sum + (lives ? BigInt(countedAmount) : 0n) + BigInt(feeCounted);
  }, 0n);
}

/** Micro-USD as USD, to the cent. */
function formatCents(micro: bigint): string {
  return formatUnits(micro / 10_000n, 2);
}
