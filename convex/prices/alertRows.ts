import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { iso, MINUTE } from "../lib/time";
import { enqueueCard } from "../messenger/model";
import { newestSample } from "./model";
import type { Alert, Direction, Price, PricedToken } from "./tables";

/** A user's active alerts at most. */
const MAX_ACTIVE = 10;
/** How many ended ones are shown, newest first. */
const SHOWN_ENDED = 10;
/** Fired per direction and transaction: each is a card in the outbox. */
const BATCH = 25;
/** The sources' clocks and the service's may differ by this. */
const SKEW_MS = MINUTE;

const STATES = ["active", "fired", "cancelled"] as const;

export type AlertWish = { userId: string; token: PricedToken; direction: Direction; levelUsd: number };

/**
 * Sets an alert, against the newest price the service has. A wish that is active already is that alert.
 * @param priceUsd The live price that was asked for it.
 * @throws AppError `invalid_request` when the level is crossed already; `conflict` with ten active ones.
 */
export async function openAlert(ctx: MutationCtx, wish: AlertWish, priceUsd: number): Promise<Alert> {
  const { userId, token, direction, levelUsd } = wish;
  const newest = await newestSample(ctx, token);
  // A sample that came after the price was asked for has fired what it crossed: this alert must not lie behind it.
  const live = newest !== null && newest.source !== "llm" ? newest.priceUsd : priceUsd;
  if (direction === "above" ? live >= levelUsd : live <= levelUsd) {
    throw new AppError(
      "invalid_request",
      `levelUsd is ${direction === "above" ? "reached" : "undercut"} already: ${token} is at ${dollars(live)}`,
    );
  }
  const active = await activeAlerts(ctx, userId);
  const same = active.find(
    (row) => row.token === token && row.direction === direction && row.levelUsd === levelUsd,
  );
  if (same !== undefined) return alertOf(same);
  if (active.length >= MAX_ACTIVE) {
    throw new AppError("conflict", `At most ${MAX_ACTIVE} price alerts can be active: cancel one first`);
  }
  const alertId = await ctx.db.insert("priceAlerts", { ...wish, state: "active", createdAt: Date.now() });
  return alertOf(await existing(ctx, alertId));
}

/** Active ones first, then the latest that ended; newest first in each state. */
export async function alertsOf(ctx: QueryCtx, userId: string): Promise<Alert[]> {
  const rows = await Promise.all(
    STATES.map((state) =>
      ctx.db
        .query("priceAlerts")
        .withIndex("by_userId_and_state", (q) => q.eq("userId", userId).eq("state", state))
        .order("desc")
        .take(state === "active" ? MAX_ACTIVE : SHOWN_ENDED),
    ),
  );
  return rows.flat().map(alertOf);
}

/**
 * Cancels an alert of the user's; one that is cancelled already stays so.
 * @throws AppError `not_found` for none of theirs; `conflict` when it has fired.
 */
export async function cancelAlert(ctx: MutationCtx, userId: string, id: string): Promise<Alert> {
  const alertId = ctx.db.normalizeId("priceAlerts", id);
  const row = alertId === null ? null : await ctx.db.get("priceAlerts", alertId);
  if (row === null || row.userId !== userId) {
    throw new AppError("not_found", "This user has no such price alert");
  }
  if (row.state === "fired") throw new AppError("conflict", "This price alert has fired already");
  if (row.state === "active") {
    await ctx.db.patch("priceAlerts", row._id, { state: "cancelled", endedAt: Date.now() });
  }
  return alertOf(await existing(ctx, row._id));
}

/**
 * Fires the alerts whose level a price has crossed, each once, in the transaction that stores the price. Reads those
 * alone. The model's word fires nothing: an alert waits for a better source.
 */
export async function fireCrossed(ctx: MutationCtx, price: Price): Promise<void> {
  if (price.source === "llm") return;
  for (const direction of ["above", "below"] as const) {
    const rows = await crossed(ctx, price, direction).take(BATCH);
    await fireDue(ctx, rows, price);
    if (rows.length === BATCH)
      await ctx.scheduler.runAfter(0, internal.prices.alerts.fireRest, { price, direction, cursor: null });
  }
}

/**
 * Fires another page of what a price has crossed.
 * @param cursor Where the page begins; `null` at the first level.
 * @returns Where the next one begins; `null` behind the last.
 */
export async function fireCrossedPage(
  ctx: MutationCtx,
  price: Price,
  direction: Direction,
  cursor: string | null,
): Promise<string | null> {
  const { page, isDone, continueCursor } = await crossed(ctx, price, direction).paginate({
    numItems: BATCH,
    cursor,
  });
  await fireDue(ctx, page, price);
  return isDone ? null : continueCursor;
}

function crossed(ctx: QueryCtx, { token, priceUsd }: Price, direction: Direction) {
  return ctx.db.query("priceAlerts").withIndex("by_crossing", (q) => {
    const active = q.eq("token", token).eq("direction", direction).eq("state", "active");
    return direction === "above" ? active.lte("levelUsd", priceUsd) : active.gte("levelUsd", priceUsd);
  });
}

/** Leaves those that were set later: they were set against a later price. */
async function fireDue(ctx: MutationCtx, rows: Doc<"priceAlerts">[], price: Price): Promise<void> {
  for (const row of rows) {
    if (row.createdAt <= price.takenAt && row.createdAt - SKEW_MS <= price.observedAt)
      await fire(ctx, row, price);
  }
}

async function fire(ctx: MutationCtx, row: Doc<"priceAlerts">, price: Price): Promise<void> {
  await ctx.db.patch("priceAlerts", row._id, {
    state: "fired",
    endedAt: Date.now(),
    firedAtUsd: price.priceUsd,
  });
  const time = iso(price.observedAt).slice("2026-01-01T".length, "2026-01-01T00:00".length);
  await enqueueCard(ctx, {
    userId: row.userId,
    kind: "price alert",
    topic: `alert:${row._id}`,
    paragraphs: [
      [{ bold: `🔔 ${row.token} is ${row.direction} ${dollars(row.levelUsd)}` }],
      [
        `${dollars(price.priceUsd)} at ${time} UTC (${price.source}). This alert is done: set another to hear again.`,
      ],
    ],
  });
}

/** Whether any alert of the user's is active. */
export async function hasActiveAlerts(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await activeAlerts(ctx, userId)).length > 0;
}

/** Erases some of a user's alerts, whatever their state. @returns How many rows went. */
export async function eraseAlerts(ctx: MutationCtx, userId: string, limit: number): Promise<number> {
  const rows = await ctx.db
    .query("priceAlerts")
    .withIndex("by_userId_and_state", (q) => q.eq("userId", userId))
    .take(limit);
  for (const { _id } of rows) await ctx.db.delete("priceAlerts", _id);
  return rows.length;
}

async function activeAlerts(ctx: QueryCtx, userId: string): Promise<Doc<"priceAlerts">[]> {
  return ctx.db
    .query("priceAlerts")
    .withIndex("by_userId_and_state", (q) => q.eq("userId", userId).eq("state", "active"))
    .take(MAX_ACTIVE);
}

async function existing(ctx: QueryCtx, alertId: Doc<"priceAlerts">["_id"]): Promise<Doc<"priceAlerts">> {
  const row = await ctx.db.get("priceAlerts", alertId);
  if (row === null) throw new Error("The row was just written");
  return row;
}

function alertOf({
  _id,
  token,
  direction,
  levelUsd,
  state,
  createdAt,
  endedAt,
  firedAtUsd,
}: Doc<"priceAlerts">): Alert {
  return {
    alertId: _id,
    token,
    direction,
    levelUsd,
    state,
    createdAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(firedAtUsd === undefined ? {} : { firedAtUsd }),
  };
}

/** `$104,500`, `$3,480.25`. */
export function dollars(usd: number): string {
  return usd.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 0 });
}
