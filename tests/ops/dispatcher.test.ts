import { expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { test } from "../support/app";

/** What is due is taken up by the one cron that looks for it, and what stays undone is told. */

const crons = z.object({ checks: z.object({ crons: z.record(z.string(), z.number().nullable()) }) });
const NAME = "take up what is due";

test("what is due is taken up within the minute; where it stays due, it counts as not looked after, and health tells of it", async ({
  app,
}) => {
  const take = () => app.t.mutation(internal.ops.due.takeUp, {});
  const isDue = (at: number) => {
    const lost = { queue: "free", rank: 1, failures: 0, attempt: 1, attempts: 1, args: {} } as const;
    const row = { ...lost, run: "messenger/actions:deliverCards", state: "running" as const, at };
    return app.t.run(({ db }) => db.insert("work", row));
  };
  await isDue(Date.now() - 20 * MINUTE);
  await take();
  expect(await app.rows("cronRuns")).toEqual([]);
  expect(crons.parse((await app.get("/health")).body).checks.crons[NAME]).toBeNull();
  await app.settle(1);
  expect(await app.rows("work")).toEqual([]);
  await isDue(Date.now() - 1);
  await take();
  await app.settle(1);
  expect([await app.rows("work"), await app.rows("cronRuns")]).toMatchObject([[], [{ name: NAME }]]);
  // Where nothing is due, looking costs nothing.
  const scheduled = () => app.t.run(({ db }) => db.system.query("_scheduled_functions").collect());
  const before = await scheduled();
  await take();
  expect(await scheduled()).toHaveLength(before.length);
});
