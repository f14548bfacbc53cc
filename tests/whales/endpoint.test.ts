import { describe, expect } from "vitest";
import { getSpanText } from "../../convex/messenger/format";
import { buildAlertCard } from "../../convex/whales/cards";
import { START, type App, test, createApp } from "../support/app";
import { agentSays, alert, hash, HOUR, watchHour, watchNow } from "./support";
import { insertAlerts } from "../support/rows/signalRows";

/** Stores alerts of these ages in hours, oldest first. */
async function storeAlerts(app: App, ages: readonly number[]): Promise<void> {
  await insertAlerts(
    app,
    ages.map((age) => ({ description: `${age} h old`, detectedAt: START - age * HOUR })),
  );
}

const described = (body: Record<string, unknown>) =>
  Array.isArray(body.alerts) ? body.alerts.map((one: { description: string }) => one.description) : [];

describe("/mcp/whale-alerts", () => {
  test("shows the last six hours or as many as it is asked for, newest first, by GET and POST alike", async ({
    app,
  }) => {
    await storeAlerts(app, [7, 5, 1]);
    const got = await app.get("/mcp/whale-alerts");
    expect([got.status, got.body]).toMatchObject([200, { hours: 6, count: 2 }]);
    expect(described(got.body)).toEqual(["1 h old", "5 h old"]);
    expect(got.body).not.toHaveProperty("messengerSent");
    expect((await app.post("/mcp/whale-alerts", {})).body).toEqual(got.body);
    expect((await app.post("/mcp/whale-alerts")).body).toEqual(got.body);
    for (const [query, hours, count] of [
      ["?hours=168", 168, 3],
      ["?hours=", 6, 2],
      ["?hours=1.5", 1.5, 1],
    ] as const)
      expect((await app.get(`/mcp/whale-alerts${query}`)).body).toMatchObject({ hours, count });
  });

  test("shows every field of an alert, and nothing of how it is kept", async ({ app }) => {
    const occurredAt = new Date(START - HOUR).toISOString();
    agentSays(app, [alert({ txHash: hash("1"), chain: "Ethereum", occurredAt })]);
    await watchNow(app);
    const { body } = await app.get("/mcp/whale-alerts?hours=1");
    expect(body).toMatchObject({ hours: 1, count: 1 });
    expect(body.alerts).toEqual([
      {
        ...alert({ txHash: hash("1"), chain: "ethereum", occurredAt: START - HOUR }),
        source: "agent-reported",
        detectedAt: expect.any(Number),
        messengerSent: true,
        verified: false,
      },
    ]);
  });

  test("without the gateway's key says so while no alert is stored, and then shows what is", async () => {
    const app = createApp({ env: { LLM_GATEWAY_API_KEY: "" } });
    const missing = [500, { error: "LLM_GATEWAY_API_KEY is not configured" }];
    const asked = async () => {
      const [got, posted] = [await app.get("/mcp/whale-alerts"), await app.post("/mcp/whale-alerts")];
      expect([posted.status, posted.body]).toEqual([got.status, got.body]);
      return [got.status, got.body];
    };
    expect(await asked()).toEqual(missing);
    const card = await app.get("/mcp/whale-alerts?userId=whale-watcher");
    expect([card.status, card.body]).toEqual(missing);
    await storeAlerts(app, [7]);
    expect(await asked()).toEqual([200, { hours: 6, count: 0, alerts: [] }]);
    expect((await app.get("/mcp/whale-alerts?hours=8")).body.count).toBe(1);
  });

  test("lists at most 500, the newest", async ({ app }) => {
    await storeAlerts(
      app,
      Array.from({ length: 510 }, (_, i) => 5 - i / 200),
    );
    const { body } = await app.get("/mcp/whale-alerts");
    expect(body.count).toBe(500);
    expect(described(body)[0]).toBe(`${5 - 509 / 200} h old`);
  });

  test("with a user sends them the card, and says whether it arrived", async ({ app }) => {
    await storeAlerts(app, [1]);
    await app.post("/user/messenger", { userId: "whale-watcher", messengerChatId: "777" });
    const { body } = await app.post("/mcp/whale-alerts", { userId: "whale-watcher", hours: 2 });
    expect(body).toMatchObject({ count: 1, messengerSent: true });
    expect(app.cards()).toHaveLength(1);
    expect(app.cards()[0]).toMatchObject({ chatId: "777" });
    expect(app.cards()[0]?.text).toContain("Last 2 hours");
    // It is the hourly card that an alert's own mark is about.
    expect(await app.rows("whaleAlerts")).toMatchObject([{ messengerSent: false }]);
  });
});

describe("the card", () => {
  test("has a header, the window and a block for each of the four types", async ({ app }) => {
    agentSays(app, [
      alert({ description: "Deposited <fast> & whole.", txHash: `0x12345678${"a".repeat(52)}cdef` }),
      alert({ token: "BTC", amount: 1_250_000_000, direction: "bearish" }),
      alert({ token: "SOL", alertType: "smart_money", amount: 1_499_800, direction: "bullish" }),
      alert({ token: "USDC", alertType: "large_transfer", amount: 25_000_000, direction: "neutral" }),
    ]);
    await watchHour(app);
    expect(app.cards()[0]?.text.replace(/ · \d+ \w+ \d{4}, [\d:]+ UTC/, " · now")).toBe(
      [
        "<b>🐋 Whale alerts</b>\nLast hour · now",
        `<b>📥 Exchange inflow</b>\n🔴 <b>BTC: $1.25B went to exchanges</b> · A large deposit. · agent-reported\n🔴 <b>ETH: $4.20M went to exchanges</b> · Deposited &lt;fast&gt; &amp; whole. · <a href="https://blockscan.com/tx/0x12345678${"a".repeat(52)}cdef">tx 0x123456…cdef</a> · agent-reported`,
        "<b>🔗 Large on-chain move</b>\n🟡 <b>USDC: $25.0M moved</b> · A large deposit. · agent-reported",
        "<b>🧠 Smart money</b>\n🟢 <b>SOL: $1.50M moved by smart money</b> · A large deposit. · agent-reported",
      ].join("\n\n"),
    );
  });

  test("shows the thirty largest of all kinds together, largest first, and counts the rest", () => {
    const small = {
      token: "SMALL",
      alertType: "smart_money" as const,
      amount: 1,
      direction: "neutral" as const,
      description: "Bought.",
      source: "agent-reported" as const,
      verified: false,
    };
    const alerts = Array.from({ length: 45 }, (_, i) => ({
      ...small,
      token: `T${i}`,
      alertType: i % 2 === 0 ? ("cex_outflow" as const) : ("cex_inflow" as const),
      amount: 1_000_000 * (i + 1),
    }));
    const card = buildAlertCard({ hours: 1, at: START, alerts: [...alerts, small] });
    const text = card.flatMap((paragraph) => paragraph.map(getSpanText)).join("");
    const shown = [...text.matchAll(/T\d+: \$([\d.]+)M/g)].map(([, millions]) => Number(millions));
    expect(shown).toHaveLength(30);
    expect(Math.min(...shown)).toBe(16);
    expect(shown.slice(0, 15)).toEqual(shown.slice(0, 15).toSorted((a, b) => b - a));
    expect(text).not.toContain("Smart money");
    expect(text).toMatch(/… and 16 more$/);
  });
});
