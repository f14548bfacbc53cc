import type { Infer } from "convex/values";
import { parseAbi, parseEventLogs, parseTransaction, type Address, type Log } from "viem";
import type { Doc } from "../../../_generated/dataModel";
import { messageOf } from "../../../lib/errors";
import { log } from "../../../lib/log";
import { gainedIn, type Mined } from "../../../providers/chain/transactions";
import { storedAddress, asHex } from "../../addresses";
import { TOKENS, type Symbol } from "../../tokens";
import { REVERTED, WITHDRAWN } from "../states";
import type { vTraded } from "../tables";

/** The result of a mined transaction, by its receipt. For actions. */

type Traded = Infer<typeof vTraded>;
type Ending = { minedAs?: string } & (
  | { to: "confirmed"; traded?: Traded }
  | { to: "failed"; error: string; errorCode: "upstream" }
);

export async function endingOf(row: Doc<"transactions">, mined: Mined): Promise<Ending> {
  const { replacement, txHash } = row;
  const minedAs = mined.hash === txHash ? {} : { minedAs: mined.hash };
  const failed = (error: string) => ({
    ...minedAs,
    to: "failed" as const,
    error,
    errorCode: "upstream" as const,
  });
  if (!mined.succeeded) return failed(REVERTED);
  const others = replacement === undefined ? [] : [...replacement.outpriced, replacement];
  const isWithdrawn = others.some((one) => one.kind === "withdrawal" && one.txHash === mined.hash);
  if (isWithdrawn) return failed(WITHDRAWN);
  return { ...minedAs, to: "confirmed", ...(await tradedIn(row, mined)) };
}

async function tradedIn(row: Doc<"transactions">, mined: Mined): Promise<{ traded?: Traded }> {
  const { request, rawTransaction } = row;
  if (request.kind !== "swap" || rawTransaction === undefined) return {};
  try {
    const owner = storedAddress(row.address);
    const { value = 0n } = parseTransaction(asHex(rawTransaction));
    const gained = async (token: Symbol): Promise<bigint | null> => {
      if (TOKENS[token].address !== null) return gainedOf(token, owner, mined.logs);
      // Ether leaves no logs.
      const inBlock = await gainedIn(mined.blockNumber, owner);
      return inBlock === null ? null : inBlock + mined.fee + value;
    };
    const sold = request.fromToken === "ETH" ? value : -gainedOf(request.fromToken, owner, mined.logs);
    const bought = await gained(request.toToken);
    if (bought === null) return {};
    return { traded: { sellAmount: sold.toString(), buyAmount: bought.toString() } };
  } catch (error) {
    // The swap is confirmed all the same; its answer keeps the quoted amounts.
    log.warn("wallets.outcome unknown", { transactionId: row._id, error: messageOf(error) });
    return {};
  }
}

const tokenAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  // Wrapped ether is created and burnt without a transfer.
  "event Deposit(address indexed dst, uint256 wad)",
  "event Withdrawal(address indexed src, uint256 wad)",
]);

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
