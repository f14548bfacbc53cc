import { parseAbi, parseEventLogs, parseTransaction, type Address, type Log } from "viem";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { gainedIn, type Mined } from "../../providers/chain/transactions";
import { asHex, storedAddress } from "../addresses";
import { TOKENS, type Symbol } from "../tokens";
import type { Order } from "./model";

const tokenAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  // Wrapped ether is created and burnt without a transfer.
  "event Deposit(address indexed dst, uint256 wad)",
  "event Withdrawal(address indexed src, uint256 wad)",
]);

/** What a mined swap has sold and bought, by its receipt; `undefined` for other orders, and where it is not known. For actions. */
export async function tradedIn(row: Order, mined: Mined): Promise<Order["traded"]> {
  const { request, tries } = row;
  const one = tries.find(({ hash }) => hash === mined.hash);
  if (request.kind !== "swap" || one?.kind !== "call") return undefined;
  try {
    const owner = storedAddress(row.address);
    const { value = 0n } = parseTransaction(asHex(one.raw));
    const gained = async (token: Symbol): Promise<bigint | null> => {
      if (TOKENS[token].address !== null) return gainedOf(token, owner, mined.logs);
      // Ether leaves no logs.
      const inBlock = await gainedIn(mined.blockNumber, owner);
      return inBlock === null ? null : inBlock + mined.fee + value;
    };
    const sold = request.fromToken === "ETH" ? value : -gainedOf(request.fromToken, owner, mined.logs);
    const bought = await gained(request.toToken);
    return bought === null ? undefined : { sellAmount: sold.toString(), buyAmount: bought.toString() };
  } catch (error) {
    // The swap is confirmed all the same; its answer keeps the quoted amounts.
    log.warn("wallets.outcome unknown", { orderId: row._id, error: messageOf(error) });
    return undefined;
  }
}

/** How much an account has gained of a token by a transaction's logs, in its smallest unit. */
function gainedOf(token: Symbol, owner: Address, logs: readonly Log[]): bigint {
  const address = TOKENS[token].address?.toLowerCase();
  const own = logs.filter((one) => one.address.toLowerCase() === address);
  const is = (one: Address) => one.toLowerCase() === owner.toLowerCase();
  return parseEventLogs({ abi: tokenAbi, logs: own }).reduce((sum, { eventName, args }) => {
    switch (eventName) {
      case "Transfer":
        return sum + (is(args.to) ? args.value : 0n) - (is(args.from) ? args.value : 0n);
      case "Deposit":
        return sum + (is(args.dst) ? args.wad : 0n);
      case "Withdrawal":
        return sum - (is(args.src) ? args.wad : 0n);
    }
  }, 0n);
}
