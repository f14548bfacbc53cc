import { maxUint256 } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { NATIVE, PERMIT2, TOKENS } from "../../scripts/chain/addresses";
import { createSwap, type Swap } from "../../scripts/standins/swap";
import { startTestChain } from "./support";
import { ask, queryOf, quote } from "./swapClient";

let chain: Chain;
let swap: Swap;

beforeAll(async () => {
  chain = await startTestChain();
  swap = createSwap({ rpcUrl: () => chain.url, now: () => Date.now() });
});
afterAll(() => chain.stop());

const { USDC, WETH } = TOKENS;
const taker = "0x1111111111111111111111111111111111111111";
const good = queryOf({ sell: USDC, buy: WETH, amount: 1_000_000n });

test("says what a poor wallet lacks", async () => {
  const { issues } = await quote(swap, taker, { sell: USDC, buy: WETH, amount: 1_000_000n });
  expect(issues).toEqual({
    allowance: { actual: "0", spender: PERMIT2.toLowerCase() },
    balance: { token: USDC.toLowerCase(), actual: "0", expected: "1000000" },
    simulationIncomplete: true,
  });
});

test.each([
  ["an unknown token", { buyToken: taker }],
  ["an amount that buys nothing", { sellAmount: "0" }],
  ["an amount beyond the reserves", { sellAmount: "1000000000000000000000" }],
  ["an amount beyond reckoning", { sellAmount: String(maxUint256) }],
])("has no liquidity for %s", async (_, change) => {
  const { status, body } = await ask(swap, { ...good, taker, ...change });
  expect(status).toBe(200);
  expect(body).toEqual({ liquidityAvailable: false, zid: expect.stringMatching(/^0x/) });
});

test.each([
  ["chainId", { chainId: "1" }],
  ["sellToken", { sellToken: "0x0000000000000000000000000000000000000000" }],
  ["buyToken", { buyToken: "WETH" }],
  ["buyToken", { buyToken: USDC }],
  ["sellAmount", { sellAmount: "1.5" }],
  ["sellAmount", { sellAmount: "-1" }],
  ["taker", { taker: "0x12" }],
  ["slippageBps", { slippageBps: "10001" }],
  ["unrecognized_keys", { buyAmount: "1" }],
  ["recipient", { sellToken: NATIVE, recipient: taker }],
])("refuses a bad %s", async (field, change) => {
  const { status, body } = await ask(swap, { ...good, taker, ...change });
  expect(status).toBe(400);
  const details = expect.arrayContaining([{ field, reason: expect.any(String) }]);
  expect(body).toMatchObject({ name: "INPUT_INVALID", data: { zid: expect.any(String), details } });
});

test("wants a taker for a quote, a key and a version", async () => {
  expect((await ask(swap, good)).status).toBe(400);
  expect((await ask(swap, good, { "0x-version": "v2" })).status).toBe(401);
  expect((await ask(swap, good, { "0x-api-key": "any" })).status).toBe(400);
});

test("fails as the API does while there is no chain", async () => {
  const now = () => Date.now();
  const without = await ask(createSwap({ rpcUrl: () => null, now }), { ...good, taker });
  const elsewhere = createSwap({ rpcUrl: () => "http://127.0.0.1:9", now });
  const unreachable = await ask(elsewhere, { ...good, taker });
  for (const { status, body } of [without, unreachable]) {
    expect(status).toBe(500);
    expect(body).toMatchObject({ name: "INTERNAL_SERVER_ERROR" });
  }
});
