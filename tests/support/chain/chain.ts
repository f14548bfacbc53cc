import { getAddress, toHex, type Address, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, test as base } from "vitest";
import * as z from "zod";
import type { Chain } from "../../../scripts/chain";
import { TOKENS } from "../../../scripts/chain/addresses";
import { clientOf, balanceOf } from "../../chain/support";
import { until } from "../waits";
import { createWalletApp, startTestChain, type WalletApp } from "./walletApp";
import type { WorldOptions } from "../world";

/** The chain of the running test file, which `useChain` started for it. */
export let chain: Chain;

export const ETHER = 10n ** 18n;

export const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);

/** Tests that use `app` on that chain, made with the `settings` of their file or group. */
export const test = base.extend<{ settings: WorldOptions; app: WalletApp }>({
  settings: {},
  app: async ({ settings }, use) => use(createWalletApp(chain, settings)),
});

/** A process starts one chain, which ends with it. */
let begun: { chain: Chain; snapshot: unknown } | undefined;

/** The chain as it began: a start takes twenty times as long. */
async function chainAnew(): Promise<Chain> {
  if (begun === undefined) {
    const started = await startTestChain();
    begun = { chain: started, snapshot: await started.rpc("evm_snapshot") };
    return started;
  }
  const { chain: again, snapshot } = begun;
  await again.rpc("anvil_dropAllTransactions");
  await again.rpc("evm_revert", [snapshot]);
  begun.snapshot = await again.rpc("evm_snapshot");
  again.miner.resume();
  // The node may have dropped the states of the blocks below: calls at past blocks need some again.
  await again.miner.mine();
  await again.rpc("anvil_mine", [toHex(KEPT_STATES), toHex(0)]);
  again.feeds.resume();
  await again.feeds.tick();
  return again;
}

/** More than any call looks back. */
const KEPT_STATES = 32;

/** To be called once by each test file that drives the application on a chain. */
export function useChain(): void {
  beforeAll(async () => {
    chain = await chainAnew();
  });
  afterEach(() => chain.miner.resume());
  // Between the files it does not work.
  afterAll(async () => {
    await chain.feeds.pause();
    await chain.miner.pause();
  });
}

/** The ether of an account, in wei. */
export const etherOf = (of: string): Promise<bigint> =>
  clientOf(chain).getBalance({ address: getAddress(of) });

/**
 * Sends a transaction of an account as if from before this service had its key, such as an allowance. Its nonce stays
 * the same, because a wallet whose chain knows more than its rows signs nothing.
 */
export async function beforehand(
  on: Chain,
  from: Address,
  calls: readonly { to: Address; data: Hex }[],
): Promise<void> {
  const nonce = await clientOf(on).getTransactionCount({ address: from });
  await on.rpc("anvil_impersonateAccount", [from]);
  const hashes: unknown[] = [];
  for (const call of calls) hashes.push(await on.rpc("eth_sendTransaction", [{ from, ...call }]));
  await until(async () => {
    const receipts = await Promise.all(hashes.map((one) => on.rpc("eth_getTransactionReceipt", [one])));
    return receipts.every((receipt) => receipt !== null);
  });
  await on.rpc("anvil_setNonce", [from, `0x${nonce.toString(16)}`]);
}

const balances = z.array(z.object({ token: z.string(), raw: z.string() }));

/** What a user's custody wallet holds, by token, in its smallest units. */
export async function holdingsOf(app: WalletApp, userId = "alice"): Promise<Record<string, bigint>> {
  const { body } = await app.get(`/mcp/defi/portfolio?userId=${userId}`);
  return Object.fromEntries(balances.parse(body.balances).map(({ token, raw }) => [token, BigInt(raw)]));
}

/** How many of an account's transactions are mined. */
export const nonceOf = (of: string): Promise<number> =>
  clientOf(chain).getTransactionCount({ address: getAddress(of) });

/** The USDC of an account, in millionths. */
export const usdcOf = (of: Address): Promise<bigint> => balanceOf(chain, TOKENS.USDC, of);

export const isMined = async (hash: unknown): Promise<boolean> =>
  (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null;
