import { parseArgs } from "node:util";
import {
  BaseError,
  createPublicClient,
  createWalletClient,
  erc20Abi,
  formatUnits,
  http,
  isAddress,
  parseUnits,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { CHAIN_ID, DECIMALS, DEV_MNEMONIC, TOKENS } from "./chain/addresses";

/**
 * `npm run fund -- 0xADDRESS`: sends ether and tokens of the developer's account on the running local chain, by
 * transfers as anybody would make them.
 */

const USAGE = `Usage: npm run fund -- 0xADDRESS [--eth N] [--usdc N] [--dai N] [--usdt N] [--weth N]

Sends from account 0 of the local chain: the amounts given, else 1 ETH, 1,000 USDC, 100 DAI, 100 USDT and 0.5 WETH.

Environment: CHAIN_PORT (8545)`;

const SYMBOLS = ["ETH", "USDC", "DAI", "USDT", "WETH"] as const;
type Symbol = (typeof SYMBOLS)[number];
const STANDARD: Record<Symbol, string> = { ETH: "1", USDC: "1000", DAI: "100", USDT: "100", WETH: "0.5" };

type Order = { to: Address; amounts: { symbol: Symbol; units: bigint }[] };

/** What was asked for cannot be done; the message is for the operator. */
class FundError extends Error {}

async function main(): Promise<void> {
  const order = orderOf(process.argv.slice(2));
  if (order === null) return console.log(USAGE);
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
  const held = (symbol: Symbol) => {
    if (symbol === "ETH") return client.getBalance({ address: account.address });
    const call = { abi: erc20Abi, functionName: "balanceOf", args: [account.address] } as const;
    return client.readContract({ address: TOKENS[symbol], ...call });
  };
  for (const { symbol, units } of order.amounts) {
    const left = await held(symbol);
    if (left < units)
      throw new FundError(`Account 0 has ${readable(left, symbol)} ${symbol} left: nothing was sent`);
  }
  console.log(`To ${order.to} on ${url}`);
  for (const { symbol, units } of order.amounts) {
    const what = `${readable(units, symbol)} ${symbol}`;
    try {
      const { status, transactionHash } = await client.waitForTransactionReceipt({
        hash: await transfer(symbol, units),
      });
      if (status !== "success") throw new FundError(`${transactionHash} was reverted`);
      console.log(`  ${what.padEnd(16)} ${transactionHash}`);
    } catch (error) {
      throw new FundError(`${what} could not be sent: ${reasonOf(error)}`, { cause: error });
    }
  }
}

/** @throws FundError or, for an unknown flag, what `parseArgs` throws. */
function orderOf(argv: string[]): Order | null {
  const amount = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      eth: amount,
      usdc: amount,
      dai: amount,
      usdt: amount,
      weth: amount,
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  const [to = "", ...rest] = positionals;
  if (to === "" || rest.length > 0) throw new FundError(USAGE);
  if (!/^0x[0-9a-fA-F]{40}$/.test(to)) throw new FundError(`${to} is no address: 0x and 40 hex digits`);
  if (!isAddress(to)) throw new FundError(`${to} is mistyped: its capitals do not fit its digits`);
  if (to === zeroAddress) throw new FundError("Nobody has the zero address");

  const given = { ETH: values.eth, USDC: values.usdc, DAI: values.dai, USDT: values.usdt, WETH: values.weth };
  const chosen = SYMBOLS.some((symbol) => given[symbol] !== undefined) ? given : STANDARD;
  const amounts = SYMBOLS.flatMap((symbol) => {
    const text = chosen[symbol];
    return text === undefined ? [] : [{ symbol, units: unitsOf(text, symbol) }];
  });
  return { to, amounts };
}

function unitsOf(text: string, symbol: Symbol): bigint {
  const decimals = DECIMALS[symbol];
  const match = /^\d{1,30}(?:\.(\d+))?$/.exec(text);
  const fits = match !== null && (match[1] ?? "").length <= decimals;
  const units = fits ? parseUnits(text, decimals) : 0n;
  if (units === 0n) {
    throw new FundError(
      `--${symbol.toLowerCase()} ${text} is no amount: more than 0, with up to ${decimals} decimals`,
    );
  }
  return units;
}

async function requireLocalChain(url: string, chainId: () => Promise<number>): Promise<void> {
  const id = await chainId().catch((error: unknown) => {
    throw new FundError(
      `There is no local chain at ${url}: start it with npm start, or set CHAIN_PORT to its port.`,
      { cause: error },
    );
  });
  if (id !== CHAIN_ID) throw new FundError(`What answers at ${url} is chain ${id}, not the local stack's`);
}

/** `1000.5` as `1,000.5`. */
function readable(units: bigint, symbol: Symbol): string {
  const [whole = "", fraction] = formatUnits(units, DECIMALS[symbol]).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage.replaceAll("\n", " ");
  return error instanceof Error ? error.message : String(error);
}

function isForOperator(error: unknown): error is Error {
  const badFlag =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return error instanceof FundError || badFlag;
}

await main().catch((error: unknown) => {
  console.error(isForOperator(error) ? error.message : error);
  process.exitCode = 1;
});
