import type { Address } from "viem";
import { describe, expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { SECRET } from "../bot/support";
import { handedToTheNode, RUNS, timePassing, twiceSigned, useTime } from "../invariants/harness";
import { chain, etherOf, useChain, usdcOf } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { dieAt, restart } from "../support/crashes";
import { intercept } from "../support/outside";
import { cards, claimsTakeEffect, keyOf, newest, RICH, say, tap, test } from "../support/owners";
import type { CallInit } from "../support/world";
import { comeDue, countSent, createTrader, DAILY, level, listTold, patchAll, withPrice } from "./traders";

/** Standing orders: each firing is one swap, refused, or missed, and told; an order ends with what it was set by. */

useChain();
useTime();

/** How many calls lie between two freezes. */
const STEP = RUNS > 2 ? 1 : 40;
/**
 * A batch is fifty firings in a world of their own: in each of five rounds ten orders of five owners fire at once, and the
 * service dies at one of their calls, of which there are some 270. Twenty batches are 1,000 firings and 100 deaths.
 */
const [ROUNDS, OWNERS, ORDERS, CALLS_APART] = [5, 5, 2, 54];
const AT_ONCE = OWNERS * ORDERS;

/** With places for all orders at once: a firing that was lost would wait for those that wait for its wallet. */
const createService = (): WalletApp =>
  createWalletApp(chain, { env: { MESSENGER_WEBHOOK_SECRET: SECRET, CONVEX_CLASS: "S256" } });

describe("a firing", () => {
  test.each(Array.from({ length: RUNS }, (_, batch) => batch))(
    "whose process dies at any call is done once or missed, and told (batch %i)",
    async (batch) => {
      let app = createService();
      const addresses: Address[] = [];
      const sizes = new Map<unknown, bigint>();
      for (let person = 1; person <= OWNERS; person++) {
        const { address, set } = await createTrader(app, RICH, person);
        addresses.push(address);
        for (let i = 0; i < ORDERS; i++) {
          const size = person * ORDERS + i;
          const { body } = await set({ size: String(size), when: DAILY });
          sizes.set(body.standingId, BigInt(size) * 1_000_000n);
        }
      }
      const held = async () => (await Promise.all(addresses.map(usdcOf))).reduce((a, b) => a + b);
      // What one process has begun is not the next one's.
      const pass = () => app.within(() => timePassing(app)(1));
      const given = [handedToTheNode()];
      let deaths = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const n = 1 + CALLS_APART * round + ((11 * batch) % CALLS_APART);
        const moment = (batch + round) % 2 === 0 ? "before" : "after";
        const [before, earlier] = [await held(), (await app.rows("alertFirings")).length];
        const isDue = async () => (await app.rows("alertFirings")).some(({ outcome }) => outcome === "due");
        let sent = -countSent(app);
        await comeDue(app);
        const { dead, revive } = dieAt(n, moment);
        if (await Promise.race([dead, pass().then(() => false)])) {
          deaths++;
          sent += countSent(app);
          app = await restart(app, createService);
          given.push(handedToTheNode());
        } else revive();
        do await pass();
        while ((await isDue()) || sent + countSent(app) < AT_ONCE);
        sent += countSent(app);
        const ends = (await app.rows("alertFirings")).slice(earlier);
        const context = `${moment} ${n}: ${ends.map(({ outcome, reason = "" }) => `${outcome} ${reason}`).join()}`;
        for (const { outcome } of ends)
          expect([context, outcome]).toEqual([context, expect.stringMatching(/^(?:done|missed)$/)]);
        expect([context, ends.length]).toEqual([context, AT_ONCE]);
        const done = ends.flatMap(({ outcome, alertId }) => (outcome === "done" ? [alertId] : []));
        const spent = done.reduce((sum, id) => sum + (sizes.get(id) ?? 0n), 0n);
        expect([context, before - (await held())]).toEqual([context, spent]);
        expect([context, (await listTold(app)).length]).toEqual([context, earlier + AT_ONCE]);
        // A card that was cut between sending and marking may arrive again: one of each owner's.
        expect([context, sent >= AT_ONCE && sent <= AT_ONCE + OWNERS]).toEqual([context, true]);
      }
      const raws = [...new Set(given.flatMap((list) => list()))];
      for (const address of addresses) expect(await twiceSigned(raws, address)).toEqual([]);
      expect(deaths).toBeGreaterThanOrEqual(ROUNDS - 1);
    },
  );

  test("is refused without money, with its reason; three in a row end it; a pause is missed", async ({
    app,
  }) => {
    const { set, list, stop, pass } = await createTrader(app, { ETH: 10n ** 18n, USDC: 1_500_000n });
    const made = await set({ size: "2", when: DAILY, times: 12 });
    expect(made.body).toMatchObject({
      status: "active",
      words: "2 USDC → ETH, every day at 09:00 Europe/Berlin, 12 times: 24 USDC in all",
    });
    for (let day = 0; day < 3; day++) {
      await comeDue(app);
      await pass(2);
    }
    const [ended] = await list();
    expect(ended).toMatchObject({
      status: "ended",
      fired: 3,
      timesLeft: 9,
      endReason: expect.stringMatching(/3 times/),
    });
    expect(ended?.last).toMatchObject({ outcome: "refused", reason: expect.stringContaining("USDC") });
    expect(await newest(app)).toMatch(/Standing order refused[^]*It has ended/);
    // Paused: tried again for a quarter of an hour, then missed; and the next time is the grid's.
    const { body } = await set({ size: "1", when: DAILY });
    vi.stubEnv("TRADING_PAUSED", "true");
    await comeDue(app);
    await pass(18);
    vi.stubEnv("TRADING_PAUSED", undefined);
    const [one] = await list();
    expect(one).toMatchObject({ status: "active", fired: 1, last: { outcome: "missed" } });
    expect(one?.next).toMatch(/T0[78]:00:00.000Z$/);
    const skipped = await stop({ standingId: body.standingId, skip: true });
    expect(Date.parse(String(skipped.body.next)) - Date.parse(String(one?.next))).toBe(86_400_000);
    // Found later than an hour after its time.
    await comeDue(app, 2 * 3_600_000);
    await pass(1);
    expect((await list())[0]).toMatchObject({ fired: 2, last: { outcome: "missed" } });
    expect(await newest(app)).toContain("is not caught up");
  });

  test("at a level fills there or better, once, and never beyond its bound whatever the quote says", async ({
    app,
  }) => {
    const trader = await createTrader(app);
    const { set, list, address, pass } = trader;
    await withPrice(app, trader, async (price, feed) => {
      expect((await set({ when: level("below", price * 2) })).body.error).toContain("that is true now");
      await feed(price * 1.1);
      await pass(1);
      const near = await set({ size: "100", when: level("below", price * 1.005) });
      expect(near.body.status).toBe("active");
      // Its quote is a lie: for half of what it sells.
      const far = await set({ size: "50", when: level("below", price * 0.8) });
      await pass(1);
      const usdc = await usdcOf(address);
      await feed(price);
      await pass(2);
      expect(usdc - (await usdcOf(address))).toBe(100_000_000n);
      const [bought] = (await app.rows("orders")).filter(({ state }) => state === "confirmed");
      expect(100 / (Number(bought?.bought) / 1e18)).toBeLessThanOrEqual(price * 1.005 * 1.01);
      const quoted = globalThis.fetch;
      const honest = intercept(({ url }, go) =>
        url.includes("sellAmount=50000000")
          ? quoted(url.replace("sellAmount=50000000", "sellAmount=25000000"))
          : go(),
      );
      for (let minute = 0; minute < 19; minute++) {
        await feed(price * 0.75);
        if (minute > 0) await pass(1);
      }
      honest();
      expect(usdc - (await usdcOf(address))).toBe(100_000_000n);
      const rows = await list();
      const find = (made: typeof near) => rows.find(({ standingId }) => standingId === made.body.standingId);
      expect(find(near)?.status).toBe("ended");
      // Another moment may cure that: it stays set.
      const outcome: unknown = expect.stringMatching(/^(?:refused|missed)$/);
      expect(find(far)).toMatchObject({ status: "active", fired: 1, last: { outcome } });
    });
    expect(await etherOf(address)).toBeGreaterThan(10n ** 18n);
  });
});

describe("a standing order ends, and is told so", () => {
  test("by a freeze at any call of its firing: then it is done or has moved nothing", async ({ app }) => {
    const { set, list, address, browser, pass } = await createTrader(app);
    for (let n = 1, isReached = true; isReached; n += STEP) {
      await patchAll(app, "accounts", { frozenAt: undefined, thawsAt: undefined });
      await set({ when: DAILY });
      const before = await usdcOf(address);
      await comeDue(app);
      let calls = 0;
      const end = intercept(async (_call, go) => {
        if (++calls === n) await browser.mutation(api.accounts.profile.freeze, {});
        return go();
      });
      await pass(4);
      end();
      isReached = calls >= n;
      if (!isReached) await browser.mutation(api.accounts.profile.freeze, {});
      const [row] = await list();
      const moved = before - (await usdcOf(address));
      const context = `${n}: ${JSON.stringify(row?.last)}`;
      expect([context, row?.status, row?.endReason]).toEqual([context, "ended", "the account was frozen"]);
      expect([context, moved]).toEqual([context, row?.last?.outcome === "done" ? 1_000_000n : 0n]);
      // A freeze before the firing leaves none.
      expect([context, row?.last?.outcome ?? "refused"]).toEqual([
        context,
        expect.stringMatching(/^(?:done|refused)$/),
      ]);
    }
    await app.settle();
    expect((await cards(app)).some(({ text }) => /standing order has ended[^]*frozen/.test(text))).toBe(true);
  });

  test("with its key, its chat and its login", async ({ app }) => {
    const { set, list, userId, browser, keyId, address, pass } = await createTrader(app);
    const before = await usdcOf(address);
    await set({ when: DAILY });
    await browser.mutation(api.accounts.keys.revoke, { keyId });
    const { init } = await keyOf(app, browser, ["trade"]);
    expect((await list(init))[0]?.endReason).toContain("was revoked");
    const isTold = ({ text }: { text: string }) => /standing order has ended[^]*was revoked/.test(text);
    expect((await cards(app)).some(isTold)).toBe(true);
    /** How the order of a size has ended once it was due. */
    const endOf = async (size: string) => {
      await comeDue(app);
      await pass(2);
      const row = (await app.rows("alerts")).find(({ order }) => order?.swap.size === size);
      return [row?.state, row?.endReason];
    };
    // An expired key: nothing tells it but the next firing.
    await set({ size: "3", when: DAILY }, init);
    await patchAll(app, "keys", { expiresAt: 1 });
    expect(await endOf("3")).toEqual(["off", "the key that set it is not valid any more"]);
    // Nor does it order in another mode than it was set in.
    await say(app, "buy 6 USDC of ETH every day at 09:00");
    await tap(app, "Set");
    await patchAll(app, "accounts", { paper: { since: 1 } });
    expect(await endOf("6")).toEqual(["off", "the account changed between live and paper"]);
    await patchAll(app, "accounts", { paper: undefined });
    // What the chat has set needs the chat; a new login ends all.
    await say(app, "buy 4 USDC of ETH every day at 09:00");
    await tap(app, "Set");
    await say(app, "buy 5 USDC of ETH every day at 10:00");
    await tap(app, "Set");
    const login = "https://auth.example.com|another";
    await app.t.mutation(internal.accounts.claims.changeLogin, { userId, login, reason: "lost" });
    await claimsTakeEffect(app);
    const ends = (await app.rows("alerts")).map(({ state, endReason }) => [state, endReason]);
    expect(ends.slice(-2)).toEqual(Array(2).fill(["off", "the account has another login"]));
    await comeDue(app);
    await pass(2);
    expect(await usdcOf(address)).toBe(before);
  });
});

describe("who may set one", () => {
  test("its owner and keys that trade; the id alone asks the owner, whose tap sets it", async ({ app }) => {
    const { userId, browser, set, stop } = await createTrader(app);
    const ask = (init: CallInit = {}) => set({ size: "7", when: DAILY }, init);
    const { init: reads } = await keyOf(app, browser, ["read"]);
    const { init: sends } = await keyOf(app, browser, ["withdraw"]);
    for (const init of [reads, sends]) expect((await ask(init)).status).toBe(403);
    const asked = await ask();
    expect([asked.status, asked.body.status]).toEqual([202, "awaiting_approval"]);
    expect(await newest(app)).toMatch(
      /Somebody who knows your account id[^]*7 USDC → ETH[^]*Up to \d+ × 7 USDC = \d+ USDC/,
    );
    const standingId = String(asked.body.standingId);
    // No other way sets, stops or shows it.
    expect((await app.post("/alerts/confirm", { userId, alertId: standingId }, sends)).status).toBe(403);
    expect((await stop({ standingId }, {})).status).toBe(403);
    expect((await app.post("/alerts/off", { userId, standingId }, sends)).status).toBe(403);
    expect((await app.get(`/mcp/defi/standing?userId=${userId}`)).status).toBe(403);
    await tap(app, "Set");
    expect((await app.rows("alerts")).map(({ state }) => state)).toEqual(["active"]);
    expect((await ask()).body).toMatchObject({ standingId, status: "active", repeated: true });
    // Two orders at one time are two; ten are the most.
    for (let i = 10; i < 19; i++) expect((await set({ size: String(i), when: DAILY })).status).toBe(200);
    expect((await set({ size: "99", when: DAILY })).status).toBe(409);
    const free = await set({ userId: `free-${crypto.randomUUID()}`, when: DAILY }, {});
    expect([free.status, free.body.error]).toEqual([403, expect.stringContaining("ownerUrl")]);
    for (const terms of [
      { when: { ...DAILY, timeZone: "Mars/Base" } },
      { when: { ...DAILY, at: "25:00" } },
      { when: { every: "month", on: "31", at: "09:00" } },
      { when: { every: "week", at: "09:00" } },
      { when: DAILY, until: "2020-01-01" },
      { when: DAILY, unknown: 1 },
      { when: { call: true, ...DAILY } },
      { when: {} },
    ])
      expect([terms, (await set(terms)).status]).toEqual([terms, 400]);
  });

  test("an address fires the stored order alone, once a minute and ten times a day, until it is dead", async ({
    app,
  }) => {
    const { set, list, address, userId, init, pass } = await createTrader(app);
    const key = { headers: { ...init.headers, "Idempotency-Key": "one" } };
    const terms = { size: "2", when: { call: true } };
    const { body } = await set(terms, key);
    const path = String(body.callUrl).replace(/^https?:\/\/[^/]+/, "");
    expect(path).toMatch(/^\/mcp\/defi\/standing\/call\?token=st_[0-9a-f]{64}$/);
    const again = await set(terms, key);
    expect(again.body).toMatchObject({ standingId: body.standingId, repeated: true });
    expect(again.body.callUrl).toBeUndefined();
    expect(JSON.stringify(await app.rows("alerts"))).not.toContain(path.slice(-64));
    const before = await usdcOf(address);
    const call = (given: unknown = { size: "1000", toAddress: address }) => app.post(path, given);
    const flood = await Promise.all(Array.from({ length: 20 }, () => call()));
    expect(flood.map(({ status }) => status)).toEqual(flood.map(() => 202));
    expect(flood.filter((one) => one.body.accepted === true)).toHaveLength(1);
    await pass(1);
    expect(before - (await usdcOf(address))).toBe(2_000_000n);
    for (let i = 0; i < 12; i++) {
      await call();
      await pass(1);
    }
    expect(before - (await usdcOf(address))).toBe(20_000_000n);
    expect((await app.post(`${path.slice(0, -1)}0`, {})).status).toBe(path.endsWith("0") ? 202 : 404);
    const [row] = await list();
    expect(row).toMatchObject({ fired: 10, last: { outcome: "done" } });
    await app.post("/alerts/off", { userId, standingId: row?.standingId }, init);
    expect((await call()).status).toBe(404);
  });

  test("a chat is shown its order's address once, and a tap gives it another; of both nothing is stored", async ({
    app,
  }) => {
    const { list, pass } = await createTrader(app);
    const shown = async () =>
      /\/mcp\/defi\/standing\/call\?token=st_[0-9a-f]{64}/.exec(await newest(app))?.[0] ?? "";
    const call = async (path: string) => (await app.post(path, {})).status;
    await say(app, "buy 2 USDC of ETH on call");
    await tap(app, "Set");
    const first = await shown();
    expect(await call(first)).toBe(202);
    await pass(2);
    expect(await list()).toMatchObject([{ status: "active", fired: 1, last: { outcome: "done" } }]);
    await tap(app, "New address");
    const second = await shown();
    expect([second === first, await call(first), await call(second)]).toEqual([false, 404, 202]);
    await pass(2);
    const stored = JSON.stringify([await app.rows("messages"), await app.rows("alerts")]);
    for (const path of [first, second]) expect(stored).not.toContain(path.slice(-64));
    expect((await app.rows("messages")).filter(({ secret }) => secret !== undefined)).toEqual([]);
  });
});
