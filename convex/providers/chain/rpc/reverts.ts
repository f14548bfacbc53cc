import { decodeErrorResult, parseAbi, slice, type Hex } from "viem";

/**
 * Names why a contract has refused a call. A contract's own words are never passed on: their author could address a
 * person's assistant with them.
 */

/** The errors of the contracts that wallets here call: Permit2, 0x's settler, and tokens by ERC-6093. Sources: their ABIs. */
const KNOWN = parseAbi([
  "error InvalidNonce()",
  "error InvalidSigner()",
  "error InvalidSignature()",
  "error InvalidSignatureLength()",
  "error InvalidAmount(uint256 maxAmount)",
  "error SignatureExpired(uint256 signatureDeadline)",
  "error AllowanceExpired(uint256 deadline)",
  "error InsufficientAllowance(uint256 amount)",
  "error TooMuchSlippage(address token, uint256 expected, uint256 actual)",
  "error MsgValueMismatch(uint256 expected, uint256 actual)",
  "error ConfusedDeputy()",
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
  "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
  "error ERC20InvalidReceiver(address receiver)",
  "error ERC20InvalidSender(address sender)",
]);

/** Why a call would fail. */
export type Revert = {
  /** A contract's or a node's own words in one line: to recognise known ones, never to be shown. */
  reason: string;
  /** For people: the result of `revertName`, or one of the usual messages of nodes. */
  name: string;
};

/** `… with TooMuchSlippage`; `… with Error` for a text of the contract; the selector of an unknown error. */
export function revertName(data: Hex): string {
  if (data === "0x") return "execution reverted";
  try {
    return `execution reverted with ${decodeErrorResult({ abi: KNOWN, data }).errorName}`;
  } catch {
    return `execution reverted with ${slice(data, 0, Math.min(4, (data.length - 2) / 2))}`;
  }
}
