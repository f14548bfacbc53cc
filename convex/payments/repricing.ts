import { parseTransaction, type Hex } from "viem";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { gasPrices } from "../providers/chainTransactions";
import { asHex } from "../wallets/addresses";
import type { Settlement } from "./paidTables";
import { openRelayer } from "./relayer";

/** Settlements that the chain's fees have outgrown. For actions. */

/** Nodes take a replacement whose two fees are both at least a tenth higher; this much leaves room for rounding. */
const RAISE_PERCENT = 25n;

/**
 * The same call from the same account under the same nonce with fees that the chain takes now: of the two, one at most is
 * ever mined. The nonce is not given up even where the payment has become hopeless, as later payments wait behind it.
 * @returns `null` while the base fee is still covered, or when the account's key is another one by now.
 * @throws AppError `upstream`; `not_configured`
 */
export async function repriced({
  relayer,
  rawTransaction,
}: Settlement): Promise<{ rawTransaction: Hex; txHash: Hex } | null> {
  const transaction = parseTransaction(asHex(rawTransaction));
  if (transaction.type !== "eip1559") throw new AppError("internal", "A settlement is of another type");
  const {
    maxFeePerGas = 0n,
    maxPriorityFeePerGas = 0n,
    r: _r,
    s: _s,
    v: _v,
    yParity: _y,
    ...call
  } = transaction;
  const { baseFee, tip } = await gasPrices();
  if (baseFee <= maxFeePerGas) return null;
  const account = openRelayer();
  if (account.address !== relayer) {
    log.error("payments.settlement of another relayer", { relayer });
    return null;
  }
  const raised = (fee: bigint) => (fee * (100n + RAISE_PERCENT)) / 100n + 1n;
  const priority = max(tip, raised(maxPriorityFeePerGas));
  return account.sign({
    ...call,
    maxPriorityFeePerGas: priority,
    maxFeePerGas: max(baseFee * 2n + priority, raised(maxFeePerGas)),
  });
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
