import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { sha256Hex } from "../../lib/security/digests";
import { optional, setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { isGuessable } from "../../lib/records/ids";
import { formatUnits, microUsd } from "../../lib/money/amounts";
import { DAY, dateTime, MINUTE } from "../../lib/time";
import { TOKEN, type Permit } from "../../users/access";
import { limitsIn, levelOf, type OwnLimits } from "../../users/levels";
import { walletAt } from "../model";
import { listedOf } from "./allowlist";
import { add, sumOf, windowOf, type Entries, type Measure, type Reservation } from "./windows";

/**
 * How much one transfer, and a user's transfers in 24 hours, may move: the operator's limits, those of ids without an
 * owner, and those that owners set. `limitsOf` and `refusalOf` only read; `reserve` checks and counts.
 */

type TransactionRequest = Doc<"transactions">["request"];

/** A transfer that somebody wants to make. */
export type Transfer = {
  userId: string;
  /** The caller's permit (`users/access`). */
  permit: Permit;
  /** The caller's network address; `null` if the order came by no network. */
  address: string | null;
  request: TransactionRequest;
  /** For an order by mention: the most that such orders may move in 24 hours, in micro-USD. */
  mentionsMost?: bigint | undefined;
};

/** A sum that a transfer counts towards, and its limit. In micro-USD. */
type Limit = {
  measure: Measure;
  /** `null`: it is only counted. */
  most: bigint | null;
  /** The sum of the last 24 hours. */
  used: bigint;
  /** The counted transfers, oldest first. */
  entries: Entries;
  /** Their row; `null` before the first. */
  row: Doc<"transferWindows"> | null;
  /** The caller's network address, hashed; "" for a limit of the user's. */
  address: string;
  /** Which of the user's transfers it counts, as the end of "the limit of 500 USD in 24 hours". */
  about: string;
  /** The part of the transfer's value that counts against it, in basis points. */
  countedBps: bigint;
};

/** All limits of a transfer; sums in micro-USD. */
export type Limits = {
  /** The most that one transfer may be worth; `null` for no limit. */
  perTransfer: bigint | null;
  /** In 24 hours. */
  rolling: readonly Limit[];
  /**
   * For a send to an address that its owner has not allowed: the most that it may be worth, and the time from which the
   * address counts (epoch ms) if it was added already. `null` if no list applies.
   */
  unlisted: { most: bigint; countsFrom: number | null } | null;
};

const BPS = 10_000n;
/** The most in 24 hours for sends to addresses that are not on the owner's list: 50 USD in all. */
const UNLISTED_MOST = 50_000_000n;
/** The most in 24 hours for orders from the owner's chat, which cannot send to addresses off the list: 100 USD. */
const CHAT_DAILY = 100_000_000n;

/** Whether the value of a transfer has to be known. */
export async function isLimited(ctx: QueryCtx, transfer: Transfer, now: number): Promise<boolean> {
  return needValue(await unusedLimits(ctx, transfer, now));
}

function needValue({ perTransfer, rolling, unlisted }: UnusedLimits): boolean {
  return perTransfer !== null || unlisted !== null || rolling.some(({ most }) => most !== null);
}

/** The limits that a transfer counts against, and their use at `now` (epoch ms). */
export async function limitsOf(ctx: QueryCtx, transfer: Transfer, now: number): Promise<Limits> {
  const limits = await unusedLimits(ctx, transfer, now);
  const rolling = limits.rolling.map(async (bound) => {
    const row = await windowOf(ctx, transfer.userId, bound);
    const entries = (row?.entries ?? []).filter(({ at }) => at > now - DAY);
    return { ...bound, used: sumOf(entries), entries, row };
  });
  return { ...limits, rolling: await Promise.all(rolling) };
}

/** Without their use. */
type UnusedLimits = Omit<Limits, "rolling"> & { rolling: readonly Bound[] };

async function unusedLimits(ctx: QueryCtx, transfer: Transfer, now: number): Promise<UnusedLimits> {
  const own = await ownLimits(ctx, transfer, now);
  const unlisted = await unlistedOf(ctx, transfer, now);
  return {
    perTransfer: lower(configured("MAX_TRANSFER_USD"), own?.most),
    rolling: await bounds(ctx, transfer, own, unlisted),
    unlisted,
  };
}

/** The limits that an id's owner has set for orders without their tap; `null` for an id without an owner. */
async function ownLimits(
  ctx: QueryCtx,
  { userId, permit }: Transfer,
  now: number,
): Promise<OwnLimits | null> {
  return permit.by === "unclaimed" ? null : limitsIn(await levelOf(ctx, userId, now));
}

function configured(name: "MAX_TRANSFER_USD" | "DAILY_TRANSFER_LIMIT_USD"): bigint | undefined {
  const usd = optional(name);
  return usd === undefined ? undefined : microUsd(usd);
}

function lower(one: bigint | undefined, other: bigint | undefined): bigint | null {
  if (one === undefined || other === undefined) return one ?? other ?? null;
  return one < other ? one : other;
}

/** Whether a send that its owner has not tapped for goes to an unlisted address; the user's own wallets count as listed. */
async function unlistedOf(
  ctx: QueryCtx,
  { userId, permit, request }: Transfer,
  now: number,
): Promise<Limits["unlisted"]> {
  if (permit.by === "unclaimed" || permit.by === "approval" || request.kind !== "send") return null;
  const { toAddress } = request;
  if ((await walletAt(ctx, toAddress))?.userId === userId) return null;
  const listed = await listedOf(ctx, userId, toAddress);
  if (listed !== null && listed.countsFrom <= now) return null;
  return { most: permit.by === "chat" ? 0n : UNLISTED_MOST, countsFrom: listed?.countsFrom ?? null };
}

type Bound = Pick<Limit, "measure" | "most" | "address" | "about" | "countedBps">;

async function bounds(
  ctx: QueryCtx,
  { userId, permit, address, request, mentionsMost }: Transfer,
  limits: OwnLimits | null,
  unlisted: Limits["unlisted"],
): Promise<Bound[]> {
  const found: Bound[] = [];
  const own = { address: "", countedBps: BPS };
  const leaving = await leavingBps(ctx, userId, request);
  const perDay = lower(configured("DAILY_TRANSFER_LIMIT_USD"), limits?.daily);
  if (perDay !== null) found.push({ ...own, measure: "moved", most: perDay, about: "" });
  // What leaves an id before it has an owner counts towards the owner's day as well.
  else if (leaving > 0n) found.push({ ...own, countedBps: leaving, measure: "moved", most: null, about: "" });
  if (unlisted !== null)
    found.push({
      ...{ ...own, measure: "unlisted", most: unlisted.most },
      about: " to recipients that are not on the owner's list",
    });
  if (permit.by === "id")
    found.push({ ...own, measure: "byId", most: permit.cap ?? 0n, about: " by userId alone" });
  if (permit.by === "chat")
    found.push({ ...own, measure: "byChat", most: CHAT_DAILY, about: " that are begun in the chat" });
  if (mentionsMost !== undefined)
    found.push({ ...own, measure: "byMention", most: mentionsMost, about: " by mention" });
  const { key } = permit;
  if (key !== undefined && key.daily !== null) {
    const address = `key:${key.id}`;
    found.push({
      countedBps: BPS,
      address,
      measure: "byKey",
      most: key.daily,
      about: ` by the key ${key.name}`,
    });
  }
  if (limits !== null && request.kind === "swap") {
    const most = (limits.daily * limits.lossBps) / BPS;
    found.push({ ...own, countedBps: leaving, measure: "lost", most, about: " for what swaps may lose" });
  }
  if (limits !== null || leaving === 0n) return found;
  const isWeak = isGuessable(userId);
  const most = microUsd(setting(isWeak ? "WEAK_ID_DAILY_USD" : "UNCLAIMED_DAILY_USD"));
  // The operator's 0 means no limit.
  if (most === 0n) return found;
  const whose = isWeak ? "that could be guessed" : "without an owner";
  const left = { countedBps: leaving, most };
  found.push({ ...own, ...left, measure: "left", about: ` that leave the wallets of a userId ${whose}` });
  if (!isWeak || address === null) return found;
  const about = " that leave the wallets of userIds that could be guessed, by one network address";
  return [...found, { ...left, measure: "leftByAddress", address: sha256Hex(`address:${address}`), about }];
}

/**
 * The part of a transfer's value that may leave its user, in basis points: all of a send, of a swap what its terms let
 * it lose, and nothing of a send to the user's other wallet.
 */
async function leavingBps(ctx: QueryCtx, userId: string, request: TransactionRequest): Promise<bigint> {
  if (request.kind === "swap")
    return request.acceptUnpriced === true ? BPS : toleratedBps(request.slippageBps);
  if (request.kind !== "send") return 0n;
  return (await walletAt(ctx, request.toAddress))?.userId === userId ? 0n : BPS;
}

/** How much less than the feeds' value a swap may bring, in basis points: its slippage, and the operator's allowance. */
export function toleratedBps(slippageBps: number): bigint {
  return BigInt(slippageBps) + BigInt(setting("MAX_PRICE_IMPACT_BPS"));
}

/** The part of a transfer's value that counts against a limit, rounded up. Micro-USD. */
function countedOf(value: bigint, { countedBps }: Pick<Limit, "countedBps">): bigint {
  return (value * countedBps + BPS - 1n) / BPS;
}

/**
 * Why a transfer is refused; `null` if it is allowed.
 * @param value Micro-USD; `null` if there is no live price, which fails closed.
 */
export function refusalOf(limits: Limits, value: bigint | null): AppError | null {
  if (!needValue(limits)) return null;
  const { perTransfer, rolling, unlisted } = limits;
  if (value === null) {
    return new AppError(
      "upstream",
      "No live price is known for this transfer, and transfers are limited by value",
    );
  }
  if (perTransfer !== null && value > perTransfer) {
    return new AppError("invalid_request", `A transfer may be worth at most ${usd(perTransfer)} USD`);
  }
  if (unlisted !== null && value > unlisted.most) return new AppError("forbidden", strangeWords(unlisted));
  const passed = rolling
    .flatMap((limit) => (limit.most === null ? [] : [{ ...limit, most: limit.most }]))
    .find((limit) => limit.used + countedOf(value, limit) > limit.most);
  if (passed === undefined) return null;
  const { most, about, measure, countedBps } = passed;
  const what =
    countedBps === BPS
      ? "This transfer"
      : `This swap, whose terms let it lose ${cents(countedOf(value, passed))} USD,`;
  const message = `${what} would pass the limit of ${usd(most)} USD in 24 hours${about}: ${freeOf(passed)}`;
  // Beyond its owner's cap an open account is like a guarded one.
  const beyond = BEYOND[measure];
  return beyond === undefined
    ? new AppError("invalid_request", message)
    : new AppError("forbidden", `${message}. ${beyond}`);
}

const ELSEWHERE = "Order it signed in, or let a tool that has your account id ask you here";

const LISTING = "its owner adds it in the web application, or approves the send in the linked chat";

/** What lets an order pass these limits. */
const BEYOND: Partial<Record<Measure, string>> = {
  byId: `Beyond it an order needs ${TOKEN}`,
  byChat: ELSEWHERE,
  unlisted: `For more to such a recipient, ${LISTING}`,
};

function strangeWords({ most, countsFrom }: NonNullable<Limits["unlisted"]>): string {
  const isChat = most === 0n;
  const what = isChat
    ? "A send that is begun in the chat needs a recipient on your list"
    : `A send above ${usd(most)} USD needs a recipient on the owner's list`;
  if (countsFrom !== null) return `${what}, and this one counts from ${dateTime(countsFrom + MINUTE)}`;
  if (isChat) return `${what}, and this one is not. ${ELSEWHERE}`;
  return `${what}, and this one is not: ${LISTING}`;
}

/** How much is free now, and when more is free again. */
function freeOf({ most, used, entries }: Pick<Limit, "used" | "entries"> & { most: bigint }): string {
  const free = `${cents(used < most ? most - used : 0n)} USD are free now`;
  const [oldest] = entries;
  if (oldest === undefined) return free;
  const again = entries.filter(({ at }) => at === oldest.at);
  // A minute later, because the minutes are rounded down.
  return `${free}, and ${cents(sumOf(again))} USD more from ${dateTime(oldest.at + DAY + MINUTE)}`;
}

/**
 * Counts a transfer against the limits, in the mutation that opens it, so that concurrent calls cannot pass together.
 * @param value Micro-USD; `null` if there is no live price.
 * @returns What was counted; `null` if no limit applies.
 * @throws AppError as `refusalOf` returns.
 */
export async function reserve(
  ctx: MutationCtx,
  transfer: Transfer,
  value: bigint | null,
): Promise<Reservation | null> {
  const at = Date.now();
  const limits = await limitsOf(ctx, transfer, at);
  const refusal = refusalOf(limits, value);
  if (refusal !== null) throw refusal;
  if (value === null) return null;
  const { userId } = transfer;
  const shares: Extract<Reservation, { shares: unknown }>["shares"] = [];
  for (const { row, ...limit } of limits.rolling) {
    const { measure, address } = limit;
    const microUsd = countedOf(value, limit);
    await add(ctx, { userId, address, measure }, row, { at, microUsd });
    shares.push({ measure, address, microUsd: microUsd.toString() });
  }
  return { at, microUsd: value.toString(), shares };
}

/** Micro-USD in USD, to the cent. */
function cents(micro: bigint): string {
  return formatUnits(micro / 10_000n, 2);
}

/** Micro-USD in USD. */
function usd(micro: bigint): string {
  return formatUnits(micro, 6);
}
