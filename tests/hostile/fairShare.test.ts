import "./meta";
import { describe, expect } from "vitest";
import * as z from "zod";
import { keyOf, slotOf } from "../../convex/evidence/model";
import { createApp, type App, test as appTest } from "../support/app";
import type { CallInit } from "../support/world";

/** Of what is common nobody takes more than a tenth of what is left: there is something for whoever comes next. */

const TOKENS = Array.from({ length: 200 }, (_, n) => `T${n}X`);

/** The sources know all of them: who starts shifts can have each observe something else, which costs the most. */
const test = appTest.extend<{ app: App }>({
  app: async ({ app }, use) => {
    await app.t.run(async ({ db }) => {
      const at = Date.now();
      for (const subject of TOKENS)
        await db.insert("facts", {
          ...{ key: keyOf({ collector: "listing", subject }), slot: slotOf(at), collectedAt: at },
          facts: [
            {
              ...{ subject, kind: "name" as const, value: `Coin ${subject}`, unit: "text" as const },
              ...{ observedAt: at, source: "CoinGecko", url: "https://www.coingecko.com" },
            },
          ],
        });
    });
    await use(app);
  },
});

/** Somebody who asks, and how often they have. */
type Caller = { init: CallInit; name: string };
const stranger = (n: number): Caller => ({ init: { ip: `198.51.100.${n}` }, name: `stranger-number-${n}` });
const account = (n: number): Caller => ({
  init: { as: `account-${n}`, ip: `192.0.2.${n}` },
  name: `account-number-${n}`,
});

let turn = 0;
const kinds = {
  shift: (app: App, { init, name }: Caller) =>
    app.post(
      "/mcp/research/start",
      { userId: `${name}-${turn}`, token: TOKENS[turn++ % TOKENS.length] },
      init,
    ),
  wallet: (app: App, { init, name }: Caller) =>
    app.post("/mcp/wallet/create", { userId: `${name}-with-wallet-${turn++}` }, init),
  setting: (app: App, { init, name }: Caller) =>
    app.post("/user/messenger", { userId: `${name}-with-chat-${turn++}`, messengerChatId: "4242" }, init),
  webhook: (app: App, { init, name }: Caller) =>
    app.post(
      "/alerts/webhooks",
      { userId: `${name}-with-hook-${turn++}`, url: "https://hooks.example.com/x" },
      init,
    ),
  chat: (app: App, { init }: Caller) => app.post("/mcp/chat", { question: "How is Ethereum doing?" }, init),
} as const;
type Kind = keyof typeof kinds;

/** Takes until refused. @returns How many there were. */
async function takeAll(app: App, kind: Kind, caller: Caller, most = 400): Promise<number> {
  for (let taken = 0; taken < most; taken++) {
    const { status } = await kinds[kind](app, caller);
    if (status === 429) return taken;
    expect(status).toBe(200);
  }
  return most;
}

const spent = z.object({
  checks: z.object({
    budget: z.object({
      providers: z.record(
        z.string(),
        z.object({ limitUsd: z.number(), by: z.record(z.string(), z.number()) }),
      ),
    }),
  }),
});
async function spentBy(app: App, payer: string, provider = "sentiment") {
  await app.advance(20_000);
  const { providers } = spent.parse((await app.get("/health")).body).checks.budget;
  return providers[provider]?.by[payer] ?? 0;
}

describe("one caller's quick successions", () => {
  test("of shift starts with different tokens leave the next stranger theirs", async ({ app }) => {
    const statuses = [];
    for (let n = 0; n < 14; n++) statuses.push((await kinds.shift(app, stranger(1))).status);
    expect(statuses).toContain(429);
    expect((await kinds.shift(app, stranger(2))).status).toBe(200);
    expect(await spentBy(app, "anonymous")).toBeLessThan(2);
  });

  test("of one account's shift starts leave the next account theirs", async ({ app }) => {
    const statuses = [];
    for (let n = 0; n < 13; n++) statuses.push((await kinds.shift(app, account(1))).status);
    expect(statuses).toContain(429);
    expect((await kinds.shift(app, account(2))).status).toBe(200);
  });

  test("of questions spend a tenth of strangers' budget at most", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "2" } });
    await takeAll(app, "chat", stranger(1));
    expect((await kinds.chat(app, stranger(1))).body.error).toMatch(
      /^Your part, a tenth of what is left, of today's budget of the LLM gateway for callers who are not signed in is used up: it is restored at /,
    );
    expect(await spentBy(app, "anonymous", "llm")).toBeLessThan(0.081);
    expect((await kinds.chat(app, stranger(2))).status).toBe(200);
    expect((await kinds.chat(app, account(1))).status).toBe(200);
  });

  test("of wallets from 5 addresses leave others their first, and who has one is not counted", async ({
    app,
  }) => {
    await app.post("/mcp/defi/connect", { userId: "has-a-wallet-already" }, { ip: "203.0.113.1" });
    let own = "";
    for (let n = 0; n < 300; n++) own = String((await kinds.wallet(app, stranger(n % 5))).body.error);
    expect(own).toMatch(
      /^Your part, a tenth of what is left, of the new wallets of an hour \(300 for all\) is used up: there is more in \d+ minutes$/,
    );
    expect((await kinds.wallet(app, stranger(77))).status).toBe(200);
    const again = { userId: "has-a-wallet-already" };
    expect((await app.post("/mcp/defi/connect", again, stranger(1).init)).body.existing).toBe(true);
  });

  test("of wrong link codes block nobody else", async ({ app, task }) => {
    const guess = (n: number, init: CallInit) =>
      app.post("/messenger/connect", { linkToken: `GUESS${n}`, messengerId: "123456789" }, init);
    const statuses = new Set<number>();
    for (let n = 0; n < 600; n++) statuses.add((await guess(n, { ip: "198.51.100.9" })).status);
    expect(statuses).toEqual(new Set([404, 429]));
    expect((await guess(601, { ip: "198.51.100.10" })).status).toBe(404);
    task.meta.tries = 601;
  });

  test("of questions that wait hold a tenth of strangers' places", async ({ app }) => {
    app.standins.fail("llm", { mode: "slow", ms: 6_000 });
    const crowd = Array.from({ length: 10 }, () => kinds.chat(app, stranger(1)));
    const other = kinds.chat(app, stranger(2));
    const answers = await Promise.all(crowd);
    const statuses = answers.map(({ status }) => status);
    expect(new Set(answers.flatMap(({ body }) => body.error ?? []))).toEqual(
      new Set([
        "You wait for as many answers as one caller may at a time: try again when one of them is there",
      ]),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    expect((await other).status).toBe(200);
  });

  test("of cards to the service's own chat, whatever ids they take, leave it some of others'", async ({
    app,
  }) => {
    const start = (n: number, ip: string) =>
      app.post("/mcp/research/start", { userId: `without-a-chat-${n}`, token: "SOL" }, { ip });
    for (let n = 0; n < 12; n++) expect((await start(n, "198.51.100.1")).status).toBe(200);
    expect((await start(99, "198.51.100.2")).status).toBe(200);
    await app.settle();
    const shown = (await app.rows("messages")).map(({ state }) => state);
    expect(shown.filter((state) => state === "sent")).toHaveLength(7);
    expect(shown.at(-1)).toBe("sent");
  });

  test("from one IPv6 network, however many of its /64 they use, are a tenth together", async ({ app }) => {
    const of = (n: number): Caller => ({ init: { ip: `2001:db8:7:${n.toString(16)}::1` }, name: `six-${n}` });
    let made = 0;
    for (let n = 0; n < 40; n++) made += (await kinds.wallet(app, of(n))).status === 200 ? 1 : 0;
    expect(made).toBe(30);
    expect((await kinds.wallet(app, { init: { ip: "2001:db8:8::1" }, name: "other-network" })).status).toBe(
      200,
    );
  });
});

describe.each([
  ["20 addresses", stranger, ["shift", "wallet", "setting", "webhook"] as const],
  ["20 accounts", account, ["shift"] as const],
])("after %s that take all they can", (_what, callerOf, wanted) => {
  test.for(wanted)("the next five of each are served: %s", async (kind, { app, task }) => {
    const taken = [];
    for (let n = 0; n < 20; n++) taken.push(await takeAll(app, kind, callerOf(n)));
    expect(Math.min(...taken)).toBeGreaterThan(0);
    for (let n = 20; n < 25; n++) expect((await kinds[kind](app, callerOf(n))).status).toBe(200);
    task.meta.tries = taken.reduce((sum, some) => sum + some + 1, 5);
  });

  test("the next five of each are answered in chat", async ({ task }) => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "2" } });
    let asked = 5;
    for (let n = 0; n < 20; n++) asked += (await takeAll(app, "chat", callerOf(n))) + 1;
    for (let n = 20; n < 25; n++) expect((await kinds.chat(app, callerOf(n))).status).toBe(200);
    task.meta.tries = asked;
  });
});

describe("a shift", () => {
  test("is paid for by stage, and a stop gives the rest back", async ({ app }) => {
    await kinds.shift(app, stranger(1));
    const [shift] = await app.rows("shifts");
    const first = await spentBy(app, "anonymous");
    expect(first).toBeGreaterThan(0.2);
    expect(first).toBeLessThan(0.3);
    await app.post("/mcp/research/stop", { userId: shift?.userId }, stranger(1).init);
    const afterStop = await spentBy(app, "anonymous");
    // One collection of six was made.
    expect(afterStop).toBeCloseTo(first / 6, 2);
  });
});
