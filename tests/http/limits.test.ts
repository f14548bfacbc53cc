import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { internalMutation } from "../../convex/_generated/server";
import { creditDeposit } from "../../convex/credits/model";
import { getErrorData } from "../../convex/lib/errors";
import { HOUR, SECOND } from "../../convex/lib/time";
import * as slots from "../../convex/platform/limits/slots";
import * as calls from "../../convex/platform/outside/calls";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { test, type App } from "../support/app";
import { browserOf } from "../support/browser";

/** Limits as callers meet them: ordinary use is never refused, and a refusal says whose limit it is and when it is free. */

const HERE = "10.0.0.1";

/** A model that takes 4 s. The chat takes its own time off its deadline, which a busy machine would miss. */
function slow(app: App): void {
  app.standins.fail("llm", { mode: "slow", ms: 4 * SECOND });
  deadlines.llmInteractive = HOUR;
}

const times = <Value>(count: number, work: (index: number) => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const ask = (app: App, question: string, ip = HERE) =>
  app.post("/mcp/chat", { question, agentId: "primary-default" }, { ip });
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);
const all = (status: number, count: number) => Array.from({ length: count }, () => status);

test.for([0, 4 * SECOND])(
  "sixteen callers of one report at one address are all answered, as soon as one is: a model of %i ms",
  async (ms, { app }) => {
    if (ms > 0) slow(app);
    const alone = Date.now();
    expect((await app.post("/mcp/research", { token: "ETH" }, { ip: HERE })).status).toBe(200);
    const one = Date.now() - alone;
    const begun = Date.now();
    const answers = await times(16, () => app.post("/mcp/research", { token: "SOL" }, { ip: HERE }));
    expect(statuses(answers)).toEqual(all(200, 16));
    expect(Date.now() - begun).toBeLessThanOrEqual(one * 1.3 + SECOND);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  },
);

describe("who waits", () => {
  test("holds a slot: thirty of an address are answered, the 31st is told whose limit it is; another address is served beside it", async ({
    app,
  }) => {
    slow(app);
    const crowd = times(33, (index) => ask(app, `Question ${index}`));
    const other = ask(app, "How is BTC?", "10.0.0.2");
    const answers = await crowd;
    expect((await other).status).toBe(200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(3);
    for (const { status, body, headers } of refused) {
      expect([status, body]).toEqual([
        429,
        {
          error:
            "30 requests from your network address are waiting for an answer, the most at once: try again when one of them is answered",
        },
      ]);
      expect(headers.get("retry-after")).toBe("5");
    }
    expect((await ask(app, "Again")).status).toBe(200);
  });

  test("without a sign-in leaves slots to who is signed in", async ({ app }) => {
    slow(app);
    const strangers = times(40, (index) => ask(app, `Question ${index}`, `10.0.1.${index}`));
    const own = app.post("/mcp/chat", { question: "How is BTC?" }, { ip: "10.0.2.1", as: "alice" });
    expect((await own).status).toBe(200);
    expect(statuses(await strangers).filter((status) => status === 200)).toHaveLength(36);
  });

  test("is at most ten requests of one user", async ({ app }) => {
    slow(app);
    const answers = await times(12, (index) =>
      app.post("/mcp/chat", { question: `Question ${index}` }, { ip: HERE, as: "alice" }),
    );
    expect(statuses(answers).toSorted()).toEqual([...all(200, 10), 429, 429]);
  });
});

test("ten shifts of one user all start, and twenty of one address", async ({ app }) => {
  const start = (userId: string) => app.post("/mcp/research/start", { userId }, { ip: HERE });
  for (let index = 0; index < 10; index++) expect((await start("alice")).status).toBe(200);
  const eleventh = await start("alice");
  expect([eleventh.status, eleventh.body.error]).toEqual([
    429,
    "At most 10 research shifts of one user can be active at once: the first of them ends at 2026-01-05 17:00 UTC, and POST /mcp/research/stop stops a user's",
  ]);
  for (let index = 0; index < 10; index++) expect((await start(`user-${index}`)).status).toBe(200);
  const refused = await start("another");
  expect([refused.status, refused.body.error]).toEqual([
    429,
    expect.stringMatching(
      /^At most 20 research shifts from one network address can be active at once: the first/,
    ),
  ]);
  expect((await app.post("/mcp/research/start", { userId: "another" }, { ip: "10.0.0.2" })).status).toBe(200);
});

describe("a key's orders", () => {
  const selling = test.extend({ settings: { env: { PLATFORM_WALLET_ADDRESS: `0x${"7".repeat(40)}` } } });

  selling("are not used up by strangers who name its owner's id", async ({ app }) => {
    const alice = browserOf(app, "alice");
    const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
    const { key } = await alice.mutation(api.accounts.keys.create, { name: "one", scopes: ["trade"] });
    for (let i = 0; i < 201; i++)
      await app.post(
        "/agent/research/paid",
        { userId },
        { headers: { "X-Payment": "x" }, ip: `10.0.0.${i % 5}` },
      );
    const swap = { userId, fromToken: "USDC", toToken: "DAI", amount: "1" };
    const init = { headers: { Authorization: `Bearer ${key}` }, ip: "10.0.1.1" };
    expect((await app.post("/mcp/defi/swap", swap, init)).body.error).toContain("only reads");
  });
});

describe("the day's budget", () => {
  const poor = test.extend({ settings: { env: { DAILY_BUDGET_USD: "0.05" } } });
  /** Asks until the budget refuses. @returns The refusal, after so many answers. */
  const exhaust = async (app: App, ip: string) => {
    for (let count = 0; count < 60; count++) {
      const answer = await ask(app, `How is ETH? (${count})`, ip);
      if (answer.status !== 200) return { ...answer, count };
    }
    throw new Error("Nothing refused");
  };
  const [MINE, STRANGERS] = [
    /^Your share of today's budget, or your network's, is used up. Try again in/,
    /^Today's budget for callers without a sign-in is used up. Try again in/,
  ];

  // A tenth of the usual budget, and of the questions.
  const office = test.extend({ settings: { now: Date.UTC(2026, 0, 5), env: { DAILY_BUDGET_USD: "2.5" } } });
  office("answers two hundred questions a day of an office behind one address", async ({ app }) => {
    const answers: { status: number }[] = [];
    for (let half = 0; half < 4; half++) {
      for (let n = 0; n < 5; n++) answers.push(await ask(app, `Why has BTC moved? (${half}, ${n})`));
      await app.pass(2 * HOUR, { cronsRun: false });
    }
    expect(statuses(answers)).toEqual(all(200, 20));
  });

  poor("one address, or one network, has a fifth of it; four fifths are left to others", async ({ app }) => {
    const { status, body, headers, count } = await exhaust(app, HERE);
    expect([status, body.error]).toEqual([429, expect.stringMatching(MINE)]);
    expect(count).toBeGreaterThan(1);
    expect(Number(headers.get("retry-after"))).toBeLessThan((6 * HOUR) / SECOND);
    expect((await ask(app, "How is BTC?", "10.0.0.2")).body.error).toMatch(MINE);
    expect((await ask(app, "How is BTC?", "10.0.2.1")).status).toBe(200);
    // What is cached costs nothing.
    expect((await app.get("/mcp/market", { ip: "10.0.2.1" })).status).toBe(200);
    expect((await app.get("/mcp/market", { ip: HERE })).status).toBe(200);
  });

  poor("is no more for a /48 than for one address", async ({ app }) => {
    await exhaust(app, "2001:db8:1:1::1");
    expect((await ask(app, "How is BTC?", "2001:db8:1:2::1")).body.error).toMatch(MINE);
    expect((await ask(app, "How is BTC?", "2001:db8:2:1::1")).status).toBe(200);
  });

  poor(
    "has a part for those who are known, and at a full hour a stranger is served again",
    async ({ app }) => {
      const { userId } = await browserOf(app, "alice").mutation(api.accounts.profile.signIn, {});
      let refused = await exhaust(app, "10.0.1.1");
      for (const ip of ["10.0.2.1", "10.0.3.1"]) refused = await exhaust(app, ip);
      expect(refused.body.error).toMatch(STRANGERS);
      expect((await ask(app, "How is ETH?", "10.0.4.1")).body.error).toMatch(STRANGERS);
      const known = { question: "How is ETH?" };
      expect((await app.post("/mcp/chat", known, { ip: "10.0.4.1", as: "alice" })).status).toBe(200);
      const named = await app.post("/mcp/chat", { ...known, userId }, { ip: "10.0.5.1" });
      expect(named.status).toBe(200);
      const seconds = Number(refused.headers.get("retry-after"));
      // The last answers may have gone past one hour's part.
      expect(seconds).toBeLessThanOrEqual((2 * HOUR) / SECOND);
      await app.pass(seconds * SECOND, { cronsRun: false });
      expect((await ask(app, "How is ETH?", "10.0.4.1")).status).toBe(200);
    },
  );

  poor("callers have three fifths together, and running shifts go on", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "alice" }, { ip: "10.0.9.1" });
    for (let index = 1; index < 4; index++) await exhaust(app, `10.0.${index}.1`);
    let said: unknown;
    for (let n = 0; n < 60 && said === undefined; n++) {
      const init = { ip: `10.1.${n}.1`, as: `user-${n}` };
      said = (await app.post("/mcp/chat", { question: "How is ETH?" }, init)).body.error;
    }
    expect(said).toMatch(/^Today's budget for callers' requests is used up/);
    await app.pass(HOUR);
    const { body } = await app.get("/mcp/research/status?userId=alice");
    expect(body.activeJob).toMatchObject({ collectionsCount: 3 });
  });

  poor("is asked by the runs of the web application: nothing is recorded or taken", async ({ app }) => {
    const alice = browserOf(app, "alice");
    const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
    await app.t.run((ctx) =>
      creditDeposit(ctx, { userId, amount: 1_000, key: "level 10", source: "arcade" }),
    );
    let runs = 0;
    const start = () => alice.mutation(api.chat.runs.start, { question: "How is ETH?" });
    for (let refused = false; !refused && runs < 60;) {
      const one = await start().catch((error: unknown) => getErrorData(error));
      if (typeof one === "string") runs++;
      else {
        expect(one).toMatchObject({ code: "rate_limited", message: expect.stringMatching(MINE) });
        refused = true;
      }
      await app.settle(40);
    }
    expect(runs).toBeGreaterThan(1);
    expect(await app.rows("agentRuns")).toHaveLength(runs);
  });
});

test("new wallets are counted by network: addresses of one /48 share a limit", async ({ app }) => {
  const create = (n: number, ip: string) => app.post("/mcp/wallet/create", { userId: `user-${n}` }, { ip });
  for (let n = 0; n < 60; n++) expect((await create(n, `2001:db8:1:${n}::1`)).status).toBe(200);
  const refused = await create(60, "2001:db8:1:99::1");
  expect([refused.status, refused.body.error]).toEqual([
    429,
    expect.stringMatching(
      /^Rate limit reached: 60 new wallets in 60 minutes from your network\. Try again in/,
    ),
  ]);
  expect((await create(61, "2001:db8:2:1::1")).status).toBe(200);
});

describe("bookkeeping that fails changes no answer", () => {
  const broken = internalMutation(() => {
    throw new Error("The table is on fire");
  });
  const failing = test.extend({
    settings: {
      replaced: {
        "platform/limits/slots": () => Promise.resolve({ ...slots, takeSlot: broken, releaseSlot: broken }),
        "platform/outside/calls": () => Promise.resolve({ ...calls, record: broken }),
      },
    },
  });

  failing("when slots and calls cannot be written", async ({ app }) => {
    expect((await ask(app, "How is ETH?")).status).toBe(200);
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect((await app.post("/mcp/research", { token: "ETH" })).status).toBe(200);
    expect((await app.post("/mcp/wallet/create", { userId: "alice" })).status).toBe(200);
  });

  const leaving = test.extend({
    settings: {
      replaced: { "platform/limits/slots": () => Promise.resolve({ ...slots, releaseSlot: broken }) },
    },
  });

  leaving("when a slot cannot be given back", async ({ app }) => {
    expect((await ask(app, "How is ETH?")).status).toBe(200);
    expect((await app.post("/mcp/research", { token: "ETH" })).status).toBe(200);
  });
});
