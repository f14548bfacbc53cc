import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { keyOf, slotOf } from "../evidence/model";
import { HOUR, MINUTE } from "../lib/time";
import { newestSample } from "../prices/model";
import type { PricedToken } from "../prices/tables";
import { subjectOf, type Subject } from "./subjects";
import type { Observation } from "./tables";

/** What the service has observed of a subject: stored prices, facts and measured movements, in the order it came to know. */

/** An earlier price that is older than this by more is not the price of then. */
const SLACK_MS = 30 * MINUTE;
/** Samples are a minute apart at least. */
const SLACK_ROWS = 31;
const PERPETUALS = keyOf({ collector: "perpetuals", subject: "" });

export type Found = {
  observations: Observation[];
  /** Up to where all is in; epoch ms. */
  at: number;
  /** Whether there may be more behind that. */
  more: boolean;
};

/** What came after a moment (epoch ms), the earliest first, from `limit` rows at most. */
export async function observationsAfter(
  ctx: QueryCtx,
  text: string,
  after: number,
  limit: number,
): Promise<Found> {
  const subject = subjectOf(text);
  switch (subject.kind) {
    case "price":
    case "change": {
      const rows = await ctx.db
        .query("priceSamples")
        .withIndex("by_token_and_takenAt", (q) => q.eq("token", subject.token).gt("takenAt", after))
        .take(limit);
      const told = await Promise.all(rows.map((row) => priceOrChange(ctx, subject, row)));
      return found(rows, told, ({ takenAt }) => takenAt, after, limit);
    }
    case "funding": {
      const rows = await ctx.db
        .query("facts")
        .withIndex("by_key", (q) => q.eq("key", PERPETUALS).gte("slot", slotOf(after)))
        .take(limit);
      const news = rows.filter(({ collectedAt }) => collectedAt > after);
      const told = news.map((row) => funding(row, subject.token));
      return {
        ...found(news, told, ({ collectedAt }) => collectedAt, after, limit),
        more: rows.length === limit,
      };
    }
    case "flow": {
      const rows = await ctx.db
        .query("whaleAlerts")
        .withIndex("by_token_and_alertType", (q) => movementsOf(q, subject).gt("detectedAt", after))
        .take(limit);
      // What was found together is compared together: the next rows may be of the same moment.
      const end = rows.length === limit ? (rows.at(-1)?.detectedAt ?? Infinity) : Infinity;
      const whole = rows.filter(({ detectedAt }) => detectedAt < end);
      const taken = whole.length === 0 ? rows : whole;
      const page = found(taken, taken.map(movement), ({ detectedAt }) => detectedAt, after, limit);
      return { ...page, more: rows.length === limit };
    }
  }
}

/** The latest that was known at a moment (epoch ms), not older than an hour; `null` where nothing was. */
export async function lastObservation(
  ctx: QueryCtx,
  text: string,
  until: number,
): Promise<Observation | null> {
  // Movements are over at once.
  if (subjectOf(text).kind === "flow") return null;
  const { observations } = await observationsAfter(ctx, text, until - HOUR, SLACK_ROWS * 2);
  return observations.filter(({ at }) => at <= until).at(-1) ?? null;
}

/** When the service last came to know something of a subject; epoch ms, 0 for never. */
export async function newestAt(
  ctx: QueryCtx,
  subject: Exclude<Subject, { kind: "funding" }>,
): Promise<number> {
  if (subject.kind !== "flow") return (await newestSample(ctx, subject.token))?.takenAt ?? 0;
  const newest = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_token_and_alertType", (q) => movementsOf(q, subject))
    .order("desc")
    .first();
  return newest?.detectedAt ?? 0;
}

type Flow = Extract<Subject, { kind: "flow" }>;
type Eq<Next> = {
  eq: (
    field: "token",
    value: string,
  ) => { eq: (field: "alertType", value: "cex_inflow" | "cex_outflow") => Next };
};

function movementsOf<Next>(q: Eq<Next>, { token, direction }: Flow): Next {
  return q.eq("token", token).eq("alertType", direction === "in" ? "cex_inflow" : "cex_outflow");
}

function found<Row>(
  rows: readonly Row[],
  told: readonly (Observation | null)[],
  atOf: (row: Row) => number,
  after: number,
  limit: number,
): Found {
  return {
    observations: told.filter((one) => one !== null),
    at: Math.max(after, ...rows.map(atOf)),
    more: rows.length === limit,
  };
}

/** The model's word counts for nothing. */
async function priceOrChange(
  ctx: QueryCtx,
  subject: Extract<Subject, { kind: "price" | "change" }>,
  sample: Doc<"priceSamples">,
): Promise<Observation | null> {
  if (sample.source === "llm") return null;
  const { takenAt: at, observedAt, priceUsd, source } = sample;
  if (subject.kind === "price") return { at, observedAt, value: priceUsd, source };
  const before = await priceBefore(ctx, subject.token, at - subject.windowHours * HOUR);
  return before === null ? null : { at, observedAt, value: changeOf(before, priceUsd), source };
}

/** Percent, from the earlier price to the later one. */
function changeOf(before: number, now: number): number {
  return (now / before - 1) * 100;
}

async function priceBefore(ctx: QueryCtx, token: PricedToken, at: number): Promise<number | null> {
  const rows = await ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) =>
      q
        .eq("token", token)
        .gte("takenAt", at - SLACK_MS)
        .lte("takenAt", at),
    )
    .order("desc")
    .take(SLACK_ROWS);
  return rows.find(({ source }) => source !== "llm")?.priceUsd ?? null;
}

function funding({ collectedAt, facts }: Doc<"facts">, token: string): Observation | null {
  const fact = facts.find(({ subject, kind }) => subject === token && kind === "funding");
  if (typeof fact?.value !== "number") return null;
  return { at: collectedAt, observedAt: fact.observedAt, value: fact.value, source: fact.source };
}

function movement({
  detectedAt,
  occurredAt,
  amount,
  txHash,
  movement: measured,
  withdrawnAt,
}: Doc<"whaleAlerts">) {
  if (measured === undefined || withdrawnAt !== undefined || occurredAt === undefined) return null;
  const source = `https://basescan.org/tx/${txHash ?? ""}`;
  return { at: detectedAt, observedAt: occurredAt, value: amount, source };
}
