import { internal } from "../../../convex/_generated/api";
import type { createWorld } from "../world";

/** Work runs until its lease ends. Tests end leases here, as time does after a server has died. */

type World = Pick<ReturnType<typeof createWorld>, "t">;
/** Until when work is leased, by row. */
export type Leases = ReadonlyMap<string, number>;

/** A server dies before it has begun its scheduled work, and then the cron that resumes lost work runs. */
export async function loseScheduled(app: World): Promise<void> {
  await app.t.mutation(internal.platform.work.startNext, { queue: "models" });
  await app.t.run(async ({ db, scheduler }) => {
    const scheduled = await db.system.query("_scheduled_functions").collect();
    for (const { _id, state } of scheduled) if (state.kind === "pending") await scheduler.cancel(_id);
  });
  await expireLeases(app);
}

/** The present leases. */
export async function leasesOf(app: World): Promise<Leases> {
  const leases = await app.t.run(async ({ db }) => {
    const work = await db.query("work").collect();
    const refreshes = await db.query("answers").collect();
    return [
      ...work.flatMap(({ _id, state, at }) => (state === "running" ? [{ id: String(_id), until: at }] : [])),
      ...refreshes.flatMap(({ _id, leaseUntil = 0 }) =>
        leaseUntil > 0 ? [{ id: String(_id), until: leaseUntil }] : [],
      ),
    ];
  });
  return new Map(leases.map(({ id, until }) => [id, until]));
}

/**
 * Ends leases, and runs the cron that resumes lost work.
 * @param dead The leases that end; by default all. One that was renewed since continues.
 */
export async function expireLeases(app: World, dead?: Leases): Promise<void> {
  const held = await leasesOf(app);
  const ends = (id: string) => held.has(id) && (dead === undefined || dead.get(id) === held.get(id));
  await app.t.run(async ({ db }) => {
    for (const { _id, state, at } of await db.query("work").collect()) {
      // What was due and had not begun has waited for as long.
      if (state === "waiting" && at <= Date.now()) await db.patch("work", _id, { at: 1 });
      if (ends(_id)) await db.patch("work", _id, { at: 1 });
    }
    for (const { _id } of await db.query("answers").collect())
      if (ends(_id)) await db.patch("answers", _id, { leaseUntil: 1 });
  });
  await app.t.mutation(internal.platform.work.resumeLost, {});
}
