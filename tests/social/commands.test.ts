import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCommand } from "../../convex/social/commands";
import { phrases } from "../support/phrases";

const AT = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

test.each([
  ["@bot buy 10 usdc of eth", "buy", "USDC", "ETH", "10", null],
  ["buy 10 dollars worth of WETH please 🙏🏽", "buy", "USDC", "WETH", "$10", null],
  ["gm @bot! buy me $1,000.50 ETH, thanks!", "buy", "USDC", "ETH", "$1000.5", null],
  ["buy 10 dai of eth", "buy", "DAI", "ETH", "10", null],
  ["buy 0.010 eth", "buy", "USDC", "ETH", "0.01 ETH", null],
  ["buy me 10 usdc eth 👍🏽🚀", "buy", "USDC", "ETH", "10", null],
  ["buy $5 in dai", "buy", "USDC", "DAI", "$5", null],
  ["buy .5 $eth with usdt", "buy", "USDT", "ETH", "0.5 ETH", null],
  ["buy $10 of BTC", "buy", "USDC", "CBBTC", "$10", null],
  ["buy ETH for 10 USDC", "buy", "USDC", "ETH", "10", null],
  ["purchase eth using $20 of dai", "buy", "DAI", "ETH", "$20", null],
  ["sell my 0.1 eth", "sell", "ETH", "USDC", "0.1", null],
  ["sell 20 usd of eth", "sell", "ETH", "USDC", "$20", null],
  ["Sell $20 ETH for DAI", "sell", "ETH", "DAI", "$20", null],
  ["swap 0.5eth to usdc", "swap", "ETH", "USDC", "0.5", null],
  ["convert 10 USDC into DAI", "swap", "USDC", "DAI", "10", null],
  ["swap 10$ of usdc for weth https://t.co/AbC123", "swap", "USDC", "WETH", "$10", null],
  ["exchange １０ usdc to eth", "swap", "USDC", "ETH", "10", null],
  [`send 5 usdc to ${AT}`, "send", "USDC", null, "5", AT],
  [`pay ${AT} $5 of usdc.`, "send", "USDC", null, "$5", AT],
  ["sell half my ETH", "sell", "ETH", "USDC", "50%", null],
  ["sell all of my eth for dai", "sell", "ETH", "DAI", "all", null],
  ["swap 10 % of my USDC to bitcoin", "swap", "USDC", "CBBTC", "10%", null],
  ["swap everything in dai to usdc", "swap", "DAI", "USDC", "all", null],
  ["buy ETH with 12.5% of my DAI", "buy", "DAI", "ETH", "12.5%", null],
  [`send all my USDC to ${AT}`, "send", "USDC", null, "all", AT],
  [`transfer 0.01 ETH to ${AT} now`, "send", "ETH", null, "0.01", AT],
] as const)("a plain command: %s", (text, action, fromToken, toToken, size, recipient) => {
  const command = { action, fromToken, toToken, size, recipient };
  expect(readCommand(text)).toMatchObject({ kind: "command", command });
});

test.each([
  [0.95, ["@bot buy 10 usdc of eth", "@bot sell 0.1 eth."]],
  [0.85, ["gm @bot, buy 10 usd of eth please", "@bot sell my 0.1 eth", "@bot buy 1 eth 🚀"]],
] as const)("an order that is exact, or has polite words around it, scores %d", (score, texts) => {
  for (const text of texts) expect([text, readCommand(text).confidence]).toEqual([text, score]);
});

const NONE = [
  "buy 1\u200b0 usd of eth",
  "b\u200buy 10 usd of eth",
  "buy 10 usd of \u0435th",
  "buy 10 usd of \u202ehte",
  ...["❓", "❔", "🚫", "❌", "🙅", "👎", "🤡", "🙃", "⛔", "🤔", "😂", "👀"].flatMap((one) => [
    `buy 10 usd of eth ${one}`,
    `${one} sell 0.01 eth`,
  ]),
  `buy 10 usd of eth ${" ".repeat(1_100)}`,
  ...phrases(`
    gm · buy · buy eth · buy 10 · buy 10 of eth · buy 10 usd · buy 10 usdc · buy 10 usd of doge
    buy 10 usd of eth and 20 usd of dai · buy 10 20 usd of eth · buy or sell 10 usd of eth
    don't buy 10 usd of eth · never buy 10 usd of eth · buy 10 usd of eth? · should I buy 10 usd of eth
    buy 10 usd of eth tomorrow · buy 10 usd of eth if it dips · "buy 10 usd of eth" · > buy 10 usd of eth
    “buy 10 usd of eth” · RT @bob buy 10 usd of eth · buy 10k usd of eth · buy 1e3 usd of eth
    buy 0,005 eth · buy 1,5 eth · buy -5 eth · buy 0 usd of eth · buy ten usd of eth · buy ١٠ usd of eth
    swap 10 usdc of dai to eth · swap 10 usdc to usdc · swap 10 usdc · sell 10 usd · sell 10 usdc
    send 5 usdc · send 5 usdc to alice.eth · send 5 usdc to 0x1234 · send 5 usdc to ${AT} ${AT}
    send 5 usdc to ${AT}0 · buy 5 usd of eth to ${AT} · send 5 usdc to @bob · sell me 0.01 eth
    swap me 10 usdc to eth · sell half · sell 0% of my eth · sell 101% of my eth · sell half my 0.1 eth
    buy half eth · buy all eth · swap all to eth · sell all usdc · sell not all my eth · send all my eth
    sell all eth below 2000 · swap half my usdc half my dai to eth · buy my 0.01 eth · buy my eth for 10 usdc · swap 10 usdc for my eth
    me buy 10 usd of eth · you buy 10 usd of eth · buy 10 usd of eth thank you · buy 5² usd of eth
    buy 1⁰ usd of eth · buy 1₀ usd of eth · buy ①⓪ usd of eth · buy ½ eth · buy 1½ eth
    buy 10 usd of eth… https://t.co/abc · buy 10 usd of eth... · buy 10 usd of eth .. · buy 5 dai in usdc
    buy 5 dai usdc · buy 10 usdc in eth · buy 0.01 eth usdc · swap 10 usdc in eth
    buy 10 usd of eth https://evil.example/x · buy 10 usd of eth #ad
  `),
];

describe("what is no plain command", () => {
  test("is none of these, and scores at most 0.4", () => {
    expect(
      NONE.filter((text) => readCommand(text).kind !== "none" || readCommand(text).confidence > 0.4),
    ).toEqual([]);
  });

  test("is whatever stands beside a command, unless it is courtesy", () => {
    const courtesy = /^(?:please|pls|plz|hey|hi|hello|gm|thanks|thank|thx|ty|some|the|now|worth|tokens?)$/;
    const word = fc.stringMatching(/^[a-z]{2,12}$/).filter((one) => !courtesy.test(one));
    fc.assert(
      fc.property(word, fc.nat(4), (one, at) => {
        const words = "buy 10 usd of eth".split(" ");
        words.splice(at, 0, one);
        // A few of the grammar's own words only change how the sentence is joined.
        if (readCommand(words.join(" ")).kind === "command")
          expect(["in", "into", "of", "for", "me"]).toContain(one);
      }),
      { numRuns: 1_000 },
    );
  });
});
