import type { Order } from "./paidTables";
import { CHAIN_ID } from "./terms";

/** The text a payer signs (EIP-191, or ERC-1271) to bind a payment to an order. */
export function proofText(txHash: string, payTo: string, { userId, focus }: Order): string {
  return [
    "I redeem this payment for one market research report.",
    `Chain: ${CHAIN_ID}`,
    `Paid to: ${payTo.toLowerCase()}`,
    `Transaction: ${txHash.toLowerCase()}`,
    `User: ${userId ?? ""}`,
    `Token: ${focus}`,
  ].join("\n");
}
