import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { START, test } from "../support/app";
import { HOUR, MINUTE, setAlert, tick } from "./support";

/** Alerts on more subjects than one transaction can read. */

const COINS = 12;
/** 10,008 subjects with RUNS. */
const WINDOWS = process.env.RUNS === undefined ? 120 : 834;

test("a tick compares 1,440 subjects (10,008 with RUNS) in few transactions, asks once for all old prices, and one that fails is told in /health", async ({
  app,
}) => {
  const bound = await setAlert(app, "BTC above 1");
  const subjects = Array.from({ length: COINS }, (_, coin) =>
    Array.from({ length: WINDOWS }, (_, i) => ({ token: `C${coin}`, windowHours: i + 1 })),
  ).flat();
  await app.t.run(async ({ db }) => {
    const id = db.normalizeId("alerts", bound);
    const like = id === null ? null : await db.get("alerts", id);
    if (like === null) throw new Error("There is no alert");
    const { _id, _creationTime, ...alert } = like;
    for (const { token, windowHours } of subjects) {
      const subject = `change:${token}:${windowHours}`;
      const condition = { kind: "change", token, direction: "up", percent: 5, windowHours } as const;
      await db.insert("alerts", { ...alert, condition, subject, level: 5, userId: `user of ${subject}` });
      const last = { at: START, observedAt: START, value: 0, source: "coinbase" };
      await db.insert("alertCursors", { subject, basis: `price:${token}`, at: START, last });
    }
  });
  const storeAll = async (at: number, usd: number) => {
    vi.setSystemTime(at);
    const priced = { priceUsd: usd, source: "coinbase", observedAt: at } as const;
    const samples = Array.from({ length: COINS }, (_, coin) => ({ token: `C${coin}`, ...priced }));
    await app.t.mutation(internal.market.samples.storeAll, { samples, usage: { outcomes: [], spent: [] } });
  };
  const ran = async (name: string) => {
    const jobs = await app.t.run(({ db }) => db.system.query("_scheduled_functions").collect());
    return jobs.filter((job) => job.name.includes(name)).length;
  };
  await storeAll(START + MINUTE, 100);
  await storeAll(START + 61 * MINUTE, 110);
  await tick(app);
  expect(await ran("compareNews")).toBeLessThanOrEqual(2 + Math.ceil(subjects.length / 600));
  expect(await app.rows("alertFirings")).toHaveLength(COINS);
  // Nothing is new: one transaction sees it.
  const before = await ran("compareNews");
  await tick(app);
  expect([await ran("compareNews"), await ran("observe")]).toEqual([before, 0]);
  vi.setSystemTime(START + 67 * MINUTE);
  await tick(app);
  expect(await ran("observe")).toBe(1);

  const health = async () => (await app.get("/health")).body;
  expect(await health()).toMatchObject({ status: "ok" });
  // A subject that nothing can read ends every tick.
  await app.t.run(({ db }) =>
    db.insert("alertCursors", { subject: "broken", basis: "broken", at: START, last: null }),
  );
  vi.setSystemTime(START + 2 * HOUR);
  await expect(tick(app)).rejects.toThrow("broken is not a subject");
  const told = expect.arrayContaining([
    expect.stringMatching(/^unfinished work \(alerts\) has waited for 52 m/),
  ]);
  expect(await health()).toMatchObject({ status: "degraded", reasons: told });
});
