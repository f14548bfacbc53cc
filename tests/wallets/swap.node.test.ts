import {
  encodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  keccak256,
  pad,
  zeroAddress,
  type Address,
} from "viem";
import { afterEach, describe, expect, vi } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { PERMIT2, POOL, REGISTRY, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { balanceOf, clientOf, transferTo } from "../chain/support";
import { ETHER, etherOf, hex, beforehand, chain, useChain, test } from "../support/chain/chain";
import { until } from "../support/waits";
import { browserOf } from "../support/browser";
import type { WalletApp } from "../support/chain/walletApp";
import { intercept, onChain } from "../support/outside";

useChain();

const plenty = {
  ETH: 2n * ETHER,
  USDC: 5_000_000_000n,
  USDT: 5_000_000_000n,
  DAI: 5_000n * ETHER,
  WETH: ETHER,
};

const swap = (app: WalletApp, fields: object) =>
  app.post("/mcp/defi/swap", {
    ...{ userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "1000000000" },
    ...fields,
  });

const allowance = (owner: Address, token: Address): Promise<bigint> =>
  clientOf(chain).readContract({
    address: token,
    abi: erc20Abi,
    functionName: "allowance",
    args: [owner, PERMIT2],
  });

/** An allowance from before, which the wallet's owner gave elsewhere. */
async function allow(owner: Address, token: Address, amount: bigint): Promise<void> {
  const args = [PERMIT2, amount] as const;
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
  await beforehand(chain, owner, [{ to: token, data }]);
  expect(await allowance(owner, token)).toBe(amount);
}

const balancesOf = async (owner: `0x${string}`) => {
  const tokens = await Promise.all(Object.values(TOKENS).map((token) => balanceOf(chain, token, owner)));
  return [await etherOf(owner), ...tokens];
};

test("a swap approves what it needs, permits, pays out at least the minimum, and says what was sold and bought", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", plenty);
  const { status, body } = await swap(app, {});
  expect([status, body]).toEqual([
    200,
    {
      success: true,
      txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      status: "confirmed",
      fromToken: "USDC",
      toToken: "WETH",
      sellAmount: "1000000000",
      buyAmount: expect.stringMatching(/^\d+$/),
      minBuyAmount: expect.stringMatching(/^\d+$/),
      approvalTxHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      priceChecked: true,
      explorerUrl: `https://basescan.org/tx/${String(body.txHash)}`,
      warning: expect.stringContaining("ownerUrl"),
    },
  ]);
  const [row] = await app.rows("orders");
  expect(row).toMatchObject({ action: "swap", source: "web", state: "confirmed" });
  expect(row?.tries.map(({ kind, nonce }) => [kind, nonce])).toEqual([
    ["approve", 0],
    ["call", 1],
  ]);
  for (const { hash, block, paid } of row?.tries ?? []) {
    const receipt = await clientOf(chain).getTransactionReceipt({ hash: hex.parse(hash) });
    const { blockNumber, gasUsed, effectiveGasPrice } = receipt;
    expect([block, paid]).toEqual([Number(blockNumber), String(gasUsed * effectiveGasPrice)]);
  }
  const seen = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.approvalTxHash)}`);
  expect(seen.body).toMatchObject({ txHash: body.txHash, status: "confirmed", kind: "swap" });

  const at = (token: string) => ["ETH", ...Object.keys(TOKENS)].indexOf(token);
  for (const [fromToken, toToken, amount, approves] of [
    ["ETH", "USDC", ETHER / 2n, false],
    ["USDC", "ETH", 500_000_000n, true],
    ["DAI", "USDT", 100n * ETHER, true],
    ["ETH", "WETH", ETHER / 10n, false],
    ["WETH", "ETH", ETHER / 10n, false],
    ["USDC", "CBBTC", 100_000_000n, true],
    ["CBBTC", "ETH", 50_000n, true],
  ] as const) {
    const before = await balancesOf(owner);
    const named = toToken === "CBBTC" ? "bitcoin" : toToken;
    const { body: told } = await swap(app, { fromToken, toToken: named, amount: amount.toString() });
    expect(told).toMatchObject({ fromToken, toToken });
    expect([fromToken, told.status, told.approvalTxHash !== undefined]).toEqual([
      ...[fromToken, "confirmed", approves],
    ]);
    const after = await balancesOf(owner);
    let fee = 0n;
    for (const hash of [told.txHash, told.approvalTxHash].filter((one) => one !== undefined)) {
      const receipt = await clientOf(chain).getTransactionReceipt({ hash: hex.parse(hash) });
      fee += receipt.gasUsed * receipt.effectiveGasPrice;
    }
    const gained = (token: string) =>
      (after[at(token)] ?? 0n) - (before[at(token)] ?? 0n) + (token === "ETH" ? fee : 0n);
    // What was bought, not what was quoted; the fee aside.
    expect([told.sellAmount, told.buyAmount].map(String)).toEqual([
      String(-gained(fromToken)),
      String(gained(toToken)),
    ]);
    expect(gained(toToken)).toBeGreaterThanOrEqual(BigInt(String(told.minBuyAmount)));
  }
  expect(await allowance(owner, TOKENS.USDC)).toBe(0n);
});

test("two swaps of one token at once are both carried out, whatever allowance there was, and none is left", async ({
  app,
}) => {
  for (const [fromToken, allowed] of [
    // It insists that an old allowance is cleared first.
    ["USDT", 5n],
    ["USDC", 12_999_999n],
  ] as const) {
    const owner = await app.fundedWallet(fromToken, plenty);
    const token = TOKENS[fromToken];
    await allow(owner, token, allowed);
    const before = await balanceOf(chain, token, owner);
    const ask = (amount: string) => swap(app, { userId: fromToken, fromToken, toToken: "DAI", amount });
    const answers = await Promise.all([ask("9000000"), ask("4000000")]);
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual([
      [200, "confirmed"],
      [200, "confirmed"],
    ]);
    expect(before - (await balanceOf(chain, token, owner))).toBe(13_000_000n);
    expect(await allowance(owner, token)).toBeLessThanOrEqual(fromToken === "USDT" ? 0n : allowed);
  }
});

test("an order is not over because of what another one of its wallet has changed since it was looked at", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", plenty);
  const ask = (amount: string) => swap(app, { fromToken: "USDT", toToken: "DAI", amount });
  let [estimates, goOn] = [0, () => {}];
  const estimated = new Promise<void>((resolve) => (goOn = resolve));
  let other: ReturnType<typeof ask> | undefined;
  intercept(async ({ body }, pass) => {
    if (!body.includes("eth_estimateGas")) return pass();
    const estimate = ++estimates;
    // Of the other's swap, whose allowance stands meanwhile: USDT refuses to change it.
    if (estimate === 3) await estimated;
    if (estimate !== 1) return pass();
    other = ask("4000000");
    await until(async () => (await allowance(owner, TOKENS.USDT)) === 4_000_000n);
    return pass().finally(goOn);
  });
  const answers = [await ask("9000000"), await other];
  expect(answers.map((answer) => [answer?.status, answer?.body.status])).toEqual([
    [200, "confirmed"],
    [200, "confirmed"],
  ]);
});

/** No feed is live meanwhile: the sequencer is just back. */
async function withoutPrices(work: () => Promise<void>): Promise<void> {
  await chain.feeds.pause();
  try {
    const now = Math.floor(Date.now() / 1000);
    await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: now - 60 });
    await work();
  } finally {
    await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: 1_700_000_000 });
    await chain.feeds.tick();
    chain.feeds.resume();
  }
}

test("without a live price a swap of an owner's is carried out only where they accept that", async ({
  app,
}) => {
  const { userId } = await browserOf(app, "owner").mutation(api.accounts.profile.signIn, {});
  await app.fundedWallet(userId, plenty);
  const order = { userId, fromToken: "USDC", toToken: "WETH", amount: "1000000" };
  const byOwner = (fields: object) => app.post("/mcp/defi/swap", { ...order, ...fields }, { as: "owner" });
  await withoutPrices(async () => {
    const { status, body } = await byOwner({});
    expect([status, body.error]).toEqual([502, expect.stringContaining("There is no live price")]);
    const accepted = (await byOwner({ acceptUnpriced: true })).body;
    expect([accepted.status, accepted.priceChecked]).toEqual(["confirmed", false]);
  });
});

test("without enough, liquidity, a fair or live price, or on another chain nothing is swapped", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 10n ** 16n });
  const before = await balancesOf(owner);
  const refuses = async (fields: object, status: number, error: string) => {
    const answer = await swap(app, fields);
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(error)]);
  };
  await refuses(
    { fromToken: "DAI", amount: "9000000000000000000" },
    400,
    "Insufficient DAI: 9 needed, the wallet holds 0, 9 is missing",
  );
  await refuses(
    { toToken: "DAI", amount: (10n ** 16n).toString() },
    400,
    "There is no liquidity for this swap",
  );
  vi.stubEnv("MAX_PRICE_IMPACT_BPS", "0");
  await refuses({ slippageBps: 0 }, 400, "worse than the market price allows");
  vi.stubEnv("MAX_PRICE_IMPACT_BPS", undefined);
  await withoutPrices(async () => {
    // On the word of an id alone.
    for (const fields of [{}, { acceptUnpriced: true }])
      await refuses({ amount: "1000000", ...fields }, 502, "No live price is known");
  });
  onChain(1);
  const ether = { fromToken: "ETH", toToken: "WETH", amount: "1" };
  await refuses(ether, 502, "The chain RPC serves chain 1 rather than 8453: nothing was signed");
  expect(await balancesOf(owner)).toEqual(before);
  expect(await allowance(owner, TOKENS.USDC)).toBe(0n);
  for (const { tries } of await app.rows("orders")) expect(tries).toEqual([]);
});

const addressShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]{40}$/)]);
const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
const quoteShape = z.looseObject({
  permit2: z
    .looseObject({
      eip712: z.looseObject({
        types: z.record(z.string(), z.array(z.unknown())),
        message: z.looseObject({ spender: addressShape }),
      }),
    })
    .nullable(),
  transaction: z.looseObject({ to: addressShape, data: hexShape }),
});
type SentQuote = z.infer<typeof quoteShape>;

/** The stand-in's quotes are changed on their way, until the returned function is called. */
function lie(change: (quote: SentQuote) => void): () => void {
  return intercept(async ({ url }, pass) => {
    const response = await pass();
    if (!url.includes("/swap/permit2/quote")) return response;
    const quote = quoteShape.parse(await response.json());
    change(quote);
    return Response.json(quote);
  });
}

/** The same quote with another contract to call; the permit, if any, is for that contract. */
function redirect(quote: SentQuote, to: Address, data = quote.transaction.data): void {
  quote.transaction.to = to;
  quote.transaction.data = data;
  if (quote.permit2 !== null) quote.permit2.eip712.message.spender = to;
}

/** Says in 0x's registry which settler is the genuine one, and which was before; `null` says none. */
async function register(current: Address | null, previous: Address | null = null): Promise<void> {
  for (const [index, settler] of [current, previous].entries()) {
    const place = [2n, BigInt(index)] as const;
    const slot = keccak256(encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], place));
    await chain.rpc("anvil_setStorageAt", [REGISTRY, slot, pad(settler ?? zeroAddress, { size: 32 })]);
  }
}

describe("whatever the swap provider answers, not one unit leaves a wallet beyond what its owner ordered", () => {
  afterEach(() => register(SETTLER));
  const THIEF: Address = "0x6666666666666666666666666666666666666666";

  test("a call of anything but the provider's own contract is refused", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    const before = await balancesOf(owner);
    const refused = async (change: (quote: SentQuote) => void, error: string, fields: object = {}) => {
      const honest = lie(change);
      const { status, body } = await swap(app, fields);
      honest();
      expect([status, body.error]).toEqual([
        502,
        `The swap provider${error}: nothing was signed, so try again later`,
      ]);
      expect(await balancesOf(owner)).toEqual(before);
      for (const { state, tries } of await app.rows("orders")) expect([state, tries]).toEqual(["failed", []]);
    };
    const unguaranteed = "'s call does not guarantee this wallet what was ordered";
    const counterfeit = "'s quote calls a contract that is not its own, or is paused";
    const ether = { fromToken: "ETH", toToken: "USDC", amount: ETHER.toString() };
    await refused((quote) => redirect(quote, TOKENS.WETH, transferTo(THIEF, 7n * ETHER)), unguaranteed);
    await refused((quote) => redirect(quote, TOKENS.USDC, transferTo(THIEF, 5_000_000n)), unguaranteed);
    await refused((quote) => redirect(quote, THIEF), counterfeit);
    await refused((quote) => redirect(quote, THIEF), counterfeit, ether);
    // The registry has moved on by two, or has paused all swaps, whatever it says of the contract before.
    await register(POOL, THIEF);
    await refused(() => undefined, counterfeit);
    await register(null, SETTLER);
    await refused(() => undefined, counterfeit);
  });

  test("the contract before the current one is genuine as well, the permit has Permit2's own types, and wrapping asks no registry", async ({
    app,
  }) => {
    await app.fundedWallet("alice", plenty);
    await register(POOL, SETTLER);
    lie(({ permit2 }) => void permit2?.eip712.types.TokenPermissions?.reverse());
    expect((await swap(app, {})).body.status).toBe("confirmed");
    await register(null);
    const { body } = await swap(app, { fromToken: "ETH", toToken: "WETH", amount: "5" });
    expect([body.status, body.sellAmount, body.buyAmount]).toEqual(["confirmed", "5", "5"]);
  });

  test("a swap that brought less than guaranteed is no success, and tells why", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    intercept(async ({ body }, pass) => {
      const response = await pass();
      if (!body.includes("eth_getTransactionReceipt")) return response;
      const emptied = (key: string, value: unknown) => (key === "logs" ? [] : value);
      return Response.json(JSON.parse(await response.text(), emptied));
    });
    const { status, body } = await swap(app, {});
    const error = expect.stringMatching(/^The swap was mined and has bought 0 rather than at least \d+/);
    expect([status, body.success, body.status, body.buyAmount, body.error]).toEqual([
      ...[200, false, "confirmed", "0", error],
    ]);
    const { body: later } = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.txHash)}`);
    expect([later.status, later.error]).toEqual(["confirmed", error]);
  });
});
