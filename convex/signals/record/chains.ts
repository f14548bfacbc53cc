import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { linksAfter, type StatementOf } from "./chain";
import type { ChainHead, ShadowEvent, SignalEvent } from "./events";
import type { Desk } from "./tables";

/** The chains of events as they are stored: a desk has one. */

/** What is added to a desk's chain. */
export type ChainEntry =
  | { desk: "daily"; statement: StatementOf<SignalEvent> }
  | { desk: "lab"; statement: StatementOf<ShadowEvent> };

/** The last link of a chain; `null` before the first event. */
export async function headOf(ctx: QueryCtx, desk: Desk): Promise<ChainHead | null> {
  const last = await ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.eq("desk", desk))
    .order("desc")
    .first();
  return last === null ? null : { sequence: last.event.sequence, hash: last.event.hash };
}

/** Adds an event to a chain. */
export async function append(ctx: MutationCtx, entry: ChainEntry): Promise<ChainHead> {
  const links = linksAfter(await headOf(ctx, entry.desk), entry.statement);
  const { sequence, hash } = links;
  // The same twice: an entry's desk is what tells the types of the two chains apart.
  if (entry.desk === "daily") {
    await ctx.db.insert("signalEvents", { desk: entry.desk, event: { ...entry.statement, ...links } });
  } else {
    await ctx.db.insert("signalEvents", { desk: entry.desk, event: { ...entry.statement, ...links } });
  }
  return { sequence, hash };
}

/** Events of a desk's chain behind a sequence number, in order. */
async function rowsAfter(ctx: QueryCtx, desk: Desk, { after, limit }: { after: number; limit: number }) {
  return ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.eq("desk", desk).gt("event.sequence", after))
    .take(limit);
}

export async function dailyEvents(
  ctx: QueryCtx,
  page: { after: number; limit: number },
): Promise<SignalEvent[]> {
  const rows = await rowsAfter(ctx, "daily", page);
  return rows.flatMap((row) => (row.desk === "daily" ? [row.event] : []));
}

export async function shadowEvents(
  ctx: QueryCtx,
  page: { after: number; limit: number },
): Promise<ShadowEvent[]> {
  const rows = await rowsAfter(ctx, "lab", page);
  return rows.flatMap((row) => (row.desk === "lab" ? [row.event] : []));
}

/** The newest events of a kind in the daily chain, newest first. */
export async function newestOf<Kind extends SignalEvent["kind"]>(
  ctx: QueryCtx,
  kind: Kind,
  count: number,
): Promise<Extract<SignalEvent, { kind: Kind }>[]> {
  const rows = await ctx.db
    .query("signalEvents")
    .withIndex("by_kind", (q) => q.eq("desk", "daily").eq("event.kind", kind))
    .order("desc")
    .take(count);
  const isOfKind = (event: SignalEvent | ShadowEvent): event is Extract<SignalEvent, { kind: Kind }> =>
    event.kind === kind;
  return rows.map(({ event }) => event).filter(isOfKind);
}
