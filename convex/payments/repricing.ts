import type { Hex } from "viem";
import { log } from "../lib/log";
import { CHAIN_ID, chainClient } from "../providers/chain";
import { raisedFees, readFees } from "../providers/chainFees";
import { asHex } from "../wallets/addresses";
import { readBytes } from "../wallets/replacing";
import type { Settlement } from "./paidTables";
import { openRelayer } from "./relayer";

/** Settlements that the chain's fees have outgrown. For actions. */

/**
 * The same call from the same account under the same nonce with fees that the chain takes now: of the two, one at most is
 * ever mined. The nonce is not given up even where the payment has become hopeless, as later payments wait behind it.
 * @returns `null` while the base fee is still covered, or asks for more than this service pays, or when the account's
 * key is another one by now.
 * @throws AppError `upstream`; `not_configured`
 */
export async function repriced({
  relayer,
  nonce,
  rawTransaction,
}: Settlement): Promise<{ rawTransaction: Hex; txHash: Hex } | null> {
  const { call, gas, fees } = readBytes(asHex(rawTransaction));
  const market = await readFees(chainClient());
  if (market.baseFee <= fees.maxFeePerGas) return null;
  const raised = raisedFees(fees, market);
  if (raised === null) return null;
  const account = openRelayer();
  if (account.address !== relayer) {
    log.error("payments.settlement of another relayer", { relayer });
    return null;
  }
  return account.sign({ type: "eip1559", chainId: CHAIN_ID, nonce, gas, ...raised, ...call });
}
