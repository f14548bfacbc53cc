import {
  concat,
  encodeFunctionData,
  numberToHex,
  padHex,
  size,
  sliceHex,
  type Address,
  type Hex,
} from "viem";
import { settlerAbi } from "./abis";

/** Calls of the settler, as 0x's API writes them. */

/** The settler's guarantee: zero for both the token and the minimum means no check at all. */
export type Slippage = { recipient: Address; buyToken: Address; minAmountOut: bigint };

/** The first action's length while its signature is missing: more than there will ever be. */
const OPEN_LENGTH = 0xffff;

/**
 * A call of the settler.
 * @param actions Each with its selector. If a signature is to be appended, the first one has no place for it yet: it
 * ends with the offset at which its signature will be.
 * @param awaitsSignature The first action comes last, after the others, and its length is open: the appended length
 * word and signature become its end. 0x's API writes every quote with a permit like this.
 */
export function buildSettlerCall(
  slippage: Slippage,
  actions: readonly Hex[],
  zid: Hex,
  { awaitsSignature }: { awaitsSignature: boolean },
): Hex {
  const call = { abi: settlerAbi, functionName: "execute" } as const;
  const tag = padHex(zid, { size: 32, dir: "right" });
  if (!awaitsSignature) return encodeFunctionData({ ...call, args: [slippage, actions, tag] });
  const [first = "0x", ...others] = actions;
  const head = sliceHex(encodeFunctionData({ ...call, args: [slippage, [], tag] }), 0, 4 + 5 * 32);
  const tails = others.map((action) => {
    const padded = Math.ceil(size(action) / 32) * 32;
    return concat([word(size(action)), padHex(action, { size: padded, dir: "right" })]);
  });
  const offsets: number[] = [];
  let at = 32 * actions.length;
  for (const tail of tails) {
    offsets.push(at);
    at += size(tail);
  }
  const words = [actions.length, at, ...offsets].map(word);
  return concat([head, ...words, ...tails, word(OPEN_LENGTH), first]);
}

function word(value: number): Hex {
  return numberToHex(value, { size: 32 });
}
