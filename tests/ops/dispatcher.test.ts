import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { test } from "../support/app";

/** What is due is taken up by the one cron that looks for it, and what stays undone is told. */

const MINUTE = 60_000;
const crons = z.object({ checks: z.object({ crons: z.record(z.string(), z.number().nullable()) }) });
const NAME = "take up what is due";

const lost = { queue: "free" as const, rank: 1, failures: 0, attempt: 1, attempts: 1, args: {} };

describe("what is due", () => {
  test("costs nothing where nothing is", async ({ app }) => {
    await app.t.mutation(internal.ops.due.takeUp, {});
    const scheduled = await app.t.run(({ db }) => db.system.query("_scheduled_functions").collect());
    expect(scheduled.map(({ name }) => name)).not.toContain("lib/work:resumeLost");
    expect(await app.rows("cronRuns")).toMatchObject([{ name: NAME }]);
  });

  test("is taken up within the minute", async ({ app }) => {
    const at = Date.now() - 1;
    const row = { ...lost, run: "messenger/actions:deliver", state: "running" as const, at };
    await app.t.run(({ db }) => db.insert("work", row));
    await app.t.mutation(internal.ops.due.takeUp, {});
    await app.settle(1);
    expect(await app.rows("work")).toEqual([]);
  });

  test("counts as not looked after where it stays due, and health tells of it", async ({ app }) => {
    const at = Date.now() - 20 * MINUTE;
    const row = { ...lost, run: "messenger/actions:deliver", state: "running" as const, at };
    await app.t.run(({ db }) => db.insert("work", row));
    await app.t.mutation(internal.ops.due.takeUp, {});
    expect(await app.rows("cronRuns")).toEqual([]);
    expect(crons.parse((await app.get("/health")).body).checks.crons[NAME]).toBeNull();
    await app.settle(1);
    await app.t.mutation(internal.ops.due.takeUp, {});
    expect(await app.rows("cronRuns")).toMatchObject([{ name: NAME }]);
  });
});
