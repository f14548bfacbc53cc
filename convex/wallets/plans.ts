import { encodeFunctionData, erc20Abi, type Address } from "viem";
import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money";
import type { Preparation, Transaction } from "../providers/chainPreparation";
import { TOKENS, type Symbol } from "./tokens";

/** What a send or an approval is on chain, and whether a wallet can pay for it. Pure. */

export function sendTransaction(token: Symbol, to: Address, amount: bigint): Transaction {
  const { address } = TOKENS[token];
  if (address === null) return { to, data: "0x", value: amount };
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] });
  return { to: address, data, value: 0n };
}

export function approval(token: Address, spender: Address, amount: bigint): Transaction {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [spender, amount] });
  return { to: token, data, value: 0n };
}

/** Room for the state to change between the estimate and the block. */
export function gasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

/** The L1 fee moves with the L1's own: keep twice of what it is now. */
const L1_FEE_MARGIN = 2n;

/**
 * What is missing to carry out a transaction, in words; `null` when nothing is.
 * @param spent What is spent of the chain's own coin besides fees, or of an ERC-20.
 */
export function shortfall(
  spent: { token: Symbol; amount: bigint },
  preparation: Preparation,
): { token: Symbol; missing: string } | null {
  const { token, amount } = spent;
  const native = TOKENS[token].address === null;
  const held = native ? preparation.native : preparation.token;
  if (held < amount) return { token, missing: insufficient(token, amount, held) };
  if (preparation.gas.kind === "reverts") return null;
  const fees = maximumFees(preparation, preparation.gas.gas);
  const needed = fees + (native ? amount : 0n);
  if (preparation.native >= needed) return null;
  const missing =
    `Insufficient ETH for the network fee: ${formatUnits(needed, 18)} needed in all (fee up to ` +
    `${formatUnits(fees, 18)}), the wallet holds ${formatUnits(preparation.native, 18)}, ` +
    `${formatUnits(needed - preparation.native, 18)} is missing`;
  return { token: "ETH", missing };
}

/** `Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing` */
export function insufficient(token: Symbol, needed: bigint, held: bigint): string {
  const shown = (amount: bigint) => formatUnits(amount, TOKENS[token].decimals);
  return (
    `Insufficient ${token}: ${shown(needed)} needed, the wallet holds ${shown(held)}, ` +
    `${shown(needed - held)} is missing`
  );
}

function maximumFees({ fees, l1Fee }: Preparation, gas: bigint): bigint {
  return gasLimit(gas) * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
}

/** The provider of a quote may know better than the estimate, up to three times of it. */
export function withGas(preparation: Preparation, wanted: bigint): Preparation {
  const { gas } = preparation;
  if (gas.kind === "reverts" || wanted <= gas.gas) return preparation;
  const most = gas.gas * 3n;
  return { ...preparation, gas: { kind: "estimated", gas: wanted < most ? wanted : most } };
}

/** @throws AppError `invalid_request` when the call would revert. */
export function gasOf({ gas }: Preparation): bigint {
  if (gas.kind === "estimated") return gasLimit(gas.gas);
  throw new AppError("invalid_request", `The transaction would fail: ${gas.reason}`);
}
