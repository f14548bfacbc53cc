import { describe, expect } from "vitest";
import * as z from "zod";
import { decodeFacts } from "../../convex/market/facts";
import { type App, test } from "../support/app";

/** `/mcp/token`: what a model says of a token is held against the sources of prices. */

const requestShape = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
const asked = (app: App) => app.standins.sent("llm").map(({ body }) => requestShape.parse(body).messages);

const figures = (symbol: string, price: number) => ({
  symbol,
  name: symbol,
  price,
  change24h: 1,
  marketCap: null,
  volume24h: null,
});
const says = (token: unknown, answer: string) => JSON.stringify({ token, answer });

describe("a token's price", () => {
  test("is the source's, with its name and time; the model is told the live prices", async ({ app }) => {
    const { body } = await app.get("/mcp/token?question=BTC");
    expect(body).toMatchObject({ token: { symbol: "BTC" }, priceSource: "coinbase" });
    const [board] = (await app.rows("facts")).filter(({ key }) => key === "quotes:");
    const quote =
      board && decodeFacts(board).find(({ subject, kind }) => subject === "BTC" && kind === "price");
    expect(body.token).toMatchObject({ price: quote?.value });
    expect(body.fetchedAt).toBe(new Date(quote?.observedAt ?? 0).toISOString());
    expect(asked(app)[0]?.at(-1)?.content).toMatch(
      /Live prices.*BTC [\d.]+ USD \([+-][\d.]+ % over 24 hours, rank 1, market capitalisation \d+/,
    );
    const large = await app.post("/mcp/token", { question: "How large is BTC?" });
    expect(large.body.answer).toMatch(/^Bitcoin \(BTC\) trades at \$[\d,.]+, [^[]*$/);
    expect(asked(app)).toHaveLength(2);
  });

  test("that is invented is sent back, and replaced when the model insists", async ({ app }) => {
    const content = says(figures("BTC", 42_000), "Bitcoin is at 42,000 USD.");
    app.standins.fail("llm", { mode: "reply", content, times: 1 });
    const mended = await app.get("/mcp/token?question=BTC");
    expect(asked(app)[1]?.at(-1)?.content).toContain("“42,000 USD” cites no fact");
    expect(mended.body.answer).not.toContain("42,000");

    app.standins.fail("llm", { mode: "reply", content, times: 2 });
    const { body } = await app.get("/mcp/token?question=How%20is%20BTC");
    expect(JSON.stringify(body)).not.toMatch(/42,?000/);
    expect(body).toMatchObject({ priceSource: "coinbase", answer: expect.stringContaining("by coinbase") });
  });

  test("is the first one's where a question names several; the answer covers the others", async ({ app }) => {
    const { body } = await app.post("/mcp/token", { question: "ETH, SOL, and ARB" });
    expect(body).toMatchObject({
      token: { symbol: "ETH" },
      answer: expect.stringMatching(/\(ETH\) trades at.*\(SOL\) trades at.*\(ARB\) trades at/),
    });
    expect(asked(app)[0]?.[0]?.content).toContain("If it names several tokens");
  });

  test("is the one that the question names, whatever the model says", async ({ app }) => {
    const content = says(figures("BTC", app.standins.market.coin("BTC").price), "Bitcoin is the largest.");
    app.standins.fail("llm", { mode: "reply", content });
    for (const [question, symbol] of Object.entries({
      ETH: "ETH",
      "Is Solana better than BTC?": "SOL",
      "Was macht Bitcoin Cash?": "BCH",
      $doge: "DOGE",
    })) {
      app.standins.forget();
      const { body } = await app.post("/mcp/token", { question });
      expect(asked(app)[1]?.at(-1)?.content).toContain(`the question names ${symbol}`);
      const { name, price } = app.standins.market.coin(symbol);
      expect(body).toMatchObject({ token: { symbol, name, price: expect.closeTo(price, 1) } });
      expect(body.answer).toContain(`(${symbol}) trades at`);
      expect(body.answer).not.toContain("Bitcoin is");
    }
    const { body } = await app.get("/mcp/token?question=QQQX");
    const answer = expect.stringMatching(
      /^No source that answered knows the token QQQX: .*\. No source has the figures/,
    );
    expect(body).toMatchObject({ token: null, priceSource: null, answer });
  });

  test("that is on no exchange asked is the list's, with its capitalisation", async ({ app }) => {
    const content = says(figures("DOGE", 40), "Dogecoin is at 40 USD.");
    app.standins.fail("llm", { mode: "reply", content });
    const { body } = await app.get("/mcp/token?question=DOGE");
    const { price, marketCap } = app.standins.market.coin("DOGE");
    expect(body.token).toMatchObject({
      name: "Dogecoin",
      price: expect.closeTo(price, 3),
      marketCap: expect.closeTo(marketCap, -9),
      source: "coingecko",
      sizeSource: "coingecko",
    });
    expect(body.answer).not.toContain("40 USD");
  });

  test("that no list knows is the exchange's last trade, else marked as the model's", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const traded = await app.get("/mcp/token?question=DOGE");
    expect(traded.body.token).toMatchObject({ symbol: "DOGE", source: "coinbase", marketCap: null });
    app.standins.fail("coinbase", { mode: "status", status: 503 });
    const said = await app.get("/mcp/token?question=LINK");
    expect(said.body).toMatchObject({
      token: { symbol: "LINK", source: "model", sizeSource: "model" },
      priceSource: "model",
    });
    const none = await app.get("/mcp/token?question=ZZZZ%3F");
    expect(none.body).toMatchObject({ token: null, priceSource: null });
  });
});

describe("an answer's figures", () => {
  const ask = async (app: App, answer: string, times: number, question = "How is BTC?") => {
    const content = says(figures("BTC", app.standins.market.coin("BTC").price), answer);
    app.standins.fail("llm", { mode: "reply", content, times });
    return (await app.post("/mcp/token", { question })).body.answer;
  };

  test("that no source says are sent back once, and then lose their sentence alone", async ({ app }) => {
    const { price } = app.standins.market.coin("BTC");
    const { price: ether } = app.standins.market.coin("ETH");
    const told = `Bitcoin trades near $${Math.round(price / 1_000)}k.`;
    const invented = [
      "It has gained 77 % this week.",
      `Bitcoin costs $${Math.round(ether).toLocaleString("en-US")}.`,
    ];
    const answer = await ask(app, [told, ...invented, "Volume decides what follows."].join(" "), 2);
    expect(answer).toMatch(/^Bitcoin trades near \$1\d\d,\d{3}(?:\.\d\d)?\. Volume decides what follows\.$/);
    expect(asked(app)).toHaveLength(2);
    expect(asked(app)[1]?.at(-1)?.content).toContain("“77 %” cites no fact");
    // Where all are invented, a sentence of the sources' own is left.
    expect(await ask(app, "Bitcoin has gained 77 % this week.", 2, "And BTC now?")).toMatch(
      /^\S+ \(BTC\) trades at \$[\d.,]+ by coinbase, [+−][\d.]+\u202F% over 24 hours\.$/,
    );
  });
});
