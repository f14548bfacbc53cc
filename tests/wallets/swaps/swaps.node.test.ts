import { encodeFunctionData, erc20Abi, maxUint256, pad, zeroAddress, type Address, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import * as z from "zod";
import type { Chain } from "../../../scripts/chain";
import { NATIVE, PERMIT2, SETTLER, TOKENS } from "../../../scripts/chain/addresses";
import { clientOf, balanceOf, transferTo } from "../../chain/support";
import { createWalletApp, startTestChain, type WalletApp } from "../../support/chain/walletApp";
import { place, puppetCall, puppetRun, register, type Step } from "./contracts";
import { lie, redirect, type SentQuote } from "./quotes";
import { actionsAbi } from "../../../scripts/chain/abis";
import { callOf, giveAway, readCall, writeCall } from "./settlerCalls";
import { beforehand, test } from "../../support/chain/chain";
import { intercept } from "../../support/outside";

/** Whatever the swap provider answers: not one unit leaves a wallet beyond what its owner ordered. */

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
  await place(chain, "Puppet", PUPPET);
  await chain.fund(PUPPET, { DAI: 1_000_000n * ETHER, WETH: 1_000n * ETHER });
});
afterAll(() => chain.stop());
afterEach(() => register(chain, SETTLER));

const ETHER = 10n ** 18n;
const PUPPET: Address = "0x9099e70000000000000000000000000000000001";
const THIEF: Address = "0x6666666666666666666666666666666666666666";
const plenty = { ETH: 2n * ETHER, USDC: 10_000_000_000n, DAI: 100n * ETHER, WETH: 7n * ETHER };

const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-f]*$/i)]);

const swap = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/swap", {
    userId: "alice",
    fromToken: "USDC",
    toToken: "DAI",
    amount: "1000000",
    ...fields,
  });

/** What an honest call for DAI promises. */
const promised = ({ minBuyAmount }: SentQuote, recipient: Address) => ({
  recipient,
  buyToken: TOKENS.DAI,
  minAmountOut: BigInt(minBuyAmount),
});

/** Sends all ether that the settler holds to somebody. */
const sendAll = (to: Address): Hex =>
  encodeFunctionData({ abi: actionsAbi, functionName: "BASIC", args: [NATIVE, 10_000n, to, 0n, "0x"] });

/** An allowance that the wallet's owner gave once. */
async function allow(owner: Address, token: Address, spender: Address, amount = maxUint256): Promise<void> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [spender, amount] });
  await beforehand(chain, owner, [{ to: token, data }]);
}

async function world(env: Record<string, string> = {}) {
  const app = createWalletApp(chain, { env });
  const owner = await app.fundedWallet("alice", plenty);
  await allow(owner, TOKENS.USDC, PERMIT2);
  const holdings = async () => {
    const tokens = await Promise.all(Object.values(TOKENS).map((token) => balanceOf(chain, token, owner)));
    return [await clientOf(chain).getBalance({ address: owner }), ...tokens];
  };
  const before = await holdings();
  /** The request has failed for the provider's reasons, and the wallet is as it was. */
  const untouched = async (answer: Awaited<ReturnType<WalletApp["post"]>>, error: string) => {
    expect([answer.status, answer.body.error]).toEqual([502, error]);
    expect(await holdings()).toEqual(before);
    expect((await app.rows("orders")).map(({ state, tries }) => [state, tries])).toEqual([["failed", []]]);
  };
  return { app, owner, holdings, untouched };
}

const setFair = (fair: boolean) =>
  chain.rpc("anvil_setStorageAt", [
    PUPPET,
    pad("0x00", { size: 32 }),
    pad(fair ? "0x01" : "0x00", { size: 32 }),
  ]);

/** The puppet is fair while it is watched: until signed bytes reach the chain. */
async function fairWhileWatched(): Promise<void> {
  await setFair(true);
  intercept(async ({ body }, pass) => {
    if (body.includes("eth_sendRawTransaction")) await setFair(false);
    return pass();
  });
}

/** Quotes call a contract of the provider's that takes what is sold with the permit, and then does this. */
function takeAnd(owner: Address, steps: readonly Step[]): void {
  lie((quote) => {
    const permit = quote.permit2?.eip712.message;
    if (permit === undefined) throw new Error("The quote has a permit");
    const { token, amount } = permit.permitted;
    const take = {
      token,
      permitted: BigInt(amount),
      nonce: BigInt(permit.nonce),
      deadline: BigInt(permit.deadline),
      recipient: PUPPET,
      requested: BigInt(amount),
    };
    redirect(quote, PUPPET, puppetCall(promised(quote, owner), take, steps));
  });
}

const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const UNGUARANTEED =
  "The swap provider's call does not guarantee this wallet what was ordered: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";

describe("a quote that calls another contract than the provider's own", () => {
  test("does not get the wallet's WETH by calling WETH", async () => {
    const { app, untouched } = await world();
    lie((quote) => redirect(quote, TOKENS.WETH, transferTo(THIEF, 7n * ETHER)));
    await untouched(await swap(app), UNGUARANTEED);
  });

  test("does not get more of the sold token by calling the token", async () => {
    const { app, untouched } = await world();
    lie((quote) => redirect(quote, TOKENS.USDC, transferTo(THIEF, 5_000_000_000n)));
    await untouched(await swap(app), UNGUARANTEED);
  });

  test("does not get ether by calling an account", async () => {
    const { app, untouched } = await world();
    lie((quote) => (quote.transaction.to = THIEF));
    const answer = await swap(app, { fromToken: "ETH", toToken: "USDC", amount: ETHER.toString() });
    await untouched(answer, COUNTERFEIT);
  });

  test("gets nothing by calling a contract of its own that nobody registered", async () => {
    const { app, owner, untouched } = await world();
    lie((quote) => redirect(quote, PUPPET, puppetCall(promised(quote, owner), null, [], true)));
    await untouched(await swap(app), COUNTERFEIT);
  });
});

describe("the provider's registry", () => {
  test("may have moved on while quotes still name the contract before", async () => {
    const { app } = await world();
    await register(chain, PUPPET, SETTLER);
    expect((await swap(app)).body.status).toBe("confirmed");
  });

  test("no longer vouches for a contract that is older than that", async () => {
    const { app, untouched } = await world();
    await register(chain, PUPPET, THIEF);
    await untouched(await swap(app), COUNTERFEIT);
  });

  test("that answers with a revert means that swaps are paused, whatever it says of the one before", async () => {
    const { app, untouched } = await world();
    await register(chain, null, SETTLER);
    await untouched(await swap(app), PAUSED);
  });

  test("is not asked where ether is wrapped: no contract of the provider's is called", async () => {
    const { app } = await world();
    await register(chain, null);
    const { body } = await swap(app, { fromToken: "ETH", toToken: "WETH", amount: "5" });
    expect([body.status, body.sellAmount, body.buyAmount]).toEqual(["confirmed", "5", "5"]);
  });
});

describe("a genuine contract", () => {
  const pay = (owner: Address, amount: bigint): Step => ({ to: TOKENS.DAI, data: transferTo(owner, amount) });
  const ONE_DAI = ETHER;

  async function puppet(steps: (owner: Address) => readonly Step[]) {
    const made = await world();
    await register(chain, PUPPET);
    takeAnd(made.owner, steps(made.owner));
    return made;
  }

  test("is what these tests believe it to be: it pays, and the answer says what was paid", async () => {
    const { app } = await puppet((owner) => [pay(owner, ONE_DAI)]);
    const { status, body } = await swap(app);
    expect([status, body.status]).toEqual([200, "confirmed"]);
    expect([body.sellAmount, body.buyAmount]).toEqual(["1000000", ONE_DAI.toString()]);
  });
});

describe("the provider's own contract, called dishonestly", () => {
  /** What is sold goes to a thief; a helper pays the wallet in its place, for as long as the helper plays fair. */
  function steal(owner: Address, sold: Address, paid: bigint): void {
    lie((quote) => {
      const { slippage, actions, zid, awaitsSignature } = readCall(
        quote.transaction.data,
        quote.permit2 !== null,
      );
      const [takes = "0x"] = actions;
      const pays = puppetRun([{ to: TOKENS.DAI, data: transferTo(owner, paid) }], "runIfFair");
      const unchecked = { recipient: slippage.recipient, buyToken: zeroAddress, minAmountOut: 0n };
      const away = sold === NATIVE ? sendAll(THIEF) : giveAway(sold, THIEF);
      const changed = [takes, away, callOf(PUPPET, pays)];
      quote.transaction.data = writeCall({ slippage: unchecked, actions: changed, zid, awaitsSignature });
    });
  }

  afterEach(() => setFair(true));

  test("does not sell 5,000 USDC for 0 DAI", async () => {
    const { app, owner, untouched } = await world();
    await fairWhileWatched();
    steal(owner, TOKENS.USDC, 5_000n * ETHER);
    await untouched(await swap(app, { amount: "5000000000" }), UNGUARANTEED);
    expect(await balanceOf(chain, TOKENS.USDC, THIEF)).toBe(0n);
  });

  test("does not sell 2 ETH for nothing", async () => {
    const { app, owner, untouched } = await world();
    await fairWhileWatched();
    const amount = (2n * ETHER - ETHER / 100n).toString();
    steal(owner, NATIVE, 20_000n * ETHER);
    await untouched(await swap(app, { fromToken: "ETH", toToken: "DAI", amount }), UNGUARANTEED);
  });

  test("reverts on the chain where its own check is kept and its pool gives less than it did before", async () => {
    const { app, owner, holdings } = await world();
    await fairWhileWatched();
    lie((quote) => {
      const { slippage, actions, zid, awaitsSignature } = readCall(quote.transaction.data, true);
      const [takes = "0x"] = actions;
      const pays = puppetRun([{ to: TOKENS.DAI, data: transferTo(SETTLER, 6_000n * ETHER) }], "runIfFair");
      const changed = [takes, giveAway(TOKENS.USDC, THIEF), callOf(PUPPET, pays)];
      quote.transaction.data = writeCall({ slippage, actions: changed, zid, awaitsSignature });
    });
    const before = await holdings();
    const { body } = await swap(app, { amount: "5000000000" });
    expect([body.success, body.status]).toEqual([false, "failed"]);
    const after = await holdings();
    // All but the fee is there.
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(await balanceOf(chain, TOKENS.DAI, owner)).toBe(plenty.DAI);
  });
});

describe("a contract that breaks its word in a block", () => {
  test("is told to the operator, and the answer is no success", async () => {
    const { app, owner } = await world();
    await register(chain, PUPPET);
    await fairWhileWatched();
    const pays = [{ to: TOKENS.DAI, data: transferTo(owner, ETHER) }];
    takeAnd(owner, [{ to: PUPPET, data: puppetRun(pays, "runIfFair") }]);
    const { status, body } = await swap(app);
    const error = expect.stringMatching(/^The swap was mined and has bought 0 rather than at least \d+/);
    expect([status, body.success, body.status, body.buyAmount, body.error]).toEqual([
      ...[200, false, "confirmed", "0"],
      error,
    ]);
    const { body: later } = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.txHash)}`);
    expect([later.status, later.error]).toEqual(["confirmed", error]);
  });
});

describe("what is signed for a swap", () => {
  test("has Permit2's own types, whatever types the provider sends along", async () => {
    const { app } = await world();
    lie(({ permit2 }) => {
      permit2?.eip712.types.TokenPermissions?.reverse();
    });
    const { body } = await swap(app);
    expect(body.status).toBe("confirmed");
  });
});

describe("what a swap has come to", () => {
  test.each([
    ["USDC", "ETH", 500_000_000n],
    ["ETH", "USDC", ETHER / 2n],
    ["WETH", "ETH", ETHER / 10n],
  ] as const)("%s to %s: the answer says what was sold and bought", async (fromToken, toToken, amount) => {
    const { app, holdings } = await world();
    const order = ["ETH", "USDC", "USDT", "DAI", "WETH"];
    const before = await holdings();
    const { body } = await swap(app, { fromToken, toToken, amount: amount.toString() });
    expect(body.status).toBe("confirmed");
    const after = await holdings();
    const receipt = await clientOf(chain).getTransactionReceipt({ hash: hex.parse(body.txHash) });
    const fee = receipt.gasUsed * receipt.effectiveGasPrice;
    const gained = (token: string) => {
      const at = order.indexOf(token);
      return (after[at] ?? 0n) - (before[at] ?? 0n) + (token === "ETH" ? fee : 0n);
    };
    expect([BigInt(String(body.sellAmount)), BigInt(String(body.buyAmount))]).toEqual([
      -gained(fromToken),
      gained(toToken),
    ]);
    const { body: later } = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.txHash)}`);
    expect(later.buyAmount).toBe(body.buyAmount);
  });
});
