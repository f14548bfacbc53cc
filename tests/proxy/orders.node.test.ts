import { expect } from "vitest";
import { ETHER, useChain, usdcOf } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { signed, test } from "../support/owners";
import { serve } from "../support/world";
import { built, connect, dataOf, useProxy } from "./support";

/** Orders of built proxies, running, started again and several at once, to the service itself. */

useChain();
useProxy();

const TERMS = { fromToken: "USDC", toToken: "WETH", amount: "10000000" };

test("the same terms are one order in a running, a restarted and a second proxy", async ({ app }) => {
  const userId = `person-${crypto.randomUUID()}`;
  await app.fundedWallet(userId, { ETH: ETHER, USDC: 100_000_000n });
  const { url, close } = await serve(app);
  const [one, two] = [await connect(built.file, url), await connect(built.file, url)];
  const swap = ({ call }: typeof one) => call("swap_tokens", { userId, ...TERMS });
  const first = await swap(one);
  const repeats = [await swap(one), await swap(two)];
  await one.client.close();
  const restarted = await connect(built.file, url);
  repeats.push(await swap(restarted));
  for (const repeat of repeats)
    expect(dataOf(repeat)).toMatchObject({
      txHash: dataOf(first).txHash,
      repeated: true,
      nothingMoved: true,
      notices: [expect.stringContaining("pass an idempotencyKey of your own")],
    });
  expect(await signed(app)).toHaveLength(1);
  const more = await two.call("swap_tokens", { userId, ...TERMS, idempotencyKey: "once-more" });
  expect([more.isError, dataOf(more).status]).toEqual([undefined, "confirmed"]);
  expect(await signed(app)).toHaveLength(2);

  // What was meant in whole tokens; and a swap that cannot be paid for moves nothing, as it says.
  const toAddress = freshAddress();
  const slip = await two.call("send_token", { userId, token: "USDC", amount: "10", toAddress });
  expect(dataOf(slip)).toMatchObject({
    error: expect.stringContaining("10 USDC is 10000000"),
    nothingMoved: true,
  });
  expect(await usdcOf(toAddress)).toBe(0n);
  for (const { client } of [two, restarted]) await client.close();
  await close();
});
