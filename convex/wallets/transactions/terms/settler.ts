import { getAddress, size, slice, type Address, type Hex } from "viem";

/**
 * Calls of 0x's settler, `execute((address recipient, address buyToken, uint256 minAmountOut) slippage, bytes[] actions,
 * bytes32 zid)`, and what they guarantee. Pure. Source: 0x-settler, `ISettlerTakerSubmitted.sol` and
 * `SettlerBase._checkSlippageAndTransfer`: whatever the actions do, the contract reverts unless they have gained at least
 * `minAmountOut` of `buyToken` for it, and pays that to `recipient`. With `buyToken` and `minAmountOut` both zero it checks
 * and pays nothing. The three words stand at fixed places of the call, whatever else is in it.
 */

const EXECUTE = "1fff991f";

export type Guarantee = { recipient: Address; buyToken: Address; minAmountOut: bigint };

/** The appendix of a call: a permit's signature as a length word and its 65 bytes, which is absent, awaited or appended. */
type Appendix = "none" | "awaited" | "appended";

const APPENDIX_BYTES = 65;
const APPENDED_BYTES = 32 + APPENDIX_BYTES;

/** More than any quote has. */
const MOST_ACTIONS = 64;

/** Hex digits of a word, and of the selector. */
const WORD = 64;
const SELECTOR = 8;

/**
 * What a call guarantees; `null` for anything but a call of `execute`, encoded as 0x's API does: without a permit like
 * any contract's call, one action after the other, and nothing after them. With a permit the first action comes last,
 * its length is open, and its arguments end with the place of the permit's signature (docs.0x.org, "append the
 * signature length and signature data"). The contract itself accepts far more: actions that overlap, that lie outside
 * the call, or before their own list.
 */
export function guaranteeOf(data: Hex, appendix: Appendix): Guarantee | null {
  const call = appendix === "appended" ? unsigned(data) : data;
  if (call === null || !call.toLowerCase().startsWith(`0x${EXECUTE}`)) return null;
  const body = call.slice(2 + SELECTOR).toLowerCase();
  const recipient = addressAt(body, 0);
  const buyToken = addressAt(body, 1);
  const minAmountOut = wordAt(body, 2);
  if (recipient === null || buyToken === null || minAmountOut === null) return null;
  if (wordAt(body, 3) !== 5n * 32n) return null;
  if (!isListOfActions(body.slice(5 * WORD), appendix !== "none")) return null;
  return { recipient, buyToken, minAmountOut };
}

/** The call before its signature was appended; `null` if it has none. */
function unsigned(data: Hex): Hex | null {
  const length = size(data) - APPENDED_BYTES;
  if (length <= 0 || BigInt(slice(data, length, length + 32)) !== BigInt(APPENDIX_BYTES)) return null;
  return slice(data, 0, length);
}

/** @param isOpen Whether the first action comes last and takes the appendix. */
function isListOfActions(list: string, isOpen: boolean): boolean {
  const count = Number(wordAt(list, 0) ?? 0n);
  if (count < 1 || count > MOST_ACTIONS) return false;
  const actions = list.slice(WORD);
  const inOrder = Array.from({ length: count }, (_, i) => (isOpen ? (i + 1) % count : i));
  let at = count * WORD;
  for (const i of inOrder) {
    // Offsets and lengths are in bytes.
    if (wordAt(actions, i) !== BigInt(at / 2)) return false;
    const length = wordAt(actions.slice(at), 0);
    const present = actions.length - at - WORD;
    if (length === null || length * 2n < BigInt(SELECTOR)) return false;
    if (isOpen && i === 0) {
      const reaches = length * 2n >= BigInt(present + 2 * APPENDED_BYTES);
      return reaches && endsAtSignature(actions.slice(at + WORD + SELECTOR));
    }
    if (length * 2n > BigInt(present)) return false;
    const digits = Number(length) * 2;
    const padded = Math.ceil(digits / WORD) * WORD;
    const padding = actions.slice(at + WORD + digits, at + WORD + padded);
    if (padding !== "0".repeat(padded - digits)) return false;
    at += WORD + padded;
  }
  return at === actions.length;
}

/** Whether an action's arguments are words, one of which names their end as the place of the appendix. */
function endsAtSignature(args: string): boolean {
  if (args.length === 0 || args.length % WORD !== 0) return false;
  const end = BigInt(args.length / 2);
  return Array.from({ length: args.length / WORD }, (_, i) => wordAt(args, i)).includes(end);
}

function wordAt(text: string, index: number): bigint | null {
  const word = text.slice(index * WORD, (index + 1) * WORD);
  return word.length === WORD ? BigInt(`0x${word}`) : null;
}

function addressAt(text: string, index: number): Address | null {
  const word = wordAt(text, index);
  return word === null || word >> 160n !== 0n ? null : getAddress(`0x${word.toString(16).padStart(40, "0")}`);
}
