import { beforeAll, expect } from "vitest";
import { pngOf } from "../../convex/pictures/png";
import { reportPicture } from "../../convex/pictures/report";
import { test as appTest, type App } from "../support/app";

const test = appTest.extend({ settings: { pictures: true } });

// The renderer is loaded in real time, during which simulated time would run ahead.
beforeAll(async () => void (await pngOf('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')));

const MINUTE = 60_000;
const SHIFT = 8 * 60 * MINUTE;

/** Runs shifts to their end. @returns For each its chat's cards from the final report on: how each came, and with what picture. */
async function finalReports(app: App, tokens: string[], midway = async () => {}) {
  for (const token of tokens) {
    await app.post("/mcp/research/start", {
      userId: "alice-6f1c0a9e2b",
      token,
      messengerChatId: chatOf(token),
    });
  }
  await app.pass(SHIFT / 2);
  await midway();
  await app.pass(SHIFT / 2 + 6 * MINUTE);
  return tokens.map((token) => {
    const cards = app.cards().filter(({ chatId }) => chatId === chatOf(token));
    return cards.slice(cards.findIndex(({ method, text }) => method === "sendPhoto" || /🏁/.test(text)));
  });
}

const chatOf = (token: string) => `77${token.charCodeAt(0)}`;

/** What is drawn of the paths that a report has, in bytes. */
async function bytesOf(app: App, token: string): Promise<number> {
  const [report] = (await app.rows("reports")).filter(
    ({ kind, jobToken }) => kind === "final" && jobToken === token,
  );
  if (report?.paths === undefined) throw new Error("There is a final report with paths");
  const at = (ms: number) => new Date(ms).toISOString();
  expect(report.paths.map((path) => [path.token, path.points.length])).toEqual([
    [token, 17],
    ["BTC", 17],
  ]);
  const tokens = report.paths.map(({ token: name, source, points }) => {
    return { name, path: points.map(({ at: ms, usd }) => ({ at: at(ms), priceUsd: usd, source })) };
  });
  const drawn = { subject: token, generatedAt: at(report.generatedAt), tokens };
  return (await pngOf(reportPicture(drawn, "some.convex.site"))).byteLength;
}

test("a token that an exchange or CoinGecko alone prices is drawn against BTC from what its shift collected", async ({
  app,
}) => {
  const told = ["SOL", "XMR"];
  const reports = await finalReports(app, told);
  for (const [index, token] of told.entries()) {
    const [picture, words] = reports[index] ?? [];
    expect([token, picture?.method]).toEqual([token, "sendPhoto"]);
    const bytes = await bytesOf(app, token);
    expect(picture?.photo).toEqual({ width: 1_000, height: 500, bytes });
    expect([words?.method, words?.text]).toEqual([
      "sendMessage",
      expect.stringContaining(`🏁 Final report · ${token}`),
    ]);
  }
});

test("a token has its words alone where fewer than three collections saw its price", async ({ app }) => {
  const SOURCES = ["coinbase", "coingecko"] as const;
  const fail = () => SOURCES.forEach((source) => app.standins.fail(source, { mode: "status", status: 500 }));
  fail();
  const [[words, ...others] = []] = await finalReports(app, ["SOL"], async () => {
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
