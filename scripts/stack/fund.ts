import { BaseError, createPublicClient, createWalletClient, erc20Abi, http, type Hex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { command } from "../command";
import { CHAIN_ID, DEV_MNEMONIC, TOKENS } from "../chain/addresses";
import { FLAGS, FundError, orderOf, readable, USAGE, type Symbol } from "./fundOrder";

/**
 * `npm run fund -- 0xADDRESS`: sends ether and tokens of the developer's account on the running local chain, with
 * ordinary transfers.
 */

const about = { usage: USAGE, flags: FLAGS, most: 1, forOperator: [FundError] };
await command(about, async ({ values: { json, ...amounts }, positionals: [to] }) => {
  const order = orderOf(to, amounts);
  const url = `http://127.0.0.1:${process.env.CHAIN_PORT || "8545"}`;
  const transport = http(url, { retryCount: 0 });
  const client = createPublicClient({ chain: base, transport, pollingInterval: 50, cacheTime: 0 });
  await requireLocalChain(url, () => client.getChainId());

  const account = mnemonicToAccount(DEV_MNEMONIC);
  const wallet = createWalletClient({ account, chain: base, transport });
  const transfer = (symbol: Symbol, units: bigint): Promise<Hex> => {
    if (symbol === "ETH") return wallet.sendTransaction({ to: order.to, value: units });
    const call = { abi: erc20Abi, functionName: "transfer", args: [order.to, units] } as const;
    return wallet.writeContract({ address: TOKENS[symbol], ...call });
  };
  const balanceOf = (symbol: Symbol) => {
    if (symbol === "ETH") return client.getBalance({ address: account.address });
    const call = { abi: erc20Abi, functionName: "balanceOf", args: [account.address] } as const;
    return client.readContract({ address: TOKENS[symbol], ...call });
  };
  for (const { symbol, units } of order.amounts) {
    const left = await balanceOf(symbol);
    if (left < units)
      throw new FundError(`Account 0 has ${readable(left, symbol)} ${symbol} left: nothing was sent`);
  }
  const show = json ? () => {} : (line: string) => console.log(line);
  const sent: { token: Symbol; units: string; txHash: Hex }[] = [];
  show(`To ${order.to} on ${url}`);
  for (const { symbol, units } of order.amounts) {
    const what = `${readable(units, symbol)} ${symbol}`;
    try {
      const { status, transactionHash } = await client.waitForTransactionReceipt({
        hash: await transfer(symbol, units),
      });
      if (status !== "success") throw new FundError(`${transactionHash} was reverted`);
      sent.push({ token: symbol, units: String(units), txHash: transactionHash });
      show(`  ${what.padEnd(16)} ${transactionHash}`);
    } catch (error) {
      throw new FundError(`${what} could not be sent: ${reasonOf(error)}`, { cause: error });
    }
  }
  if (json) console.log(JSON.stringify({ to: order.to, chain: url, sent }, null, 2));
});

async function requireLocalChain(url: string, chainId: () => Promise<number>): Promise<void> {
  const id = await chainId().catch((error: unknown) => {
    throw new FundError(
      `There is no local chain at ${url}: start it with npm start, or set CHAIN_PORT to its port.`,
      { cause: error },
    );
  });
  if (id !== CHAIN_ID) throw new FundError(`The chain at ${url} is ${id}, not the local stack's`);
}

function reasonOf(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage.replaceAll("\n", " ");
  return error instanceof Error ? error.message : String(error);
}
