import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { test as base } from "../support/app";
import { measure } from "../support/usage";

const test = base.extend({ settings: { env: { CONVEX_CLASS: "S256" } } });

test("a check among five hundred active shifts reads those that are due", async ({ app }) => {
  const { body } = await app.post("/mcp/research/start", { userId: "alice", token: "BTC" });
  await app.settle();
  await app.t.run(async ({ db }) => {
    const id = db.normalizeId("shifts", String(body.jobId));
    const shift = id === null ? null : await db.get("shifts", id);
    if (shift === null) throw new Error("There is no shift");
    const { _id, _creationTime, ...row } = shift;
    const observationIds = Array.from({ length: 17 }, () => shift.observationIds).flat();
    for (let index = 1; index < 500; index++)
      await db.insert("shifts", { ...row, userId: `user-${index}`, observationIds });
    await db.patch("shifts", _id, { nextCollectionAt: Date.now() });
  });
  const { bytesRead } = await measure(() => app.t.mutation(internal.research.shifts.checkShiftsNow, {}));
  expect(bytesRead).toBeLessThanOrEqual(100_000);
  const after = await app.t.run(({ db }) => db.query("shifts").first());
  expect(after?.nextCollectionAt).toBeGreaterThan(Date.now());
});
