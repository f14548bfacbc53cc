import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { feedAbi } from "../../scripts/chain/abis";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { clientOf } from "../chain/support";

/** On the local stack, what tells a price tells the same: the chain's feeds, the tickers, and the model. */

let stack: Stack | undefined;
afterEach(async () => {
  await stack?.stop();
  stack = undefined;
});

const marketShape = z.object({
  keyPrices: z.object({ bitcoin: z.object({ usd: z.number() }), ethereum: z.object({ usd: z.number() }) }),
  sources: z.array(z.object({ name: z.string(), agreementBps: z.number() })),
});
const geckoShape = z.record(z.string(), z.object({ usd: z.number() }));

test.each([1, 600])("the sources of prices agree at %d times the usual speed", async (speed) => {
  const running = await startStack({ envFile: "/dev/null", ephemeral: true, speed });
  stack = running;
  const { chain } = running;
  if (chain === null) throw new Error("The stack has no chain");
  expect(process.env.TICKER_API_URL).toBe(`${running.providersUrl}/tickers`);

  const market = marketShape.parse(await (await fetch(`${running.siteUrl}/mcp/market`)).json());
  expect(market.sources.map(({ name }) => name)).toEqual(["chainlink", "coinbase", "binance", "coingecko"]);
  // Fast time passes between the questions: the market moves by a few thousandths in some minutes.
  for (const { agreementBps } of market.sources) expect(agreementBps).toBeLessThan(100);

  const query = "ids=bitcoin,ethereum&vs_currencies=usd&include_last_updated_at=true";
  const gecko = await fetch(`${running.providersUrl}/tickers/api/v3/simple/price?${query}`);
  const listed = geckoShape.parse(await gecko.json());
  for (const [feed, coin] of [
    ["BTC", "bitcoin"],
    ["ETH", "ethereum"],
  ] as const) {
    const [, answer] = await clientOf(chain).readContract({
      address: chain.addresses.feeds[feed],
      abi: feedAbi,
      functionName: "latestRoundData",
    });
    const price = listed[coin]?.usd ?? NaN;
    expect(Math.abs(Number(answer) / 1e8 / price - 1)).toBeLessThan(0.01);
    expect(Math.abs(market.keyPrices[coin].usd / price - 1)).toBeLessThan(0.02);
  }
});
