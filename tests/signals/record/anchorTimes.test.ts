import { expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../../convex/_generated/api";
import { serviceWalletId } from "../../../convex/wallets/custody/services";
import { createApp, type App } from "../../support/app";
import { orderRow } from "../../support/rows/orders";
import * as given from "../support";

/** When the record is anchored, and what of it was before its outcome, on a clock of the test's own. */

const { buy, EIGHT, HOUR, MINUTE, events, issued, moved, test, wait } = given;

const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

/** An anchor of an event, seen in a block at a moment. */
async function anchored(app: App, sequence: number, endedAt: number): Promise<void> {
  await app.t.run(async ({ db }) => {
    const walletId = serviceWalletId("anchor", ADDRESS);
    await db.insert("wallets", {
      walletId,
      userId: "",
      kind: "anchor",
      address: ADDRESS,
      createdAt: EIGHT,
    });
    const anchor = { kind: "anchor", sequence, hash: "9c".repeat(32), data: "0x" } as const;
    const placed = { walletId, address: ADDRESS, nonce: 0, request: anchor, createdAt: EIGHT, endedAt };
    await db.insert("orders", orderRow(placed));
  });
}

const shown = z.object({ unanchored: z.number(), anchor: z.object({ address: z.string() }).nullable() });
const recordOf = async (app: App) => shown.parse((await app.get("/record")).body);

test("the head goes to the chain with the day's signals, not with a later tick", async () => {
  const key = `0x${"1".repeat(64)}`;
  const app = createApp({ now: EIGHT, env: { ANCHOR_PRIVATE_KEY: key } });
  await issued(app, buy);
  const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  const sends = jobs.filter(({ name }) => name.includes("notary"));
  expect(sends.map(({ scheduledTime }) => scheduledTime < EIGHT + MINUTE)).toEqual([true]);
});

test("signals whose issue no anchor held before their outcome are counted, and the address is named", async ({
  app,
}) => {
  // The second signal stands behind this anchor.
  await anchored(app, 1, EIGHT + MINUTE);
  await moved(app, buy, { BTC: 101, ETH: 101 });
  expect(await recordOf(app)).toEqual({ unanchored: 1, anchor: { address: ADDRESS } });
  const page = await app.get("/record", { headers: { Accept: "text/html" } });
  expect(page.text).toContain(`by <code>${ADDRESS}</code>`);
  expect(page.text).toMatch(/Not anchored before their outcome<\/dt>\s*<dd[^>]*>1 of 2 closed signals/);
  await wait(app, 24 * HOUR);
  await issued(app, buy);
  expect(app.cards().at(-1)?.text).toContain(
    `Anchored on Base by ${ADDRESS}\n1 of 2 closed signals in no anchor before their outcome`,
  );
});

test("an anchor behind the outcome does not count", async ({ app }) => {
  await anchored(app, 2, EIGHT + HOUR);
  await moved(app, buy, { BTC: 101, ETH: 101 });
  await wait(app, 2 * HOUR);
  expect((await recordOf(app)).unanchored).toBe(2);
});

test("another cost is told before the signal that has it, once", async () => {
  const app = createApp({ now: EIGHT, env: { ROUND_TRIP_COST_BPS: "15" } });
  await issued(app, buy);
  await wait(app, 24 * HOUR);
  vi.stubEnv("ROUND_TRIP_COST_BPS", "20");
  await issued(app, buy);
  const told = await events(app);
  expect(told.filter(({ kind }) => kind !== "closed" && kind !== "compared").map(({ kind }) => kind)).toEqual(
    [...["issued", "issued", "changed", "issued", "issued"]],
  );
  expect(told.find(({ kind }) => kind === "changed")?.content).toMatchObject({
    ...{ model: "simulated-claude-haiku-4.5", promptVersion: "signal-2", costBps: 20 },
  });
});

test("days on which the service stood still are told, once, and count as days without a signal", async ({
  app,
}) => {
  await issued(app, buy);
  await wait(app, 72 * HOUR);
  await issued(app, buy);
  await given.issue(app);
  const missed = (await events(app)).filter((event) => event.kind === "refused");
  expect(missed.map(({ content: { token, day, refusedDays } }) => `${token} ${day} ${refusedDays}`)).toEqual([
    "BTC 2026-01-06 1",
    "ETH 2026-01-06 1",
    "BTC 2026-01-07 2",
    "ETH 2026-01-07 2",
  ]);
  expect((await app.get("/mcp/signals/history")).body.stats).toMatchObject({ refusedDays: 4 });
  expect(await app.rows("signalRuns")).toHaveLength(8);
});

test("the operator tells that the deployment was restored", async ({ app }) => {
  await issued(app, buy);
  await app.t.mutation(internal.signals.record.anchors.restored, { reason: "backup of 2026-01-04" });
  expect((await events(app)).at(-1)).toMatchObject({
    kind: "restored",
    content: { reason: "backup of 2026-01-04" },
  });
});
