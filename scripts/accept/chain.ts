import { createPublicClient, createWalletClient, custom, erc20Abi, type Address, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { base } from "viem/chains";
import * as z from "zod";
import { require } from "./row";
import { address } from "./shapes";
import { USDC, type World } from "./world";

/** The chain calls of rows, like those of any wallet. */

export const ONE_USDC = 1_000_000n;
export const ETHER = 10n ** 18n;

export function createChain(world: World) {
  const transport = custom({
    request: ({ method, params }: { method: string; params?: readonly unknown[] }) =>
      world.rpc(method, params ?? []),
  });
  const chain = createPublicClient({ chain: base, transport, pollingInterval: 50 });
  const waitForReceipt = async (hash: Hex): Promise<Hex> => {
    const { status } = await chain.waitForTransactionReceipt({ hash });
    require(status === "success", `${hash} was reverted`);
    return hash;
  };
  const sender = (account: PrivateKeyAccount) => createWalletClient({ account, chain: base, transport });
  const payer = privateKeyToAccount(world.payerKey());
  const sendEther = async (to: Address, value: bigint) =>
    waitForReceipt(await sender(payer).sendTransaction({ to, value }));
  const sendUsdc = async (to: Address, units: bigint, from = payer) =>
    waitForReceipt(
      await sender(from).writeContract({
        address: USDC,
        abi: erc20Abi,
        functionName: "transfer",
        args: [to, units],
      }),
    );
  return {
    payer,
    sendEther,
    sendUsdc,
    usdcOf: (of: Address) =>
      chain.readContract({ address: USDC, abi: erc20Abi, functionName: "balanceOf", args: [of] }),
    tokenOf: (token: Address, of: Address) =>
      chain.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [of] }),
    etherOf: (of: Address) => chain.getBalance({ address: of }),
    nonceOf: (of: Address) => chain.getTransactionCount({ address: of }),
    isMined: async (hash: string) => (await world.rpc("eth_getTransactionReceipt", [hash])) !== null,
    /** A new account with money. */
    someone: async (usdc: bigint, ether = ETHER / 100n) => {
      const account = privateKeyToAccount(generatePrivateKey());
      await sendEther(account.address, ether);
      if (usdc > 0n) await sendUsdc(account.address, usdc);
      return account;
    },
    /** Mines more blocks, so that a transaction counts as confirmed. */
    bury: async (blocks = 12) => {
      for (let block = 0; block < blocks; block++) await sendEther(payer.address, 1n);
    },
  };
}

export const nobody = (): Address => privateKeyToAccount(generatePrivateKey()).address;

export function getAddress(text: string): Address {
  return address.transform((hex): Address => `0x${hex.slice(2)}`).parse(text);
}

/** A user's custody wallet with money. */
export async function createFundedWallet(
  world: World,
  userId: string,
  { usdc = 0n, ether = ETHER / 50n } = {},
) {
  const answer = await world.post("/mcp/defi/connect", { userId });
  const wallet = getAddress(answer.as(z.object({ address })).address);
  const { sendEther, sendUsdc } = createChain(world);
  if (ether > 0n) await sendEther(wallet, ether);
  if (usdc > 0n) await sendUsdc(wallet, usdc);
  return wallet;
}
