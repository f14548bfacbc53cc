import { sleep } from "../../convex/lib/time";
import { expect } from "vitest";
import { encodeFunctionData, erc20Abi } from "viem";
import { PERMIT2, TOKENS } from "../../scripts/chain/addresses";
import { clientOf } from "../chain/support";
import { ETHER, beforehand, chain, etherOf, test, useChain, usdcOf } from "../support/chain/chain";
import { createWalletApp, freshAddress } from "../support/chain/walletApp";
import { byChance, laggingNodes } from "../support/laggingNodes";
import { intercept } from "../support/outside";
import { random } from "../../scripts/standins/random";
import { handedToTheNode, twiceSigned } from "./harness";

/** Two nodes behind one address, of which one lags one to three blocks: every order ends as if there were one. */

useChain();

/** Of each kind; a long run does them all. */
const ORDERS = process.env.RUNS === undefined ? 5 : 200;
const PLENTY = { ETH: 2n * ETHER, USDC: 5_000_000_000n, USDT: 5_000_000_000n };

/** So many blocks that both nodes know a wallet's money. */
async function settleIn(): Promise<void> {
  for (let block = 0; block < 4; block++) await chain.miner.mine();
}

const approval = (amount: bigint) =>
  encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, amount] });
const allowanceOf = (token: `0x${string}`, owner: `0x${string}`) =>
  clientOf(chain).readContract({
    address: token,
    abi: erc20Abi,
    functionName: "allowance",
    args: [owner, PERMIT2],
  });

test("swaps with approvals all end, with one approval each", async ({ app }) => {
  const chance = random("lagging swaps", 1);
  const given = handedToTheNode();
  const owners = await Promise.all(
    Array.from({ length: ORDERS }, (_, i) => app.fundedWallet(`swapper ${i}`, PLENTY, `198.51.100.${i}`)),
  );
  for (const [i, owner] of owners.entries())
    // Some tokens refuse to change an allowance that is not zero: an earlier one is taken back first.
    if (i % 4 === 3) await beforehand(chain, owner, [{ to: TOKENS.USDT, data: approval(7n) }]);
  await settleIn();
  const { end, late } = laggingNodes(byChance(chance));
  for (const [i, owner] of owners.entries()) {
    const fromToken = i % 2 === 0 ? "USDC" : "USDT";
    const toToken = i % 5 === 4 ? "ETH" : "WETH";
    const order = { userId: `swapper ${i}`, fromToken, toToken, amount: "1000000" };
    const { status, body } = await app.post("/mcp/defi/swap", order);
    expect([i, status, body.status, body.error]).toEqual([i, 200, "confirmed", undefined]);
    const [row] = (await app.rows("orders")).filter(({ userId }) => userId === order.userId);
    const kinds = row?.tries.map(({ kind }) => kind);
    expect([i, kinds]).toEqual([i, [...(i % 4 === 3 ? ["approve"] : []), "approve", "call"]]);
    expect([i, await allowanceOf(TOKENS[fromToken], owner)]).toEqual([i, 0n]);
    expect([i, await twiceSigned(given(), owner)]).toEqual([i, []]);
  }
  end();
  expect(late.length).toBeGreaterThan(ORDERS);
}, 3_600_000);

test("sends, one after the other, all arrive once", async ({ app }) => {
  const chance = random("lagging sends", 1);
  const given = handedToTheNode();
  const users = Math.ceil(ORDERS / 10);
  const owners = await Promise.all(
    Array.from({ length: users }, (_, i) => app.fundedWallet(`sender ${i}`, PLENTY)),
  );
  await settleIn();
  const { end, late } = laggingNodes(byChance(chance));
  for (let i = 0; i < ORDERS; i++) {
    const toAddress = freshAddress();
    const token = i % 2 === 0 ? "USDC" : "ETH";
    const order = { userId: `sender ${i % users}`, toAddress, token, amount: "500000" };
    const { status, body } = await app.post("/mcp/defi/send", order);
    expect([i, status, body.status, body.error]).toEqual([i, 200, "confirmed", undefined]);
    expect([i, await (token === "USDC" ? usdcOf(toAddress) : etherOf(toAddress))]).toEqual([i, 500_000n]);
  }
  end();
  for (const owner of owners) expect(await twiceSigned(given(), owner)).toEqual([]);
  expect(late.length).toBeGreaterThan(ORDERS);
}, 3_600_000);

/** Which of the requests that follow are the late node's, by their number from 0. */
const PATTERNS: Record<string, (n: number, body: string) => boolean> = {
  "the next two": (n) => n < 2,
  "the next six": (n) => n < 6,
  "every second": (n) => n < 6 && n % 2 === 0,
  "every other": (n) => n < 6 && n % 2 === 1,
  "what estimates": (n, body) => n < 6 && body.includes("eth_estimateGas"),
  "what reads the allowance": (n, body) => n < 6 && body.includes("dd62ed3e"),
};

test.for(Object.entries(PATTERNS))(
  "after the approval's receipt, where %s requests meet the late node, a swap goes on",
  async ([, isLate], { app }) => {
    for (const fromToken of ["USDC", "USDT"] as const) {
      await app.fundedWallet(fromToken, PLENTY);
      let since = -1;
      const { end } = laggingNodes({
        isLate: (body) => {
          if (since >= 0) return isLate(since++, body);
          // The approval is mined at once: the first question after it sees its receipt.
          if (body.includes("eth_getTransactionReceipt")) since = 0;
          return false;
        },
        behind: () => 1,
      });
      const order = { userId: fromToken, fromToken, toToken: "WETH", amount: "1000000" };
      const { body } = await app.post("/mcp/defi/swap", order);
      end();
      expect([fromToken, body.status, body.error]).toEqual([fromToken, "confirmed", undefined]);
    }
    const kinds = (await app.rows("orders")).flatMap(({ tries }) => tries.map(({ kind }) => kind));
    expect(kinds).toEqual(["approve", "call", "approve", "call"]);
  },
);

test("what arrived one block ago can be sent, where the next requests meet a node without it", async ({
  app,
}) => {
  for (const [i, late] of [1, 2, 3].entries()) {
    await app.fundedWallet(`new ${i}`, { ETH: ETHER, USDC: 5_000_000n });
    let left = late;
    const { end } = laggingNodes({
      isLate: (body) => body.includes("eth_estimateGas") && left-- > 1,
      behind: () => 1,
    });
    const order = { userId: `new ${i}`, toAddress: freshAddress(), token: "USDC", amount: "500000" };
    const { body } = await app.post("/mcp/defi/send", order);
    end();
    expect([late, body.status, body.error]).toEqual([late, "confirmed", undefined]);
  }
});

test("two swaps of one wallet at once each use the approval of their own", async () => {
  const app = createWalletApp(chain);
  await app.fundedWallet("alice", PLENTY);
  const order = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "1000000" };
  // The first one's approval is mined, and its quote takes long: the second one could use that approval.
  let [quotes, goOn, approved] = [0, () => {}, () => {}];
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const isApproved = new Promise<void>((resolve) => (approved = resolve));
  const end = intercept(async ({ url }, on) => {
    if (url.includes("/swap/") && ++quotes === 2) {
      approved();
      await held;
    }
    return on();
  });
  const first = app.post("/mcp/defi/swap", order);
  await isApproved;
  const second = app.post("/mcp/defi/swap", order, { ip: "198.51.100.7" });
  await sleep(4_000);
  expect(quotes).toBe(2);
  goOn();
  const answers = await Promise.all([first, second]);
  end();
  expect(answers.map(({ body }) => [body.status, body.error])).toEqual(
    answers.map(() => ["confirmed", undefined]),
  );
  const kinds = (await app.rows("orders")).map(({ tries }) => tries.map(({ kind }) => kind));
  expect(kinds).toEqual([
    ["approve", "call"],
    ["approve", "call"],
  ]);
});
