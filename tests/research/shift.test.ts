import { afterEach, describe, expect, test } from "vitest";
import { closeApp, createApp } from "../support/app";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

afterEach(closeApp);

describe("a research shift", () => {
  test("walks its 8 hours", async () => {
    const app = createApp();
    const started = await app.post("/mcp/research/start", { userId: "alice-secret-id", token: "btc", telegramChatId: 77 });
    console.info(started.status, started.body);
    await app.pass(8 * HOUR + 10 * MINUTE);
    const out = {
      shifts: await app.rows("shifts"),
      points: (await app.rows("dataPoints")).length,
      obs: (await app.rows("observations")).map((o) => [o.state, o.sources.market.state, o.sources.sentiment.state, o.sources.onchain.state, JSON.stringify(o.sources).slice(0,200)]),
      reports: (await app.rows("reports")).map((r) => [r.type, r.messengerSent, r.messengerError, r.result.shortSummary]),
      messages: (await app.rows("messages")).map((m) => [m.kind, m.state, m.error, m.parts.length]),
      syn: (await app.rows("syntheses")).map((m) => [m.kind, m.state, m.error, m.attempt]),
      llm: app.standins.sent("llm").length,
    };
    const { stdout } = await import("node:process").catch(() => ({ stdout: null }));
    void stdout;
    throw new Error(JSON.stringify(out, null, 1) + "\n" + app.cards().map((c) => "text" in c ? c.text : "").join("\n=======\n"));
  });
});
