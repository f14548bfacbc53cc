import { TransactionReceiptNotFoundError, type Hex } from "viem";
import { getChainId, getTransactionReceipt } from "viem/actions";
import { AppError } from "../lib/errors";
import { CHAIN_ID, chainClient, guarded, UPSTREAM } from "./chain";
import { orNull } from "./chainTransactions";

/** What the chain says of a transaction; `absent`: it has none with this hash, or not yet. */
export type ReceiptState = "succeeded" | "reverted" | "absent";

/**
 * Looks transactions up by hash, all in one round trip.
 * @returns A state for each, in order.
 * @throws AppError `upstream` when the chain cannot be asked, or is another one.
 */
export async function receiptStates(hashes: readonly Hex[]): Promise<ReceiptState[]> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, ...receipts] = await Promise.all([
      getChainId(client),
      ...hashes.map((hash) =>
        orNull(getTransactionReceipt(client, { hash }), TransactionReceiptNotFoundError),
      ),
    ]);
    if (chainId !== CHAIN_ID) {
      throw new AppError("upstream", `${UPSTREAM} serves chain ${chainId} rather than ${CHAIN_ID}`);
    }
    return receipts.map((receipt) => {
      if (receipt === null) return "absent";
      return receipt.status === "success" ? "succeeded" : "reverted";
    });
  });
}
