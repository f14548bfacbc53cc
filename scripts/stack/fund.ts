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
import { CHAIN_ID, DECIMALS, DEV_MNEMONIC, TOKENS } from "../chain/addresses";
import { command, Misuse } from "../command";

/**
 * `npm run fund -- 0xADDRESS`: sends ether and tokens of the developer's account on the running local chain, with
 * ordinary transfers.
 */

const USAGE = `Usage: npm run fund -- 0xADDRESS [--eth N] [--usdc N] [--dai N] [--usdt N] [--weth N] [--json]

Sends the given amounts from account 0 of the local chain. Without any, it sends 1 ETH, 1,000 USDC, 100 DAI, 100 USDT and
0.5 WETH.

  --json   prints what was sent, as JSON

Environment: CHAIN_PORT (8545)`;

const SYMBOLS = ["ETH", "USDC", "DAI", "USDT", "WETH"] as const;
type Symbol = (typeof SYMBOLS)[number];
const STANDARD = { eth: "1", usdc: "1000", dai: "100", usdt: "100", weth: "0.5" };

const FLAGS = {
  eth: { type: "string" },
  usdc: { type: "string" },
  dai: { type: "string" },
  usdt: { type: "string" },
  weth: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** A request that cannot be done; the message is for the operator. */
class FundError extends Error {}

const about = { usage: USAGE, flags: FLAGS, most: 1, forOperator: [FundError] };
await command(about, async ({ values: { json, ...given }, positionals: [named] }) => {
  const to = recipientOf(named);
  const amounts = amountsOf(Object.keys(given).length === 0 ? STANDARD : given);
  const url = `http://127.0.0.1:${process.env.CHAIN_PORT || "8545"}`;
  const transport = http(url, { retryCount: 0 });
  const client = createPublicClient({ chain: base, transport, pollingInterval: 50, cacheTime: 0 });
  const id = await client.getChainId().catch((cause: unknown) => {
    const remedy = "start it with npm start, or set CHAIN_PORT to its port.";
    throw new FundError(`There is no local chain at ${url}: ${remedy}`, { cause });
  });
  if (id !== CHAIN_ID) throw new FundError(`The chain at ${url} is ${id}, not the local stack's`);

  const account = mnemonicToAccount(DEV_MNEMONIC);
  const wallet = createWalletClient({ account, chain: base, transport });
  const erc20 = (symbol: keyof typeof TOKENS) => ({ address: TOKENS[symbol], abi: erc20Abi });
  for (const { symbol, units } of amounts) {
    const left =
      symbol === "ETH"
        ? await client.getBalance({ address: account.address })
        : await client.readContract({ ...erc20(symbol), functionName: "balanceOf", args: [account.address] });
    if (left < units)
      throw new FundError(`Account 0 has ${readable(left, symbol)} ${symbol} left: nothing was sent`);
  }
  const show = json ? () => {} : (line: string) => console.log(line);
  const sent: { token: Symbol; units: string; txHash: Hex }[] = [];
  show(`To ${to} on ${url}`);
  for (const { symbol, units } of amounts) {
    const what = `${readable(units, symbol)} ${symbol}`;
    try {
      const hash =
        symbol === "ETH"
          ? await wallet.sendTransaction({ to, value: units })
          : await wallet.writeContract({ ...erc20(symbol), functionName: "transfer", args: [to, units] });
      const { status } = await client.waitForTransactionReceipt({ hash });
      if (status !== "success") throw new FundError(`${hash} was reverted`);
      sent.push({ token: symbol, units: String(units), txHash: hash });
      show(`  ${what.padEnd(16)} ${hash}`);
    } catch (error) {
      throw new FundError(`${what} could not be sent: ${reasonOf(error)}`, { cause: error });
    }
  }
  if (json) console.log(JSON.stringify({ to, chain: url, sent }, null, 2));
});

/** @throws Misuse */
function recipientOf(to = ""): Address {
  if (to === "") throw new Misuse("Name one address");
  if (!/^0x[0-9a-fA-F]{40}$/.test(to))
    throw new Misuse(`${to} is not an address: an address is 0x and 40 hex digits`);
  if (!isAddress(to)) throw new Misuse(`${to} is mistyped: its capital letters do not match its digits`);
  if (to === zeroAddress) throw new Misuse("The zero address belongs to nobody");
  return to;
}

/** @throws Misuse */
function amountsOf(given: Partial<Record<Lowercase<Symbol>, string>>): { symbol: Symbol; units: bigint }[] {
  const texts = { ETH: given.eth, USDC: given.usdc, DAI: given.dai, USDT: given.usdt, WETH: given.weth };
  return SYMBOLS.flatMap((symbol) => {
    const text = texts[symbol];
    if (text === undefined) return [];
    const decimals = DECIMALS[symbol];
    const [, fraction = ""] = /^\d{1,30}(?:\.(\d+))?$/.exec(text) ?? [text, "x".repeat(99)];
    const units = fraction.length <= decimals ? parseUnits(text, decimals) : 0n;
    if (units > 0n) return [{ symbol, units }];
    const flag = `--${symbol.toLowerCase()} ${text}`;
    throw new Misuse(
      `${flag} is not an amount: it must be more than 0 and have at most ${decimals} decimals`,
    );
  });
}

/** `1000.5` as `1,000.5`. */
function readable(units: bigint, symbol: Symbol): string {
  return formatUnits(units, DECIMALS[symbol]).replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ",");
}

function reasonOf(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage.replaceAll("\n", " ");
  return error instanceof Error ? error.message : String(error);
}
