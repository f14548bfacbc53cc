import { internal } from "../../../convex/_generated/api";
import type { App } from "../app";

/** Runs the daily housekeeping to its end. */
export async function keepHouse(app: App): Promise<void> {
  await app.t.mutation(internal.ops.housekeeping.run, {});
  while ((await scheduledSteps(app)) > 0) await app.settle(1);
}

async function scheduledSteps({ t }: App): Promise<number> {
  const jobs = await t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  return jobs.filter(
    ({ name, state }) =>
      name.startsWith("ops/housekeeping") && (state.kind === "pending" || state.kind === "inProgress"),
  ).length;
}
