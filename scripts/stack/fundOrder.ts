import { formatUnits, isAddress, parseUnits, zeroAddress, type Address } from "viem";
import { Misuse } from "../command";
import { DECIMALS } from "../chain/addresses";

/** The arguments of `npm run fund`. */

export const USAGE = `Usage: npm run fund -- 0xADDRESS [--eth N] [--usdc N] [--dai N] [--usdt N] [--weth N] [--json]

Sends the given amounts from account 0 of the local chain. Without any, it sends 1 ETH, 1,000 USDC, 100 DAI, 100 USDT and
0.5 WETH.

  --json   prints what was sent, as JSON

Environment: CHAIN_PORT (8545)`;

const SYMBOLS = ["ETH", "USDC", "DAI", "USDT", "WETH"] as const;
export type Symbol = (typeof SYMBOLS)[number];
const STANDARD: Record<Symbol, string> = { ETH: "1", USDC: "1000", DAI: "100", USDT: "100", WETH: "0.5" };

export const FLAGS = {
  eth: { type: "string" },
  usdc: { type: "string" },
  dai: { type: "string" },
  usdt: { type: "string" },
  weth: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

type Order = { to: Address; amounts: { symbol: Symbol; units: bigint }[] };

/** A request that cannot be done; the message is for the operator. */
export class FundError extends Error {}

/** @throws Misuse */
export function orderOf(to = "", values: Partial<Record<Lowercase<Symbol>, string>>): Order {
  if (to === "") throw new Misuse("Name one address");
  if (!/^0x[0-9a-fA-F]{40}$/.test(to))
    throw new Misuse(`${to} is not an address: an address is 0x and 40 hex digits`);
  if (!isAddress(to)) throw new Misuse(`${to} is mistyped: its capital letters do not match its digits`);
  if (to === zeroAddress) throw new Misuse("The zero address belongs to nobody");

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
    throw new Misuse(
      `--${symbol.toLowerCase()} ${text} is not an amount: it must be more than 0 and have at most ${decimals} decimals`,
    );
  }
  return units;
}

/** `1000.5` as `1,000.5`. */
export function readable(units: bigint, symbol: Symbol): string {
  const [whole = "", fraction] = formatUnits(units, DECIMALS[symbol]).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
