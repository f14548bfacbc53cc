import type { Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { sha256Hex } from "../lib/security/crypto";
import { optional, setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { isGuessable, NOBODY } from "../lib/records/ids";
import { formatUnits, microUsd } from "../lib/money/amounts";
import { DAY, dateTime, MINUTE } from "../lib/time";
import { TOKEN, type Permit } from "../users/access";
import { walletAt } from "./model";
import type { vMeasure } from "./tables";

/**
 * What one transfer, and a user's transfers in 24 hours, may move: as the operator configured it, as ids that nobody owns
 * are bounded, and as owners bound orders by `userId` alone. `limitsOf` and `refusalOf` only read; `reserve` asks them and
 * counts.
 */

type Measure = Infer<typeof vMeasure>;
type Reservation = NonNullable<Doc<"transactions">["reserved"]>;
type TransactionRequest = Doc<"transactions">["request"];

/** A transfer that somebody wants to make. */
export type Transfer = {
  userId: string;
  /** What its caller is allowed (`users/access`). */
  permit: Permit;
  /** The caller's network address; `null` where the order came by no network. */
  address: string | null;
  request: TransactionRequest;
};

/** A limit that a transfer counts against. Sums in micro-USD. */
type Limit = {
  measure: Measure;
  /** The most in any 24 hours. */
  most: bigint;
  /** Counted in the last 24 hours. */
  used: bigint;
  /** What was counted, oldest first. */
  entries: Doc<"transferWindows">["entries"];
  /** The caller's network address, hashed; "" for a limit of the user's. */
  address: string;
  /** What of the user's it is about, as the end of "the limit of 500 USD in 24 hours". */
  about: string;
  /** How much of the transfer's value counts against it, in basis points. */
  countedBps: bigint;
};

/** All limits of a transfer; sums in micro-USD. */
export type Limits = {
  /** The most that one transfer may be worth; `null`: as much as it likes. */
  perTransfer: bigint | null;
  /** In 24 hours. */
  rolling: readonly Limit[];
};

/** What is counted within so much of time stands in one entry, and counts as long as its last transfer. */
const SLOT_MS = 15 * MINUTE;
const BPS = 10_000n;

/** Whether the value of a transfer has to be known at all. */
export function needValue({ perTransfer, rolling }: Limits): boolean {
  return perTransfer !== null || rolling.length > 0;
}

/** What limits a transfer counts against, and how far each is used at `now` (epoch ms). */
export async function limitsOf(ctx: QueryCtx, transfer: Transfer, now: number): Promise<Limits> {
  const perTransfer = optional("MAX_TRANSFER_USD");
  const rolling = (await bounds(ctx, transfer)).map(async (bound) => {
    const row = await windowOf(ctx, transfer.userId, bound);
    const entries = (row?.entries ?? []).filter(({ at }) => at > now - DAY);
    return { ...bound, used: sumOf(entries), entries };
  });
  return {
    perTransfer: perTransfer === undefined ? null : microUsd(perTransfer),
    rolling: await Promise.all(rolling),
  };
}

type Bound = Pick<Limit, "measure" | "most" | "address" | "about" | "countedBps">;

async function bounds(ctx: QueryCtx, { userId, permit, address, request }: Transfer): Promise<Bound[]> {
  const found: Bound[] = [];
  const own = { address: "", countedBps: BPS };
  const perDay = optional("DAILY_TRANSFER_LIMIT_USD");
  if (perDay !== undefined) found.push({ ...own, measure: "moved", most: microUsd(perDay), about: "" });
  if (permit.by === "id")
    found.push({ ...own, measure: "byId", most: permit.cap ?? 0n, about: " by userId alone" });
  const countedBps = permit.by === "unclaimed" ? await leavingBps(ctx, userId, request) : 0n;
  if (countedBps === 0n) return found;
  const isWeak = isGuessable(userId);
  const most = microUsd(setting(isWeak ? "WEAK_ID_DAILY_USD" : "UNCLAIMED_DAILY_USD"));
  // The operator's 0 bounds nothing.
  if (most === 0n) return found;
  const whose = isWeak ? "that could be guessed" : "without an owner";
  const left = { countedBps, most };
  found.push({ ...own, ...left, measure: "left", about: ` that leave the wallets of a userId ${whose}` });
  if (!isWeak || address === null) return found;
  const about = " that leave the wallets of userIds that could be guessed, by one network address";
  return [...found, { ...left, measure: "leftByAddress", address: sha256Hex(`address:${address}`), about }];
}

/**
 * How much of a transfer's value may leave its user, in basis points: of a send all, of a swap as much as its terms let it
 * lose, and nothing of a send to the user's other wallet.
 */
async function leavingBps(ctx: QueryCtx, userId: string, request: TransactionRequest): Promise<bigint> {
  if (request.kind === "swap")
    return request.acceptUnpriced === true ? BPS : toleratedBps(request.slippageBps);
  if (request.kind !== "send") return 0n;
  return (await walletAt(ctx, request.toAddress))?.userId === userId ? 0n : BPS;
}

/** How much less than the feeds say a swap may bring, in basis points: its slippage, and the operator's allowance. */
export function toleratedBps(slippageBps: number): bigint {
  return BigInt(slippageBps) + BigInt(setting("MAX_PRICE_IMPACT_BPS"));
}

/** What of a transfer's value counts against a limit, rounded up. Micro-USD. */
function countedOf(value: bigint, { countedBps }: Pick<Limit, "countedBps">): bigint {
  return (value * countedBps + BPS - 1n) / BPS;
}

/**
 * Why a transfer is refused; `null` where it may go.
 * @param value Micro-USD; `null` when no live price says what it is worth, which fails closed.
 */
export function refusalOf({ perTransfer, rolling }: Limits, value: bigint | null): AppError | null {
  if (perTransfer === null && rolling.length === 0) return null;
  if (value === null) {
    return new AppError(
      "upstream",
      "No live price is known for this transfer, and transfers are limited by value",
    );
  }
  if (perTransfer !== null && value > perTransfer) {
    return new AppError("invalid_request", `A transfer may be worth at most ${usd(perTransfer)} USD`);
  }
  const passed = rolling.find((limit) => limit.used + countedOf(value, limit) > limit.most);
  if (passed === undefined) return null;
  const { most, about, measure, countedBps } = passed;
  const what =
    countedBps === BPS
      ? "This transfer"
      : `This swap, which by its terms may lose ${cents(countedOf(value, passed))} USD,`;
  const said = `${what} would pass the limit of ${usd(most)} USD in 24 hours${about}: ${freeOf(passed)}`;
  // Beyond its owner's cap an open account is as a guarded one.
  return measure === "byId"
    ? new AppError("forbidden", `${said}. Beyond it an order needs ${TOKEN}`)
    : new AppError("invalid_request", said);
}

/** How much is free now, and when how much is free again. */
function freeOf({ most, used, entries }: Limit): string {
  const free = `${cents(used < most ? most - used : 0n)} USD are free now`;
  const [oldest] = entries;
  if (oldest === undefined) return free;
  const again = entries.filter(({ at }) => at === oldest.at);
  // A minute later, as the minutes are rounded down.
  return `${free}, and ${cents(sumOf(again))} USD more from ${dateTime(oldest.at + DAY + MINUTE)}`;
}

/**
 * Counts a transfer against the limits, in the mutation that opens it: calls that race cannot pass together.
 * @param value Micro-USD; `null` when no live price says what it is worth.
 * @returns What was counted; `null` where nothing limits it.
 * @throws AppError as `refusalOf` says.
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
  if (value === null || limits.rolling.length === 0) return null;
  const shares = limits.rolling.map((limit) => {
    const { measure, address } = limit;
    return { measure, address, microUsd: countedOf(value, limit).toString() };
  });
  const reservation = { at, microUsd: value.toString(), shares };
  await count(ctx, transfer.userId, reservation, 1n);
  return reservation;
}

/** Gives back what a transfer that moved nothing had reserved. */
export async function release(ctx: MutationCtx, userId: string, reservation: Reservation): Promise<void> {
  await count(ctx, userId, reservation, -1n);
}

/** Counts a transfer after all that was given back: it was mined. Beyond a limit as well, as it has happened. */
export async function reserveAgain(
  ctx: MutationCtx,
  userId: string,
  reservation: Reservation,
): Promise<void> {
  await count(ctx, userId, reservation, 1n);
}

/** Adds to what was counted when the transfer was opened; takes off where it is negative, down to nothing. */
async function count(
  ctx: MutationCtx,
  userId: string,
  reservation: Reservation,
  sign: 1n | -1n,
): Promise<void> {
  // A transfer of an earlier version, whose day is over or begins anew.
  if (!("shares" in reservation)) return;
  const now = Date.now();
  const { at, shares } = reservation;
  if (at <= now - DAY - SLOT_MS) return;
  for (const { measure, address, microUsd: share = reservation.microUsd } of shares) {
    const change = sign * BigInt(share);
    const row = await windowOf(ctx, userId, { address, measure });
    const entries = changed(row?.entries ?? [], at, change).filter((entry) => entry.at > now - DAY);
    if (row !== null) await ctx.db.patch("transferWindows", row._id, { entries, updatedAt: now });
    else
      await ctx.db.insert("transferWindows", {
        ...{ userId: ownerOf(userId, address), address, measure },
        ...{ entries, updatedAt: now },
      });
  }
}

/** The entries with a change at a moment: at most one entry for each slot of time. */
function changed(entries: Limit["entries"], at: number, change: bigint): Limit["entries"] {
  const slot = Math.floor(at / SLOT_MS);
  const same = entries.find((entry) => Math.floor(entry.at / SLOT_MS) === slot);
  const sum = BigInt(same?.microUsd ?? 0) + change;
  const others = entries.filter((entry) => entry !== same);
  if (sum <= 0n) return others;
  const entry = { at: Math.max(at, same?.at ?? at), microUsd: sum.toString() };
  return [...others, entry].toSorted((a, b) => a.at - b.at);
}

async function windowOf(
  ctx: QueryCtx,
  userId: string,
  { address, measure }: Pick<Limit, "address" | "measure">,
): Promise<Doc<"transferWindows"> | null> {
  return ctx.db
    .query("transferWindows")
    .withIndex("by_whose", (q) =>
      q.eq("userId", ownerOf(userId, address)).eq("address", address).eq("measure", measure),
    )
    .unique();
}

/** Whose a count is: one of an address is no user's. */
function ownerOf(userId: string, address: string): string {
  return address === "" ? userId : NOBODY;
}

function sumOf(entries: Limit["entries"]): bigint {
  return entries.reduce((sum, { microUsd: counted }) => sum + BigInt(counted), 0n);
}

/** Micro-USD in USD, to the cent. */
function cents(micro: bigint): string {
  return formatUnits(micro / 10_000n, 2);
}

/** Micro-USD in USD. */
function usd(micro: bigint): string {
  return formatUnits(micro, 6);
}
