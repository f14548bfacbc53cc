import "./meta";
import { describe, expect, vi } from "vitest";
import type { AnyDataModel, GenericMutationCtx } from "convex/server";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { addWebhook, receiver } from "../messenger/receivers";
import { DAY, HOUR, MINUTE, priced, setAlert, tick } from "../alerts/support";
import { createApp, START, type App, test } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { browserOf } from "../web/support";

/** What stays for good costs a stranger something: wallets by the hundred from addresses by the hundred do not. */

/** Makes so many wallets, each for another user. @returns How many were made, and the last answer's status. */
async function make(app: App, count: number, ipOf: (n: number) => string) {
  let status = 0;
  for (let n = 0; n < count; n++) {
    const userId = `one-of-very-many-strangers-${n}-${ipOf(n)}`;
    ({ status } = await app.post("/mcp/wallet/create", { userId }, { ip: ipOf(n) }));
  }
  return { made: (await app.rows("wallets")).length, status };
}

describe("wallets, which are kept for good,", () => {
  test("are 30 an hour for one address", async ({ task }) => {
    const app = createApp();
    expect(await make(app, 40, () => "198.51.100.1")).toEqual({ made: 30, status: 429 });
    await app.advance(HOUR);
    expect((await app.post("/mcp/wallet/create", { userId: "one-more-of-that-office" })).status).toBe(200);
    task.meta.tries = 40;
  });

  test("are 300 an hour for all strangers, and no signed-in user waits for them", async ({ task }) => {
    const app = createApp();
    const rotating = (n: number) => `198.51.${n % 200}.${Math.floor(n / 200) + 1}`;
    expect(await make(app, 320, rotating)).toEqual({ made: 300, status: 429 });
    const refused = await app.post("/mcp/defi/connect", { userId: "a-stranger-who-came-last" });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    await app.advance(20_000);
    expect((await app.get("/health")).body.reasons).toEqual([
      "100 % of the new wallets of an hour for callers who are not signed in is used up",
    ]);
    const own = await app.post("/mcp/defi/connect", { userId: "a-user-who-is-signed-in" }, { as: "alice" });
    expect(own.status).toBe(200);
    task.meta.tries = 321;
  });
});

/** Rows that the rate limiter's component keeps. */
async function countedBy({ host }: App): Promise<number> {
  const context = z.custom<GenericMutationCtx<AnyDataModel>>();
  const rows = (ctx: object) => context.parse(ctx).db.query("rateLimits").collect();
  return (await host.inline(rows, "rateLimiter")).length;
}

async function after(app: App, days: number): Promise<void> {
  vi.setSystemTime(START + days * DAY);
  await keepHouse(app);
}

describe("what strangers have stored", () => {
  test("ends 30 days after its last use: webhooks and messenger settings; a signed-in user's stays", async ({
    app,
  }) => {
    const { userId } = await browserOf(app, "owner").mutation(api.users.profile.signIn, {});
    const chat = { messengerChatId: "777" };
    await app.post("/user/messenger", { ...chat, userId }, { as: "owner" });
    await app.post("/webhooks", { userId, url: "https://hooks.example.com/mine" }, { as: "owner" });
    await app.post("/user/messenger", { ...chat, userId: "never-came-back" });
    await addWebhook(app, "https://hooks.example.com/unused", "never-came-back");
    await app.post("/user/messenger", { ...chat, userId: "alice" });
    await addWebhook(app);
    const kept = async () => [
      (await app.rows("messengerConfigs")).map((row) => row.userId).toSorted(),
      (await app.rows("webhooks")).map((row) => row.userId).toSorted(),
    ];
    const everybody = ["alice", "never-came-back", userId].toSorted();
    await after(app, 29);
    expect(await kept()).toEqual([everybody, everybody]);
    // Used again: an alert is told to the chat, and posted.
    const posted = receiver(() => new Response());
    await setAlert(app, "BTC above 110");
    await priced(app, START + 29 * DAY + MINUTE, 100);
    await priced(app, START + 29 * DAY + 3 * MINUTE, 120);
    await tick(app);
    await tick(app);
    expect([posted.length, app.cards().length]).toEqual([1, 1]);
    await after(app, 31);
    expect(await kept()).toEqual([["alice", userId].toSorted(), ["alice", userId].toSorted()]);
    // The alert's end is told, and then it comes.
    for (const days of [53, 62]) {
      vi.setSystemTime(START + days * DAY);
      await tick(app);
    }
    await after(app, 90);
    await after(app, 91);
    expect(await kept()).toEqual([[userId], [userId]]);
  });

  test("of webhooks stays as long as an alert is active that is posted to them", async ({ app }) => {
    await addWebhook(app);
    vi.setSystemTime(START + 20 * DAY);
    await setAlert(app, "BTC above 100k");
    await after(app, 40);
    expect(await app.rows("webhooks")).toHaveLength(1);
  });

  test("in the limiter's counts goes within three nights", async ({ app }) => {
    for (let n = 0; n < 150; n++)
      await app.post(
        "/user/messenger",
        { userId: `somebody-${n}`, messengerChatId: "1" },
        { ip: `10.0.0.${n}` },
      );
    expect(await countedBy(app)).toBeGreaterThan(250);
    await after(app, 1);
    expect(await countedBy(app)).toBeGreaterThan(250);
    await after(app, 3);
    expect(await countedBy(app)).toBe(0);
  });
});
