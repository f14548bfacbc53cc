import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { formatBigUsd } from "../../convex/lib/text/numbers";
import { agentSays, alert, watchNow } from "../whales/support";
import { test, type App } from "../support/app";
import { HOSTILE, HOUR, MINUTE, openPage, samplePrices, says, soundWords } from "./support";
import { insertAlerts } from "../support/rows/signalRows";

/** Research, whales and the status. */

const movement = z.object({
  token: z.string(),
  amount: z.number(),
  direction: z.string(),
  description: z.string(),
});
const HASH = `0x${"ab".repeat(32)}`;
const whales = z.object({ alerts: z.array(movement) });

/** A shift's report on a token, with sources at these addresses. */
async function reportOn(
  app: App,
  jobToken: string,
  shortSummary: string,
  urls: readonly (string | null)[] = [],
): Promise<void> {
  const now = Date.now();
  await app.t.run(async ({ db }) => {
    const jobId = await db.insert("shifts", {
      userId: "alice",
      token: jobToken,
      startedAt: now,
      stopsAt: now,
      status: "completed",
      nextCollectionAt: now,
      observationIds: [],
      paidBy: { class: "anonymous", holders: [] },
    });
    const sources = urls.map((url, i) => {
      return { id: i + 1, name: `Source ${i + 1}`, url, observedAt: now, says: `It says ${i + 1}.` };
    });
    await db.insert("reports", {
      jobId,
      userId: "alice",
      kind: "final",
      state: "done",
      generatedAt: now,
      jobToken,
      jobStartedAt: now,
      messengerSent: true,
      result: {
        fullAnalysis: `First ${HOSTILE}\n\nSecond part.`,
        shortSummary,
        marketOutlook: "bearish",
        impacts: [{ title: HOSTILE, detail: "A detail.", sentiment: "bullish", confidence: 0.65 }],
        sources,
        missing: [],
      },
    });
  });
}

describe("research", () => {
  test("says how to have some written where there is none, writes none itself, and sells where a wallet takes the payment", async ({
    app,
  }) => {
    for (const [path, subject] of [
      ["/research", "the whole market"],
      ["/research?token=doge", "DOGE"],
    ] as const)
      says(
        soundWords(await openPage(app, path)),
        ...[
          `Research on ${subject}`,
          `Nothing has been written on ${subject} yet`,
          "free in the chat by /research",
        ],
      );
    says(soundWords(await openPage(app, "/research?token=%3Cb%3E")), "Nothing has been written on <B> yet");
    await app.settle();
    expect(app.standins.sent("llm")).toEqual([]);
    const paths = ["/", "/research"];
    for (const path of paths) expect((await openPage(app, path)).text).not.toContain("#buy");
    vi.stubEnv("PLATFORM_WALLET_ADDRESS", `0x${"1".repeat(40)}`);
    for (const path of paths) expect((await openPage(app, path)).text).toContain('href="/start#buy"');
  });

  test("shows the report and the measured prices that the JSON tells, what others wrote as text, and links over TLS alone", async ({
    app,
  }) => {
    await samplePrices(app, [100, 101, 102, 103, 104, 105]);
    const urls = [
      "https://www.coingecko.com/en/coins/bitcoin",
      'https://news.example/a?b=c&d="><script>alert(1)</script>',
      "http://plain.example/",
      "javascript:alert(1)",
      "https://bank.example@evil.example/",
      "not an address",
      null,
    ];
    await reportOn(app, "BTC", "🔴 Falling <b>fast</b>", urls);
    await app.advance(3 * HOUR);
    const answer = await openPage(app, "/research?token=btc");
    const words = soundWords(answer);
    says(words, "Final report of a shift", "▼ bearish Falling <b>fast</b>", "3 hours ago");
    says(words, `First ${HOSTILE} Second part.`, `${HOSTILE} ▲ bullish confidence 65 %`, "A detail.");
    says(words, "Measured", "$105.00", "Chainlink", "3 hours ago");
    says(words, "outlook, causes and forecasts are its view");
    expect(words.indexOf("Measured")).toBeLessThan(words.indexOf("A language model wrote this"));
    for (const i of urls.keys()) says(words, `It says ${i + 1}. `, `Source ${i + 1}`);
    const links = answer.text.matchAll(/<a href="(https:[^"]*)" rel="noopener nofollow">([^<@]*)<\/a>/g);
    expect(Array.from(links, ([, href, name]) => [name, href])).toEqual([
      ["Source 1", "https://www.coingecko.com/en/coins/bitcoin"],
      ["Source 2", "https://news.example/a?b=c&amp;d=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"],
    ]);
  });

  test("shows the last on-demand result however old, the newer writing first, and never what is its user's own", async ({
    app,
  }) => {
    await app.post("/mcp/research", { token: "ETH" });
    const calls = app.standins.sent("llm").length;
    await app.advance(5 * HOUR);
    await reportOn(app, "ETH", "🔴 Falling");
    await reportOn(app, "", "🔴 A secret");
    const words = soundWords(await openPage(app, "/research?token=ETH"));
    says(words, "On-demand result", "5 hours ago", "Its view of what moves", " sources ");
    // A citation is a small number without its brackets.
    expect(words).not.toMatch(/\[\d/);
    expect(words.indexOf("Final report")).toBeLessThan(words.indexOf("On-demand result"));
    expect(soundWords(await openPage(app, "/research"))).not.toContain("A secret");
    await app.settle();
    expect(app.standins.sent("llm")).toHaveLength(calls);
  });
});

test("a coin's page tells its price, what was measured of it and where, what was written, signalled and moved; nothing for a coin that is not known", async ({
  app,
}) => {
  expect((await openPage(app, "/coins/DOGE")).status).toBe(404);
  says(soundWords(await openPage(app, "/coins/btc")), "Bitcoin (BTC)", "The first price comes within");
  await samplePrices(app, [100, 101, 102]);
  await app.post("/mcp/research", { token: "SOL" });
  await insertAlerts(app, [
    {
      token: "SOL",
      alertType: "cex_inflow" as const,
      amount: 5e6,
      description: "Moved",
      detectedAt: Date.now(),
    },
  ]);
  const calls = app.standins.sent("llm").length;
  const page = await openPage(app, "/coins/solana");
  const words = soundWords(page);
  says(words, "Solana (SOL)", "SOL: $5.00M", "A model's view", "Market capitalisation $", "CoinGecko");
  says(words, "Perpetual funding rate per hour", "Hyperliquid", "Buy orders within 1 % of the price");
  // One price and one change: the sources' others would contradict the card.
  expect(words.match(/change over 24 hours|last trade/gi)).toBeNull();
  const site = "https://some.convex.site";
  expect(page.text).toContain(`<link rel="canonical" href="${site}/coins/SOL"/>`);
  expect(page.text).toContain(`<meta property="og:image" content="${site}/pictures/coin-SOL"/>`);
  expect(page.text).toContain('_bot?start=price_SOL"');
  expect((await app.get("/sitemap.xml")).text).toContain(`<loc>${site}/coins/SOL</loc>`);
  says(soundWords(await openPage(app, "/coins/BTC")), "$102.00", "Chainlink");
  await app.settle();
  expect(app.standins.sent("llm")).toHaveLength(calls);
});

test("whales are those that the JSON tells, strangers' words as text; the page stays small however many there are", async ({
  app,
}) => {
  const none = "Nothing like it was seen yet";
  says(soundWords(await openPage(app, "/whales")), none);
  const told = [
    alert({ token: "PEPE", amount: 7_300_000, description: HOSTILE }),
    alert({ token: "ETH", alertType: "cex_outflow", amount: 45_000_000, direction: "bullish", txHash: HASH }),
  ];
  agentSays(app, told);
  await watchNow(app);
  const words = soundWords(await openPage(app, "/whales"));
  const { alerts } = whales.parse((await app.get("/mcp/whale-alerts?hours=6")).body);
  expect(alerts).toHaveLength(2);
  for (const { token, amount, direction, description } of alerts)
    says(words, `${token}: ${formatBigUsd(amount)}`, direction, description);
  says(words, "Over 24 hours: −$37.7M");
  says(
    (await app.get("/whales/feed.xml")).text,
    "<title>ETH: $45.0M left exchanges</title>",
    "&lt;script&gt;",
  );
  const own = await openPage(app, "/whales?token=eth&kind=cex_outflow");
  says(soundWords(own), "ETH: $45.0M");
  expect(own.text).not.toContain("PEPE: ");
  expect(own.text).toContain(`https://blockscan.com/tx/${HASH}" rel="noopener nofollow">transaction`);
  says(soundWords(await openPage(app, "/whales?token=PEPE&kind=cex_outflow")), none);
  await app.advance(7 * 24 * HOUR + MINUTE);
  const many = Array.from({ length: 300 }, (_, i) => {
    const found = { token: `T${i}`, alertType: "smart_money" as const, amount: 1e6 + i * 1e5 };
    return { ...found, description: `${HOSTILE} `.repeat(8), detectedAt: Date.now() - i * MINUTE };
  });
  await insertAlerts(app, many);
  const long = soundWords(await openPage(app, "/whales"));
  says(long, "T0: $1.00M", "T29: ");
  expect(long).not.toContain("T30: ");
  // The older pages have each of them once, and the filters go with them.
  const seen: string[] = [];
  for (let path: string | undefined = "/whales?kind=smart_money"; path !== undefined;) {
    const { text } = await openPage(app, path);
    seen.push(...Array.from(text.matchAll(/<strong>(T\d+): /g), ([, token = ""]) => token));
    path = /<a href="(\/whales[^"]*)">Older/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen).toEqual(many.map(({ token }) => token));
});

test("the status says what works now, and within two failed calls what does not", async ({ app }) => {
  says(soundWords(await openPage(app, "/status")), "Everything works");
  app.standins.fail("llm", { mode: "status", status: 500 });
  for (const question of ["How is Bitcoin?", "And Ether?"]) await app.post("/mcp/chat", { question });
  const words = soundWords(await openPage(app, "/status"));
  says(
    words,
    "Not everything works",
    "Questions and research has trouble since",
    "Paid reports not set up here",
  );
  expect(words).not.toMatch(/LLM_GATEWAY|cron|budget/);
  app.standins.clear("llm");
  await app.advance(20 * MINUTE);
  await app.post("/mcp/chat", { question: "And now?" });
  says(
    soundWords(await openPage(app, "/status")),
    "Everything works",
    "5 Jan 2026, 09:00 to 5 Jan 2026, 09:20",
  );
});
