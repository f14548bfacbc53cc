import { expect } from "vitest";
import * as z from "zod";
import { RUNS, timePassing, useTime } from "../invariants/harness";
import { SECRET } from "../bot/support";
import { dieAt, restart } from "../support/crashes";
import { chain, useChain, usdcOf } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { keyOf, owner, RICH, test } from "../support/owners";
import { listTold } from "./traders";

/** Standing orders over weeks, while the service is started again from its rows each week. */

useChain();
useTime();

const [WEEKS, OWNERS, LEVELS] = RUNS > 2 ? [12, 5, 8] : [2, 1, 2];
const WEEKLY = { every: "week", on: "mon", at: "09:00", timeZone: "America/New_York" };

const standing = z.looseObject({
  standingId: z.string(),
  status: z.string(),
  words: z.string(),
  fired: z.number(),
  timesLeft: z.number().optional(),
  next: z.string().nullable(),
});
const listed = z.object({ standing: z.array(standing) });

/** A service whose only prices are the feeds': after a jump in time the others' are old. */
function createFed(): WalletApp {
  const app = createWalletApp(chain, { env: { MESSENGER_WEBHOOK_SECRET: SECRET } });
  for (const source of ["coinbase", "coingecko"] as const)
    app.standins.fail(source, { mode: "status", status: 503 });
  return app;
}

test(
  "a weekly order and levels have one outcome each, which cards and chain agree on, whatever restarts",
  async () => {
    let app = createFed();
    // What one process has begun is not the next one's.
    const pass = (minutes: number, step?: number) => app.within(() => timePassing(app)(minutes, step));
    const feed = (usd: number) => {
      const answer = BigInt(Math.round(usd * 1e8));
      return chain.feeds.set("ETH", { answer, updatedAt: Math.floor(Date.now() / 1000) });
    };
    const traders: { userId: string; address: `0x${string}`; init: RequestInit }[] = [];
    const set = ({ userId, init }: (typeof traders)[number], terms: object) =>
      app.post(
        "/mcp/defi/standing",
        { userId, fromToken: "USDC", toToken: "ETH", size: "1", ...terms },
        init,
      );
    const list = async ({ userId, init }: (typeof traders)[number]) =>
      listed.parse((await app.get(`/mcp/defi/standing?userId=${userId}`, init)).body).standing;
    for (let i = 0; i < OWNERS; i++) {
      const { userId, browser, address } = await owner(app, RICH, 4_000 + i);
      const { init } = await keyOf(app, browser, ["trade"]);
      traders.push({ userId, address, init });
    }
    const [first] = traders;
    if (first === undefined) throw new Error("There is no trader");
    const below = (levelUsd: number) => ({ price: { token: "ETH", direction: "below", levelUsd } });
    const probe = await set(first, { when: below(1), dryRun: true });
    const { priceUsd } = z.object({ now: z.object({ priceUsd: z.number() }) }).parse(probe.body).now;
    await chain.feeds.pause();
    try {
      await feed(priceUsd * 1.04);
      await pass(1);
      for (const trader of traders) {
        expect((await set(trader, { size: "3", when: WEEKLY, times: WEEKS })).status).toBe(200);
        for (let i = 0; i < LEVELS; i++) {
          const terms = { size: String(10 + i), when: below(priceUsd * (1 + i / 1_000)) };
          expect((await set(trader, terms)).status).toBe(200);
        }
      }
      let deaths = 0;
      for (let week = 0; week < WEEKS; week++) {
        const { next } = (await list(first)).find(({ words }) => words.includes("every Monday")) ?? {};
        const minutes = Math.ceil((Date.parse(next ?? "") - Date.now()) / 61_000);
        await pass(minutes, minutes);
        await chain.feeds.tick();
        await feed(week === 0 ? priceUsd * 1.04 : priceUsd * 0.999);
        // It dies at a call of the firings, each week at a later one.
        const { dead } = dieAt(3 + 4 * week, week % 2 === 0 ? "before" : "after");
        if (await Promise.race([dead, pass(1).then(() => false)])) deaths++;
        app = await restart(app, createFed);
        await pass(20);
      }
      expect(deaths).toBe(WEEKS);
      const firings = await app.rows("alertFirings");
      for (const trader of traders) {
        const rows = (await app.rows("alerts")).filter(({ userId }) => userId === trader.userId);
        expect(rows.map(({ state }) => state)).toEqual(rows.map(() => "off"));
        expect(rows.map(({ fired }) => fired)).toEqual([WEEKS, ...Array.from({ length: LEVELS }, () => 1)]);
        const ids = new Set<string>(rows.map(({ _id }) => _id));
        const own = firings.filter(({ alertId }) => ids.has(alertId));
        const done = own.filter(({ outcome }) => outcome === "done");
        expect(own.length).toBe(WEEKS + LEVELS);
        expect(done.length).toBeGreaterThan(LEVELS);
        const spent = (await app.rows("orders"))
          .filter(
            ({ state, standingId }) =>
              state === "confirmed" && standingId !== undefined && ids.has(standingId),
          )
          .map(({ request }) => (request.kind === "swap" ? BigInt(request.amount) : 0n));
        expect(spent.length).toBe(done.length);
        expect(RICH.USDC - (await usdcOf(trader.address))).toBe(spent.reduce((a, b) => a + b, 0n));
      }
      expect((await listTold(app)).length).toBe(firings.length);
    } finally {
      chain.feeds.resume();
      await chain.feeds.tick();
    }
  },
  RUNS > 2 ? 3_600_000 : undefined,
);
