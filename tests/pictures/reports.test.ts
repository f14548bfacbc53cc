import { afterEach, expect, test } from "vitest";
import { pngOf } from "../../convex/pictures/png";
import { reportPicture } from "../../convex/pictures/report";
import { closeApp, createApp, type App } from "../support/app";

afterEach(closeApp);

const MINUTE = 60_000;
const SHIFT = 8 * 60 * MINUTE;

/** Runs a shift to its end. @returns The cards with the final report: how each came, and with what picture. */
async function finalReport(app: App, token: string, midway = async () => {}) {
  await app.post("/mcp/research/start", { userId: "alice-6f1c0a9e2b", token, messengerChatId: "77" });
  await app.pass(SHIFT / 2);
  await midway();
  await app.pass(SHIFT / 2 + 6 * MINUTE);
  const cards = app.cards();
  return cards.slice(cards.findIndex(({ method, text }) => method === "sendPhoto" || /🏁/.test(text)));
}

/** What is drawn of these prices and of BTC's samples, in bytes. */
async function bytesOf(app: App, token: string, collector: string, kind: string): Promise<number> {
  const [report] = (await app.rows("reports")).filter(({ type }) => type === "final");
  if (report === undefined) throw new Error("There is a final report");
  const { jobStartedAt, generatedAt } = report;
  const at = (ms: number) => new Date(ms).toISOString();
  const seen = (await app.rows("facts"))
    .filter(({ key }) => key === collector)
    .flatMap(({ facts }) => facts.filter((fact) => fact.kind === kind && fact.subject === token))
    .map(({ observedAt, value, source }) => ({ at: at(observedAt), priceUsd: Number(value), source }));
  const sampled = (await app.rows("priceSamples"))
    .filter((one) => one.token === "BTC" && one.takenAt >= jobStartedAt && one.takenAt <= generatedAt)
    .map(({ takenAt, priceUsd, source }) => ({ at: at(takenAt), priceUsd, source }));
  expect(seen.length).toBe(17);
  const tokens = [
    { name: token, path: seen },
    { name: "BTC", path: sampled },
  ];
  const drawn = reportPicture({ subject: token, generatedAt: at(generatedAt), tokens }, "some.convex.site");
  return (await pngOf(drawn)).byteLength;
}

test.each([
  ["an exchange", "SOL", "day:SOL", "lastTrade"],
  ["CoinGecko alone", "XMR", "markets:", "price"],
])("a token that %s prices is drawn against BTC from what its shift collected", async (_, ...told) => {
  const app = createApp({ pictures: true });
  const [token, collector, kind] = told;
  const [picture, words] = await finalReport(app, token);
  expect(picture?.method).toBe("sendPhoto");
  const bytes = await bytesOf(app, token, collector, kind);
  expect(picture?.photo).toEqual({ width: 1_000, height: 500, bytes });
  expect([words?.method, words?.text]).toEqual([
    "sendMessage",
    expect.stringContaining(`🏁 Final report · ${token}`),
  ]);
});

test("a token has its words alone where fewer than three collections saw its price", async () => {
  const app = createApp({ pictures: true });
  const SOURCES = ["coinbase", "binance", "coingecko"] as const;
  const fail = () => SOURCES.forEach((source) => app.standins.fail(source, { mode: "status", status: 500 }));
  fail();
  const [words, ...others] = await finalReport(app, "SOL", async () => {
    SOURCES.forEach(app.standins.clear);
    await app.pass(55 * MINUTE);
    fail();
  });
  expect((await app.rows("facts")).filter(({ key }) => key === "day:SOL")).toHaveLength(2);
  expect([words?.method, words?.text]).toEqual([
    "sendMessage",
    expect.stringContaining("🏁 Final report · SOL"),
  ]);
  expect(others.map(({ photo }) => photo)).toEqual(others.map(() => undefined));
});
