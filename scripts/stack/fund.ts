import {
  createPublicClient,
  createWalletClient,
  erc20Abi,
  http,
  isAddress,
  parseUnits,
  zeroAddress,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { CHAIN_ID, DECIMALS, DEV_MNEMONIC, TOKENS } from "../chain/addresses";
import { command, Misuse, OperatorError } from "../command";

/**
 * `npm run fund -- 0xADDRESS`: sends ether and tokens of the developer's account on the running local chain, with
 * ordinary transfers.
 */

const USAGE = `Usage: npm run fund -- 0xADDRESS

Sends 1 ETH, 1,000 USDC, 100 DAI, 100 USDT and 0.5 WETH from account 0 of the local chain.

Environment: CHAIN_PORT (8545)`;

const AMOUNTS = { USDC: "1000", DAI: "100", USDT: "100", WETH: "0.5" } as const;
const SYMBOLS = ["USDC", "DAI", "USDT", "WETH"] as const satisfies readonly (keyof typeof AMOUNTS)[];

const about = { usage: USAGE, flags: {}, most: 1 };
await command(about, async ({ positionals: [to = ""] }) => {
  if (!isAddress(to) || to === zeroAddress)
    throw new Misuse(
      `Name one address, with its capital letters as they were${to === "" ? "" : `: not ${to}`}`,
    );
  const url = `http://127.0.0.1:${process.env.CHAIN_PORT || "8545"}`;
  const transport = http(url, { retryCount: 0 });
  const client = createPublicClient({ chain: base, transport, pollingInterval: 50, cacheTime: 0 });
  const id = await client.getChainId().catch((cause: unknown) => {
    const remedy = "start it with npm start, or set CHAIN_PORT to its port.";
    throw new OperatorError(`There is no local chain at ${url}: ${remedy}`, { cause });
  });
  if (id !== CHAIN_ID) throw new OperatorError(`The chain at ${url} is ${id}, not the local stack's`);

  const wallet = createWalletClient({ account: mnemonicToAccount(DEV_MNEMONIC), chain: base, transport });
  console.log(`To ${to} on ${url}`);
  console.log(`  1 ETH ${await wallet.sendTransaction({ to, value: parseUnits("1", 18) })}`);
  for (const symbol of SYMBOLS) {
    const args = [to, parseUnits(AMOUNTS[symbol], DECIMALS[symbol])] as const;
    const transfer = { address: TOKENS[symbol], abi: erc20Abi, functionName: "transfer", args } as const;
    const hash = await wallet.writeContract(transfer);
    const { status } = await client.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new OperatorError(`${hash} was reverted`);
    console.log(`  ${AMOUNTS[symbol]} ${symbol} ${hash}`);
  }
});
