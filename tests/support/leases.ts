import { internal } from "../../convex/_generated/api";
import { NEVER } from "../../convex/lib/time";
import type { createWorld } from "./world";

/** Work is under way until its lease ends. Tests end leases here, as time does after a server has died. */

type World = Pick<ReturnType<typeof createWorld>, "t">;
/** Until when work is held, by its row. */
export type Leases = ReadonlyMap<string, number>;

const LEASED = [
  "laneJobs",
  "observations",
  "refreshes",
  "paymentClaims",
  "whaleWatches",
  "mentions",
] as const;

/** A server dies before it has begun what was scheduled, and the cron that takes up lost work comes by on the next one. */
export async function loseScheduled(app: World): Promise<void> {
  await app.t.run(async ({ db, scheduler }) => {
    const scheduled = await db.system.query("_scheduled_functions").collect();
    for (const { _id, state } of scheduled) if (state.kind === "pending") await scheduler.cancel(_id);
  });
  await expireLeases(app);
}

/** What is held now. */
export function leasesOf(app: World): Promise<Leases> {
  return app.t.run(async ({ db }) => {
    const leased = await Promise.all(LEASED.map((table) => db.query(table).collect()));
    const until = leased.flat().map(({ _id, leaseUntil = 0 }): [string, number] => [_id, leaseUntil]);
    return new Map(until.filter(([, ends]) => isHeld(ends)));
  });
}

/**
 * Lets leases end, and the cron that takes up lost work come by.
 * @param dead The leases that end; all of them, unless said. One that somebody has taken over since goes on.
 */
export async function expireLeases(app: World, dead?: Leases): Promise<void> {
  const ends = (id: string, until: number) => isHeld(until) && (dead === undefined || dead.get(id) === until);
  await app.t.run(async ({ db }) => {
    for (const table of LEASED) {
      for (const { _id, leaseUntil = 0 } of await db.query(table).collect()) {
        if (ends(_id, leaseUntil)) await db.patch(table, _id, { leaseUntil: 1 });
      }
    }
  });
  await app.t.mutation(internal.lostWork.takeUp, {});
}

/** Rows that nobody works on have 0 there, or a moment that never comes. */
function isHeld(until: number): boolean {
  return until > 0 && until < NEVER;
}
