import { isAddressEqual, pad, toEventSelector, type Address, type Hex, type Log } from "viem";
import { AppError } from "../../../lib/errors";
import { dataOf, erc20, multicall3, permit2, type Read } from "../../../providers/chain/rpc/methods";
import { MULTICALL3 } from "../../../providers/chain/rpc/reads";
import type { Simulated } from "../../../providers/chain/simulation";
import { PERMIT2, SYMBOLS, TOKENS, type Symbol } from "../../tokens";

/**
 * What a swap may do to its wallet, checked against its simulation before it is signed. Pure. The amount that the
 * wallet gets is guaranteed by the call (`settler.ts`); this finds what else would leave.
 */

export type Terms = { fromToken: Symbol; toToken: Symbol; amount: bigint; minBuyAmount: bigint };

const REFUSED = "The swap would do something else than what was asked for: nothing was swapped";

type Watched =
  | { kind: "balance"; token: Symbol; read: Read }
  | { kind: "allowance"; token: Symbol; spender: Address; read: Read }
  /** An allowance that Permit2 stores itself. */
  | { kind: "permit"; read: Read };

/** All balances of a wallet, and all allowances of Permit2 and the called contract. */
export function watchedOf(owner: Address, target: Address): Watched[] {
  return SYMBOLS.flatMap((token): Watched[] => {
    const { address } = TOKENS[token];
    if (address === null) {
      const data = dataOf(multicall3.getEthBalance, [owner]);
      return [{ kind: "balance", token, read: { to: MULTICALL3, data } }];
    }
    const balance = dataOf(erc20.balanceOf, [owner]);
    const kept = dataOf(permit2.allowance, [owner, address, target]);
    return [
      { kind: "balance", token, read: { to: address, data: balance } },
      ...[PERMIT2, target].map((spender) => {
        const data = dataOf(erc20.allowance, [owner, spender]);
        return { kind: "allowance" as const, token, spender, read: { to: address, data } };
      }),
      { kind: "permit", read: { to: PERMIT2, data: kept } },
    ];
  });
}

/**
 * Checks a simulated swap against its terms: at most the amount is sold, at least the minimum is bought, and no other
 * balance or allowance of the wallet changes.
 * @throws AppError `invalid_request` if it would revert, `upstream` if it would do anything else.
 */
export function checkOutcome(
  simulated: Simulated,
  watched: readonly Watched[],
  owner: Address,
  terms: Terms,
): void {
  if (simulated.kind === "reverts") {
    throw new AppError("invalid_request", `The transaction would fail: ${simulated.name}`);
  }
  const { before, behind, logs, gasPaid } = simulated;
  const sound =
    watched.every((one, i) => {
      const [was, is] = [before[i], behind[i]];
      return was !== undefined && is !== undefined && isAllowed(one, was, is, terms, gasPaid);
    }) && (logs ?? []).every((log) => isExpected(log, owner, terms));
  if (!sound) throw new AppError("upstream", REFUSED);
}

function isAllowed(one: Watched, was: Hex, is: Hex, terms: Terms, gasPaid: bigint): boolean {
  switch (one.kind) {
    case "permit":
      return was === is;
    case "allowance": {
      if (was === is) return true;
      // Permit2 takes what it was allowed to.
      const taken = BigInt(was) - BigInt(is);
      const takes = one.token === terms.fromToken && isAddressEqual(one.spender, PERMIT2);
      return takes && taken >= 0n && taken <= terms.amount;
    }
    case "balance": {
      const native = TOKENS[one.token].address === null;
      const gained = BigInt(is) - BigInt(was) + (native ? gasPaid : 0n);
      if (one.token === terms.toToken) return gained >= terms.minBuyAmount;
      if (one.token === terms.fromToken) return -gained <= terms.amount;
      return native ? gained >= 0n : gained === 0n;
    }
  }
}

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");
const APPROVAL = toEventSelector("Approval(address,address,uint256)");
/** Further ways to allow somebody to take something: of collections, and of Permit2. A swap needs none of them. */
const NEVER_EXPECTED = [
  "ApprovalForAll(address,address,bool)",
  "Approval(address,address,address,uint160,uint48)",
  "Permit(address,address,address,uint160,uint48,uint48)",
].map((event) => toEventSelector(event));

/** Whether an event that names the wallet belongs to the swap; all others say nothing about it. */
function isExpected({ address, topics, data }: Log, owner: Address, terms: Terms): boolean {
  const [event, first, second] = topics;
  if (event !== TRANSFER && event !== APPROVAL && !NEVER_EXPECTED.some((one) => one === event)) return true;
  const name = pad(owner, { size: 32 }).slice(2).toLowerCase();
  const names = (word: Hex | undefined) => word?.slice(2).toLowerCase() === name;
  if (!topics.some(names) && !data.toLowerCase().includes(name)) return true;
  const isOf = (token: Symbol) => {
    const own = TOKENS[token].address;
    return own !== null && isAddressEqual(own, address);
  };
  if (event === TRANSFER) {
    if (names(first)) return isOf(terms.fromToken);
    return names(second) && (isOf(terms.toToken) || isOf(terms.fromToken));
  }
  // Tokens log the rest of an allowance when some of it was used; the allowances themselves are read.
  const spender = pad(PERMIT2, { size: 32 }).toLowerCase();
  return event === APPROVAL && names(first) && second?.toLowerCase() === spender && isOf(terms.fromToken);
}
