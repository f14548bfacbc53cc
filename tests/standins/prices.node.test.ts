import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { feedAbi } from "../../scripts/chain/abis";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { clientOf } from "../chain/support";

/** On the local stack, what tells a price tells the same: the chain's feeds, the exchange and the list. */

let stack: Stack | undefined;
afterEach(async () => {
  await stack?.stop();
  stack = undefined;
});

const marketShape = z.object({
  keyPrices: z.object({ bitcoin: z.object({ usd: z.number() }), ethereum: z.object({ usd: z.number() }) }),
  sources: z.array(z.object({ name: z.string() })),
});
const geckoShape = z.array(z.object({ id: z.string(), current_price: z.number() }));

test("the sources of prices agree, on an accelerated clock too", async () => {
  const running = await startStack({ envFile: "/dev/null", ephemeral: true, speed: 600 });
  stack = running;
  const { chain } = running;
  if (chain === null) throw new Error("The stack has no chain");
  expect(process.env.EVIDENCE_API_URL).toBe(`${running.providersUrl}/evidence`);

  const market = marketShape.parse(await (await fetch(`${running.siteUrl}/mcp/market`)).json());
  expect(market.sources.map(({ name }) => name)).toEqual(["chainlink", "coinbase", "coingecko"]);

  const query = "vs_currency=usd&ids=bitcoin,ethereum";
  const gecko = await fetch(`${running.providersUrl}/evidence/api/v3/coins/markets?${query}`);
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
    const price = listed.find(({ id }) => id === coin)?.current_price ?? NaN;
    expect(Math.abs(Number(answer) / 1e8 / price - 1)).toBeLessThan(0.01);
    expect(Math.abs(market.keyPrices[coin].usd / price - 1)).toBeLessThan(0.02);
  }
});
