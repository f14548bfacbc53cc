import { isAddressEqual, type Address } from "viem";
import type { Doc } from "../../../_generated/dataModel";
import { AppError } from "../../../lib/errors";
import { formatUnits } from "../../../lib/money/amounts";
import type { Transaction } from "../../../providers/chain/preparation";
import { storedAddress } from "../../addresses";
import { PERMIT2, swapAddress } from "../../tokens";
import { approval, sendTransaction } from "./plan";
import { guaranteedBy, type Message } from "./quote";
import type { TransactionRequest } from "../tables";

/** What a permission lets a wallet sign: the signer's last check of the exact call or message. Pure. */

type Terms = Pick<Doc<"permissions">, "request" | "minBuyAmount" | "mostFee">;

/**
 * @param owner The wallet's address.
 * @param least The guaranteed minimum that a swap's owner will see.
 * @throws AppError `internal` if the call is not what was ordered. It was checked before: this finds our own mistakes.
 */
export function requireAllowed(
  terms: Terms,
  call: Transaction,
  owner: Address,
  least: bigint | undefined,
): void {
  if (!isOrdered(terms, call, owner, least)) throw new AppError("internal", OTHER);
}

/**
 * @param fee The most that the network could take for the transaction: its gas, and its L1 data with a margin, in wei.
 * @throws AppError `upstream` if that exceeds the permission.
 */
export function requireAffordable({ mostFee }: Terms, fee: bigint): void {
  if (fee <= BigInt(mostFee)) return;
  const [could, most] = [fee, BigInt(mostFee)].map((wei) => formatUnits(wei, 18));
  throw new AppError(
    "upstream",
    `The network fee could reach ${could} ETH, and at most ${most} ETH are allowed for it: nothing was signed`,
  );
}

/** @throws AppError `internal` if a permit would allow another token or more than the swap sells. */
export function requirePermitAllowed({ request }: Terms, { permitted }: Message): void {
  const isSold =
    request.kind === "swap" &&
    isAddressEqual(permitted.token, swapAddress(request.fromToken)) &&
    permitted.amount === BigInt(request.amount);
  if (!isSold) throw new AppError("internal", OTHER);
}

export const PRICE_MOVED = "The price has moved since it was approved: nothing was signed";

const OTHER = "The transaction is not what was ordered: nothing was signed";

/** A swap's permission also covers the approval that it needs first: Permit2's, for no more than it sells. */
function isOrdered(
  { request, minBuyAmount }: Terms,
  call: Transaction,
  owner: Address,
  least: bigint | undefined,
): boolean {
  switch (request.kind) {
    case "send": {
      const { token, toAddress, amount } = request;
      return isSame(call, sendTransaction(token, storedAddress(toAddress), BigInt(amount)));
    }
    case "swap": {
      if (isApprovalOf(request, call)) return true;
      const swap = { ...request, amount: BigInt(request.amount) };
      const guaranteed = guaranteedBy(call, swap, owner, { isSigned: true });
      if (guaranteed === null || least === undefined || guaranteed < least) return false;
      if (minBuyAmount !== undefined && guaranteed < BigInt(minBuyAmount))
        throw new AppError("upstream", PRICE_MOVED);
      return true;
    }
    case "approve":
    case "fill":
    case "settlement":
    case "anchor":
      // Nobody orders these for a wallet.
      return false;
  }
}

/** For exactly the sold amount, or zero: some tokens refuse to change an allowance that is not zero. */
function isApprovalOf(
  { fromToken, amount }: Extract<TransactionRequest, { kind: "swap" }>,
  call: Transaction,
): boolean {
  if (fromToken === "ETH") return false;
  return [0n, BigInt(amount)].some((most) => isSame(call, approval(swapAddress(fromToken), PERMIT2, most)));
}

function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}
