import type { Doc, TableNames } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { tablesOf, type TableRecord } from "../lib/records/records";
import { SECOND } from "../lib/time";
import { records } from "../schema";

/** Waiting work, for the operator. */

/** Cards are counted up to here. */
const COUNTED = 100;
/** How many rows of unfinished work are searched for the oldest, in order of their next check. */
const LOOKED_AT = 20;
/** How many pieces of work of each state are listed. */
const LISTED = 100;
const STATES = ["running", "waiting", "resting"] as const;

/** Cards that are neither delivered nor given up: their number (100 means 100 or more), and the age of the oldest in seconds. */
export async function backlog(
  ctx: QueryCtx,
  now: number,
): Promise<{ waiting: number; oldestSeconds: number | null }> {
  const inState = (state: "queued" | "sending") =>
    ctx.db
      .query("messages")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", state))
      .take(COUNTED / 2);
  const waiting = [...(await inState("queued")), ...(await inState("sending"))];
  return {
    waiting: waiting.length,
    oldestSeconds: age(
      now,
      waiting.map(({ _creationTime }) => _creationTime),
    ),
  };
}

/** The age in seconds of the oldest unfinished piece of work of each kind in the tables' records; `null` if nothing waits. */
export async function oldestWork(ctx: QueryCtx, now: number): Promise<Record<string, number | null>> {
  const ages = await Promise.all(tablesOf(records).map((table) => oldestOf(ctx, table, now)));
  return Object.fromEntries(ages.flat());
}

async function oldestOf<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  now: number,
): Promise<[kind: string, seconds: number | null][]> {
  const { openWhen = {} }: TableRecord<Table> = records[table];
  return Promise.all(
    Object.entries(openWhen).map(async ([kind, { rows, since }]) => {
      const ranges = await Promise.all(rows.map((range) => range(ctx.db.query(table), now).take(LOOKED_AT)));
      return [kind, age(now, ranges.flat().map(since))];
    }),
  );
}

/** How many pieces of work are in each state, and how many of them have failed before (100 means 100 or more). */
export async function workCounts(
  ctx: QueryCtx,
): Promise<Record<(typeof STATES)[number] | "failing", number>> {
  const [running = [], waiting = [], resting = []] = await openWork(ctx);
  const failing = [...running, ...waiting, ...resting].filter(({ failures }) => failures > 0);
  return {
    running: running.length,
    waiting: waiting.length,
    resting: resting.length,
    failing: Math.min(failing.length, LISTED),
  };
}

/** Pieces of work of each state, 100 at most. */
export async function openWork(ctx: QueryCtx): Promise<Doc<"work">[][]> {
  return Promise.all(
    STATES.map((state) =>
      ctx.db
        .query("work")
        .withIndex("by_state_and_at", (q) => q.eq("state", state))
        .take(LISTED),
    ),
  );
}

function age(now: number, begun: readonly number[]): number | null {
  return begun.length === 0 ? null : Math.max(0, Math.round((now - Math.min(...begun)) / SECOND));
}
