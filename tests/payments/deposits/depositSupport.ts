import { encodeFunctionData, erc20Abi, maxUint256, type Address } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { internal } from "../../../convex/_generated/api";
import { newWallet, send, together, transferTo } from "../../chain/support";
import { chain, test as chainTest } from "../../support/chain/chain";
import { createWalletApp, type WalletApp } from "../../support/chain/walletApp";
import { intercept } from "../../support/outside";
import { PLATFORM } from "../authorizations";

/** The deposit webhook on a chain of the test file's own, and people who pay. */

export const NOBODY: Address = "0x9999999999999999999999999999999999999999";

export const createApp = (env: Record<string, string | undefined> = {}) =>
  createWalletApp(chain, { env: { PLATFORM_WALLET_ADDRESS: PLATFORM, ...env } });

export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ settings }, use) => use(createApp(settings.env)),
});

export const notify = (app: WalletApp, body: unknown, init: Parameters<WalletApp["post"]>[2] = {}) =>
  app.post("/indexer/deposit", body, init);

/** A wallet that has paid the platform, and where its transfer is. */
export async function pay(amount: bigint, payer?: PrivateKeyAccount) {
  const wallet = payer ?? (await newWallet(chain, { USDC: amount }));
  const to = chain.addresses.tokens.USDC;
  const receipt = await send(chain, wallet, { to, data: transferTo(PLATFORM, amount) });
  const txHash = receipt.transactionHash;
  return { wallet, txHash, logIndex: receipt.logs[0]?.logIndex ?? -1, receipt };
}

export async function link(app: WalletApp, address: string, userId = "alice") {
  const linkedAt = Date.now();
  await app.t.run((ctx) =>
    ctx.db.insert("linkedAddresses", { address: address.toLowerCase(), userId, linkedAt }),
  );
}

/** The same, of a wallet that alice has linked. */
export async function payLinked(app: WalletApp, amount: bigint) {
  const paid = await pay(amount);
  await link(app, paid.wallet.address);
  return paid;
}

export async function balanceOf(app: WalletApp, userId = "alice"): Promise<number> {
  return (await app.rows("creditBalances")).find((row) => row.userId === userId)?.balance ?? 0;
}

/** Lets everything that waits become due, and the crons come by. */
export async function cronsRun(app: WalletApp) {
  await becomeDue(app);
  await app.settle();
}

/** The same, without an end of what they start. */
export async function becomeDue(app: WalletApp) {
  await app.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("depositHints").collect()) {
      await ctx.db.patch("depositHints", _id, { nextCheckAt: 0 });
    }
    for (const { _id, state } of await ctx.db.query("deposits").collect()) {
      if (state === "unmatched") await ctx.db.patch("deposits", _id, { nextMatchAt: 0 });
    }
  });
  await app.t.mutation(internal.payments.deposits.checks.checkDue, {});
  await app.t.mutation(internal.payments.deposits.owners.matchDue, {});
}

/** The chain does not answer until this is undone, or answers late. */
export const breakChain = (answer: (forward: () => Promise<Response>) => Promise<Response>): (() => void) =>
  intercept(({ url }, pass) => (url.startsWith(chain.url) ? answer(pass) : pass()));

export const credited = (txHash: string, logIndex: number, amountUsdc: string, credits: number) => ({
  success: true,
  credited: [{ txHash, logIndex, amountUsdc, credits }],
  pending: [],
  ignored: [],
});
export const ignored = (txHash: string, reason: string) => ({
  success: true,
  credited: [],
  pending: [],
  ignored: [{ txHash, reason }],
});
export const NO_TRANSFER = "it holds no USDC transfer to the platform wallet";
export const UNMATCHED = "unmatched: it is credited once its sending address is linked";

/** Several transfers to the platform in one transaction, through a contract that was allowed to take them. */
export async function batchOf(wallet: PrivateKeyAccount, amounts: readonly bigint[]) {
  const { multicall3, tokens } = chain.addresses;
  const to = tokens.USDC;
  const allowance = { abi: erc20Abi, functionName: "approve", args: [multicall3, maxUint256] } as const;
  await send(chain, wallet, { to, data: encodeFunctionData(allowance) });
  const calls = amounts.map((amount) => {
    const args = [wallet.address, PLATFORM, amount] as const;
    return { to, data: encodeFunctionData({ abi: erc20Abi, functionName: "transferFrom", args }) };
  });
  const receipt = await send(chain, wallet, { ...together(calls), gas: 8_000_000n });
  return { ...receipt, logs: receipt.logs.filter(({ topics }) => topics[0]?.startsWith("0xddf252ad")) };
}
