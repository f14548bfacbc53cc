import "./meta";
import { describe, expect } from "vitest";
import * as z from "zod";
import { keyOf, slotOf } from "../../convex/evidence/model";
import { sheetsOf } from "../../convex/evidence/sayings";
import { factOf } from "../evidence/corpus/reports";
import { createApp, type App, type AppSettings, test as appTest } from "../support/app";
import type { CallInit } from "../support/world";

/** Of what is common nobody takes more than a tenth of what is left: there is something for whoever comes next. */

const PLATFORM = `0x${"a1".repeat(20)}`;
const TOKENS = Array.from({ length: 200 }, (_, n) => `T${n}X`);

/** The sources know all of them: who starts shifts can have each observe something else, which costs the most. */
const test = appTest.extend<{ settings: AppSettings; app: App }>({
  settings: { env: { PLATFORM_WALLET_ADDRESS: PLATFORM } },
  app: async ({ app }, use) => {
    await app.t.run(async ({ db }) => {
      const at = Date.now();
      for (const subject of TOKENS)
        await db.insert("facts", {
          ...{ key: keyOf({ collector: "listing", subject }), slot: slotOf(at), collectedAt: at },
          facts: sheetsOf(factOf(subject, "name", `Coin ${subject}`, at)),
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
      "/webhooks",
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
  test("of shift starts let no more than one of theirs go before the next caller's search for news", async ({
    app,
  }) => {
    for (let n = 0; n < 4; n++) expect((await kinds.shift(app, stranger(1))).status).toBe(200);
    const token = "T77X";
    const start = { userId: "account-with-shift", token };
    expect((await app.post("/mcp/research/start", start, account(1).init)).status).toBe(200);
    await app.advance(60_000);
    const searches = app.standins.sent("gdelt").map(({ query }) => query?.["query"] ?? "");
    expect([0, 1]).toContain(searches.findIndex((search) => search.startsWith(token)));
  });

  test("of questions spend a tenth of strangers' budget at most", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "0.5" } });
    await takeAll(app, "chat", stranger(1));
    expect((await kinds.chat(app, stranger(1))).body.error).toMatch(
      /^Your part, a tenth of what is left, of today's budget of the LLM gateway for callers who are not signed in is used up: it is restored at /,
    );
    expect(await spentBy(app, "anonymous", "llm")).toBeLessThan(0.021);
    expect((await kinds.chat(app, stranger(2))).status).toBe(200);
    expect((await kinds.chat(app, account(1))).status).toBe(200);
  });

  test("of wallets from 5 addresses leave others their first, and who has one is not counted", async ({
    app,
  }) => {
    await app.post("/mcp/defi/connect", { userId: "has-a-wallet-already" }, { ip: "203.0.113.1" });
    for (let n = 0; n < 5; n++) await takeAll(app, "wallet", stranger(n));
    expect((await kinds.wallet(app, stranger(0))).body.error).toMatch(
      /^Your part, a tenth of what is left, of the new wallets of an hour \(300 for all\) is used up: there is more in \d+ minutes$/,
    );
    expect((await kinds.wallet(app, stranger(77))).status).toBe(200);
    const again = { userId: "has-a-wallet-already" };
    expect((await app.post("/mcp/defi/connect", again, stranger(1).init)).body.existing).toBe(true);
  });

  test("of questions that wait hold a tenth of strangers' places", async ({ app }) => {
    app.standins.fail("llm", { mode: "slow", ms: 6_000 });
    const crowd = Array.from({ length: 10 }, () => kinds.chat(app, stranger(1)));
    const other = kinds.chat(app, stranger(2));
    const answers = await Promise.all(crowd);
    const statuses = answers.map(({ status }) => status);
    expect(new Set(answers.flatMap(({ body }) => body.error ?? []))).toEqual(
      new Set([
        "Too many requests from your network address are waiting for an answer: try again when one of them is answered",
      ]),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(8);
    expect((await other).status).toBe(200);
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
    const app = createApp({ env: { DAILY_BUDGET_USD: "0.3" } });
    let asked = 5;
    for (let n = 0; n < 20; n++) asked += (await takeAll(app, "chat", callerOf(n))) + 1;
    for (let n = 20; n < 25; n++) expect((await kinds.chat(app, callerOf(n))).status).toBe(200);
    task.meta.tries = asked;
  });
});

/** Everything that a caller may want, as often as nobody would at once. */
const wants: Record<
  string,
  { times: number; ask: (app: App, caller: Caller) => Promise<{ status: number }> }
> = {
  market: { times: 2, ask: (app, { init }) => app.get("/mcp/market", init) },
  chat: { times: 5, ask: kinds.chat },
  research: {
    times: 4,
    ask: (app, { init }) => app.post("/mcp/research", { token: TOKENS[turn++ % TOKENS.length] }, init),
  },
  shift: { times: 2, ask: kinds.shift },
  order: {
    times: 4,
    ask: (app, { init, name }) =>
      app.post(
        "/mcp/defi/send",
        { userId: `${name}-with-wallet`, token: "ETH", amount: "1", toAddress: `0x${"b0".repeat(20)}` },
        init,
      ),
  },
  // One more than the first may have of an hour's.
  wallet: { times: 31, ask: kinds.wallet },
  setting: { times: 31, ask: kinds.setting },
  link: {
    times: 44,
    ask: (app, { init }) =>
      app.post("/messenger/connect", { linkToken: `GUESS${turn++}`, messengerId: "123456789" }, init),
  },
  paid: { times: 2, ask: (app, { init }) => app.post("/agent/research/paid", {}, init) },
};

/** All of it at the same time. @returns By kind, which statuses there were. */
async function wantAll(app: App, caller: Caller, most: number): Promise<Record<string, number[]>> {
  const answers = Object.entries(wants).flatMap(([kind, { times, ask }]) =>
    Array.from({ length: Math.min(most, times) }, async () => ({
      kind,
      status: (await ask(app, caller)).status,
    })),
  );
  const told: Record<string, number[]> = {};
  for (const { kind, status } of await Promise.all(answers)) (told[kind] ??= []).push(status);
  return told;
}

/** A report behind everybody's first collections may come later than its caller waits; refused it is not. */
const IN_TIME_OR_LATE = expect.toSatisfy((status: unknown) => status === 200 || status === 502);

/** A tenth of what is left there is more than a shift's first stage after all of them. */
const generous = test.extend<{ settings: AppSettings }>({
  settings: { env: { PLATFORM_WALLET_ADDRESS: PLATFORM, DAILY_BUDGET_USD: "100" } },
});

generous(
  "after addresses and accounts that want everything at once, the next of each are served all of it",
  async ({ app }) => {
    app.standins.fail("llm", { mode: "slow", ms: 2_000 });
    const crowd = Array.from({ length: 3 }, (_, n) => [stranger(n), account(n)]).flat();
    const newcomers = Array.from({ length: 2 }, (_, n) => [stranger(10 + n), account(10 + n)]).flat();
    for (const caller of [...crowd, ...newcomers])
      await app.post(
        "/mcp/defi/connect",
        { userId: `${caller.name}-with-wallet` },
        { as: "who-makes-wallets" },
      );
    const refused = new Set<string>();
    for (const caller of crowd) {
      const told = await wantAll(app, caller, caller.name.startsWith("stranger") ? 44 : 6);
      for (const [kind, statuses] of Object.entries(told)) if (statuses.includes(429)) refused.add(kind);
    }
    const sharedOut = ["chat", "research", "order", "wallet", "setting", "link"];
    expect([...refused]).toEqual(expect.arrayContaining(sharedOut));
    app.standins.fail("llm", { mode: "slow", ms: 100 });
    await app.advance(60_000);
    // An order is let through to the chain, which is out of reach here.
    const served = { market: [200], chat: [200], research: [IN_TIME_OR_LATE], shift: [200], order: [502] };
    const others = { wallet: [200], setting: [200], link: [404], paid: [402] };
    for (const caller of newcomers) {
      const told: Record<string, number[]> = {};
      for (const [kind, { ask }] of Object.entries(wants)) told[kind] = [(await ask(app, caller)).status];
      expect([caller.name, told]).toEqual([caller.name, { ...served, ...others }]);
    }
  },
);

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
