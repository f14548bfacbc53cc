import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { iso } from "../../lib/time";
import { outcomesOf, type Outcomes } from "../calibration";
import { linksAfter, type StatementOf } from "../eventChain";
import type { ChainHead } from "../eventShapes";
import { begun, issuedFacts } from "../model";
import type { Outcome } from "../path";
import { LAB_TOKENS, type LabToken } from "../rules";
import type { courseFields } from "../tables";
import type { ShadowEvent } from "./eventShapes";
import type { ShadowSignal } from "./tables";
import { addShadow, noShadows, type ShadowTotals } from "./totals";

/** Shadow signals, their events and their totals: what is written together is written here. */

export type Slot = Pick<ShadowSignal, "hour" | "arm" | "token">;

/** What is issued: the proposal entered at its price, and what was known then. */
type ShadowIssue = Omit<ShadowSignal, keyof typeof courseFields>;

/** Stores a new shadow signal with its event: its calibration from the arm's own outcomes so far. */
export async function issueShadow(
  ctx: MutationCtx,
  issue: ShadowIssue,
  promptVersion: string,
): Promise<void> {
  const signal: ShadowSignal = { ...issue, ...begun(issue, await outcomesOfArm(ctx, issue.arm)) };
  await ctx.db.insert("shadowSignals", signal);
  const content = { ...named(issue), ...issuedFacts(signal), promptVersion };
  await append(ctx, { kind: "issued", content });
}

/** Ends a pending shadow signal: status, event and totals at once. */
export async function closeShadow(
  ctx: MutationCtx,
  row: Doc<"shadowSignals">,
  outcome: Outcome,
): Promise<void> {
  const { status, closedAt, exitPrice, pnlPercent, decidedBy, gapMinutes } = outcome;
  await ctx.db.patch("shadowSignals", row._id, { ...outcome, walkedUntil: closedAt });
  await append(ctx, {
    kind: "closed",
    content: {
      ...named(row),
      ...{ status, closedAt: iso(closedAt), exitPrice, pnlPercent, decidedBy, gapMinutes },
    },
  });
  const closed = { ...row, ...outcome, calibratedConfidence: row.calibrated.confidence };
  await changeTotals(ctx, row, (totals) => addShadow(totals, closed));
}

/** Counts an hour without a signal, with an event. */
export async function keepMissed(
  ctx: MutationCtx,
  slot: Slot,
  reason: "refused" | "failed" | "budget",
): Promise<void> {
  await append(ctx, { kind: "missed", content: { ...named(slot), reason, at: iso(Date.now()) } });
  await changeTotals(ctx, slot, (totals) => ({ ...totals, missed: totals.missed + 1 }));
}

function named({ arm, token, hour }: Slot) {
  return { arm, token, hour: iso(hour) };
}

async function changeTotals(
  ctx: MutationCtx,
  { arm, token }: Slot,
  change: (totals: ShadowTotals) => ShadowTotals,
): Promise<void> {
  const row = await totalsRow(ctx, arm, token);
  const after = change(row ?? noShadows());
  if (row === null) await ctx.db.insert("shadowTotals", { arm, token, ...after });
  else await ctx.db.patch("shadowTotals", row._id, after);
}

async function totalsRow(ctx: QueryCtx, arm: string, token: LabToken): Promise<Doc<"shadowTotals"> | null> {
  return ctx.db
    .query("shadowTotals")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("token", token))
    .unique();
}

/** What an arm's closed signals come to, token by token. */
export async function totalsOfArm(ctx: QueryCtx, arm: string): Promise<ShadowTotals[]> {
  const rows = await Promise.all(LAB_TOKENS.map((token) => totalsRow(ctx, arm, token)));
  return rows.flatMap((row) => {
    if (row === null) return [];
    const { _id, _creationTime, arm: _arm, token: _token, ...totals } = row;
    return [totals];
  });
}

/** The outcomes of an arm's signals of a token so far. */
export async function outcomesOfToken(ctx: QueryCtx, arm: string, token: LabToken): Promise<Outcomes> {
  return ((await totalsRow(ctx, arm, token)) ?? noShadows()).outcomes;
}

/** The arm's own, of all its tokens; those of other arms and of what was delivered say nothing about it. */
async function outcomesOfArm(ctx: QueryCtx, arm: string): Promise<Outcomes> {
  return outcomesOf((await totalsOfArm(ctx, arm)).map(({ outcomes }) => outcomes));
}

/** An arm's signal of a token and hour. */
export async function findShadow(
  ctx: QueryCtx,
  { arm, hour, token }: Slot,
): Promise<Doc<"shadowSignals"> | null> {
  return ctx.db
    .query("shadowSignals")
    .withIndex("by_arm_and_hour", (q) => q.eq("arm", arm).eq("hour", hour).eq("token", token))
    .unique();
}

/** The last link of the shadow chain; `null` before the first event. */
export async function shadowHeadOf(ctx: QueryCtx): Promise<ChainHead | null> {
  const last = await ctx.db.query("shadowEvents").withIndex("by_sequence").order("desc").first();
  return last === null ? null : { sequence: last.sequence, hash: last.hash };
}

async function append(ctx: MutationCtx, statement: StatementOf<ShadowEvent>): Promise<void> {
  const links = linksAfter(await shadowHeadOf(ctx), statement);
  await ctx.db.insert("shadowEvents", { ...statement, ...links });
}
