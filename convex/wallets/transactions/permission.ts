import { isAddressEqual, type Address } from "viem";
import { AppError } from "../../lib/errors";
import type { Transaction } from "../../providers/chainPreparation";
import { asAddress } from "../addresses";
import { PERMIT2, swapAddress } from "../tokens";
import { approval, sendTransaction } from "./plan";
import { guaranteedBy } from "./quote";
import type { SwapTerms, TransactionRequest } from "./tables";

/** What a wallet may sign for what was ordered: the signer's last look at the very call that it signs. Pure. */

/**
 * @param owner The wallet's address.
 * @param terms A swap's, as its owner will be told them.
 * @throws AppError `internal` when the call is not what was ordered. It was checked before: this finds our own faults.
 */
export function requireOrdered(
  request: TransactionRequest,
  call: Transaction,
  owner: Address,
  terms: SwapTerms | undefined,
): void {
  if (!isOrdered(request, call, owner, terms)) {
    throw new AppError("internal", "The transaction is not what was ordered: nothing was signed");
  }
}

function isOrdered(
  request: TransactionRequest,
  call: Transaction,
  owner: Address,
  terms: SwapTerms | undefined,
): boolean {
  switch (request.kind) {
    case "send": {
      const { token, toAddress, amount } = request;
      return isSame(call, sendTransaction(token, asAddress(toAddress), BigInt(amount)));
    }
    case "approve": {
      const { token, spender, amount } = request;
      const isPermit2 = isAddressEqual(asAddress(spender), PERMIT2);
      return isPermit2 && isSame(call, approval(swapAddress(token), PERMIT2, BigInt(amount)));
    }
    case "swap": {
      const swap = { ...request, amount: BigInt(request.amount) };
      const least = guaranteedBy(call, swap, owner, { isSigned: true });
      return least !== null && terms !== undefined && least >= BigInt(terms.minBuyAmount);
    }
    case "fill":
    case "settlement":
    case "anchor":
      // None of these is ordered of a wallet.
      return false;
  }
}

function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}
