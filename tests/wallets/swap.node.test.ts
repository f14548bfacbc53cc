import { encodeAbiParameters, keccak256, pad, zeroAddress, type Address } from "viem";
import { afterEach, describe, expect } from "vitest";
import * as z from "zod";
import { POOL, REGISTRY, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { balanceOf, clientOf, transferTo } from "../chain/support";
import { ETHER, etherOf, hex, holdingsOf, beforehand, chain, useChain, test } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { intercept, onChain } from "../support/outside";

useChain();

const plenty = {
  ETH: 2n * ETHER,
  USDC: 5_000_000_000n,
  USDT: 5_000_000_000n,
  DAI: 5_000n * ETHER,
  WETH: ETHER,
};

const swap = (app: WalletApp, fields: object, headers: Record<string, string> = {}) =>
  app.post(
    "/mcp/defi/swap",
    { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "1000000000", ...fields },
    { headers },
  );

async function allowance(owner: string, token: `0x${string}`): Promise<bigint> {
  const word = (address: string) => address.slice(2).toLowerCase().padStart(64, "0");
  const data = `0xdd62ed3e${word(owner)}${word(chain.addresses.permit2)}`;
  return BigInt(hex.parse(await chain.rpc("eth_call", [{ to: token, data }, "latest"])));
}

/** An allowance from before, which the wallet's owner gave elsewhere. */
async function allow(owner: string, token: `0x${string}`, amount: bigint): Promise<void> {
  const word = (value: bigint) => value.toString(16).padStart(64, "0");
  const data = `0x095ea7b3${chain.addresses.permit2.slice(2).toLowerCase().padStart(64, "0")}${word(amount)}`;
  await beforehand(chain, hex.parse(owner), [{ to: token, data: hex.parse(data) }]);
  expect(await allowance(owner, token)).toBe(amount);
}

describe("POST /mcp/defi/swap", () => {
  test("approves what it needs, permits, swaps, and pays out at least the minimum", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    const before = await holdingsOf(app);
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
    const after = await holdingsOf(app);
    expect((before.USDC ?? 0n) - (after.USDC ?? 0n)).toBe(1_000_000_000n);
    // What was bought, not what was quoted.
    expect((after.WETH ?? 0n) - (before.WETH ?? 0n)).toBe(BigInt(String(body.buyAmount)));
    expect(BigInt(String(body.buyAmount))).toBeGreaterThanOrEqual(BigInt(String(body.minBuyAmount)));
    expect(await allowance(owner, chain.addresses.tokens.USDC)).toBe(0n);
    expect(
      (await app.rows("orders")).map(({ state, tries }) => [
        state,
        tries.map(({ kind, nonce }) => [kind, nonce]),
      ]),
    ).toEqual([
      [
        "confirmed",
        [
          ["approve", 0],
          ["call", 1],
        ],
      ],
    ]);
    expect(await app.rows("orders")).toMatchObject([{ action: "swap", source: "web" }]);
    const seen = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.approvalTxHash)}`);
    expect(seen.body).toMatchObject({ txHash: body.txHash, status: "confirmed", kind: "swap" });
  });

  test("swaps any pair, and approves what is no ether", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    for (const [fromToken, toToken, amount, approves] of [
      ["ETH", "USDC", ETHER / 2n, false],
      ["USDC", "ETH", 500_000_000n, true],
      ["DAI", "USDT", 100n * ETHER, true],
      ["ETH", "WETH", ETHER / 10n, false],
      ["WETH", "ETH", ETHER / 10n, false],
    ] as const) {
      const { body } = await swap(app, { fromToken, toToken, amount: amount.toString() });
      expect([fromToken, body.status, body.approvalTxHash !== undefined]).toEqual([
        ...[fromToken, "confirmed", approves],
      ]);
    }
  });

  test("clears an old allowance first where the token insists", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    await allow(owner, chain.addresses.tokens.USDT, 5n);
    const { body } = await swap(app, { fromToken: "USDT", toToken: "DAI", amount: "100000000" });
    expect(body.status).toBe("confirmed");
    const [row] = await app.rows("orders");
    expect(row?.tries.map(({ kind }) => kind)).toEqual(["approve", "approve", "call"]);
  });

  test("refuses a token for itself", async ({ app }) => {
    const { status, body } = await swap(app, { toToken: "USDC" });
    expect([status, body.error]).toEqual([400, "toToken must differ from fromToken"]);
  });

  test("without SWAP_API_KEY is 500 before anything happens", async () => {
    const app = createWalletApp(chain, { env: { SWAP_API_KEY: "" } });
    const { status, body } = await swap(app, {});
    expect([status, body]).toEqual([500, { error: "SWAP_API_KEY is not configured" }]);
    expect(await app.rows("orders")).toEqual([]);
  });

  test("without enough says what is missing before it approves anything", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 5_000_000n });
    const { status, body } = await swap(app, { amount: "9000000" });
    expect([status, body.error]).toEqual([
      400,
      "Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing",
    ]);
    expect(await allowance(owner, chain.addresses.tokens.USDC)).toBe(0n);
  });

  test("beyond the liquidity is a clear 400", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 10n ** 16n });
    const { status, body } = await swap(app, { toToken: "DAI", amount: (10n ** 16n).toString() });
    expect([status, body.error]).toEqual([
      400,
      expect.stringContaining("There is no liquidity for this swap"),
    ]);
  });
});

describe("two swaps of one token at once", () => {
  test.for([
    ["USDT", 0n],
    ["USDC", 12_999_999n],
  ] as const)(
    "%s, %s of it allowed: both are carried out, and no allowance is left",
    async ([fromToken, allowed], { app }) => {
      const owner = await app.fundedWallet("alice", plenty);
      const token = chain.addresses.tokens[fromToken];
      if (allowed > 0n) await allow(owner, token, allowed);
      const before = await holdingsOf(app);
      const ask = (amount: string) => swap(app, { fromToken, toToken: "DAI", amount });
      const answers = await Promise.all([ask("9000000"), ask("4000000")]);
      expect(answers.map(({ status, body }) => [status, body.status])).toEqual([
        [200, "confirmed"],
        [200, "confirmed"],
      ]);
      const after = await holdingsOf(app);
      expect((before[fromToken] ?? 0n) - (after[fromToken] ?? 0n)).toBe(13_000_000n);
      expect(await allowance(owner, token)).toBeLessThanOrEqual(allowed);
    },
  );
});

describe("the price of a swap", () => {
  test("worse than slippage and impact allow is refused", async () => {
    const app = createWalletApp(chain, { env: { MAX_PRICE_IMPACT_BPS: "0" } });
    await app.fundedWallet("alice", plenty);
    const { status, body } = await swap(app, { slippageBps: 0 });
    expect([status, body.error]).toEqual([
      400,
      expect.stringContaining("worse than the market price allows"),
    ]);
  });

  test("without a live price nothing is swapped on the word of an id alone", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    await chain.feeds.pause();
    try {
      const now = Math.floor(Date.now() / 1000);
      await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: now - 60 });
      for (const fields of [{}, { acceptUnpriced: true }]) {
        const { status, body } = await swap(app, { amount: "1000000", ...fields });
        expect([status, body.error]).toEqual([502, expect.stringContaining("No live price is known")]);
      }
    } finally {
      await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: 1_700_000_000 });
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  });
});

test("a chain with another id gets no signature", async ({ app }) => {
  await app.fundedWallet("alice", plenty);
  onChain(1);
  const { status, body } = await swap(app, { fromToken: "ETH", toToken: "WETH", amount: "1" });
  expect([status, body.error]).toEqual([
    502,
    "The chain RPC serves chain 1 rather than 8453: nothing was signed",
  ]);
  expect((await app.rows("orders"))[0]).not.toHaveProperty("txHash");
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

  async function dealt() {
    const app = createWalletApp(chain);
    const owner = await app.fundedWallet("alice", plenty);
    const holdings = async () => {
      const tokens = await Promise.all(Object.values(TOKENS).map((token) => balanceOf(chain, token, owner)));
      return [await etherOf(owner), ...tokens];
    };
    return { app, holdings };
  }

  test("a call of anything but the provider's own contract is refused", async () => {
    const { app, holdings } = await dealt();
    const before = await holdings();
    const refused = async (change: (quote: SentQuote) => void, error: string, fields: object = {}) => {
      const honest = lie(change);
      const { status, body } = await swap(app, fields);
      honest();
      expect([status, body.error]).toEqual([502, `The swap provider${error}: nothing was signed`]);
      expect(await holdings()).toEqual(before);
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

  test("the contract before the current one is genuine as well, the permit has Permit2's own types, and wrapping asks no registry", async () => {
    const { app } = await dealt();
    await register(POOL, SETTLER);
    lie(({ permit2 }) => void permit2?.eip712.types.TokenPermissions?.reverse());
    expect((await swap(app, {})).body.status).toBe("confirmed");
    await register(null);
    const { body } = await swap(app, { fromToken: "ETH", toToken: "WETH", amount: "5" });
    expect([body.status, body.sellAmount, body.buyAmount]).toEqual(["confirmed", "5", "5"]);
  });

  test("a swap that brought less than guaranteed is no success, and tells why", async () => {
    const { app } = await dealt();
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

  test("the answer of a swap says what was sold and bought, ether and its fee included", async () => {
    const { app, holdings } = await dealt();
    const order = ["ETH", "USDC", "USDT", "DAI", "WETH"];
    for (const [fromToken, toToken, amount] of [
      ["USDC", "ETH", 500_000_000n],
      ["ETH", "USDC", ETHER / 2n],
      ["WETH", "ETH", ETHER / 10n],
    ] as const) {
      const before = await holdings();
      const { body } = await swap(app, { fromToken, toToken, amount: amount.toString() });
      expect(body.status).toBe("confirmed");
      const after = await holdings();
      const hashes = [body.txHash, body.approvalTxHash].filter((hash) => hash !== undefined);
      let fee = 0n;
      for (const hash of hashes) {
        const receipt = await clientOf(chain).getTransactionReceipt({ hash: hex.parse(hash) });
        fee += receipt.gasUsed * receipt.effectiveGasPrice;
      }
      const gained = (token: string) => {
        const at = order.indexOf(token);
        return (after[at] ?? 0n) - (before[at] ?? 0n) + (token === "ETH" ? fee : 0n);
      };
      expect([BigInt(String(body.sellAmount)), BigInt(String(body.buyAmount))]).toEqual([
        -gained(fromToken),
        gained(toToken),
      ]);
    }
  });
});
