import {
  concat,
  encodeFunctionData,
  erc20Abi,
  numberToHex,
  padHex,
  size,
  slice,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import { actionsAbi } from "../../scripts/chain/abis";
import { PERMIT2, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import type { Random } from "../../scripts/standins/random";
import { buildSettlerCall, type Slippage } from "../../scripts/chain/settlerCall";

/** The calls of honest quotes, read and altered in every way that their encoding allows. */

const THIEF: Address = "0x6666666666666666666666666666666666666666";

export type SettlerCall = { slippage: Slippage; actions: Hex[]; zid: Hex; awaitsSignature: boolean };

const word = (data: Hex, index: number): Hex => slice(data, 4 + 32 * index, 4 + 32 * (index + 1));
const numberAt = (data: Hex, at: number): number => Number(slice(data, at, at + 32));

/** What a call says at the places where the settler reads it, whatever else is in it. */
export function slippageIn(data: Hex): Slippage {
  return {
    recipient: slice(word(data, 0), 12),
    buyToken: slice(word(data, 1), 12),
    minAmountOut: BigInt(word(data, 2)),
  };
}

/** An honest quote's call. */
export function readCall(data: Hex, awaitsSignature: boolean): SettlerCall {
  const list = 4 + 32 * 6;
  const actions = Array.from({ length: numberAt(data, list - 32) }, (_, i) => {
    const at = list + numberAt(data, list + 32 * i);
    return slice(data, at + 32, Math.min(at + 32 + numberAt(data, at), size(data)));
  });
  return { slippage: slippageIn(data), actions, zid: word(data, 4), awaitsSignature };
}

function writeCall({ slippage, actions, zid, awaitsSignature }: SettlerCall): Hex {
  return buildSettlerCall(slippage, actions, zid, { awaitsSignature });
}

/** Sends all that the settler holds of a token to somebody. */
function giveAway(token: Address, to: Address): Hex {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, 0n] });
  return encodeFunctionData({
    abi: actionsAbi,
    functionName: "BASIC",
    args: [token, 10_000n, token, 36n, data],
  });
}

type Alteration = { name: string; alter: (call: SettlerCall) => Hex };

/** Ways to alter a call; some do no harm. */
export function alterationsOf(chance: Random): Alteration[] {
  const somebody = () => chance.pick([THIEF, SETTLER, PERMIT2, zeroAddress]);
  const token = () => chance.pick([...Object.values(TOKENS), zeroAddress, THIEF]);
  const rewritten =
    (change: (call: SettlerCall) => void) =>
    (call: SettlerCall): Hex => {
      change(call);
      return writeCall(call);
    };
  const reworded =
    (index: () => number, value: (was: bigint) => bigint) =>
    (call: SettlerCall): Hex => {
      const data = writeCall(call);
      const at = 4 + 32 * index();
      if (at + 32 > size(data)) return data;
      const was = BigInt(slice(data, at, at + 32));
      const is = padHex(numberToHex(BigInt.asUintN(256, value(was))), { size: 32 });
      return concat([slice(data, 0, at), is, slice(data, at + 32)]);
    };
  const some = () =>
    chance.pick([0n, 1n, 31n, 32n, 0xa0n, 2n ** 160n, 2n ** 256n - 1n, BigInt(chance.whole(0, 4_096))]);
  return [
    { name: "recipient", alter: rewritten(({ slippage }) => (slippage.recipient = somebody())) },
    { name: "token", alter: rewritten(({ slippage }) => (slippage.buyToken = token())) },
    {
      name: "minimum",
      alter: rewritten(({ slippage }) => {
        const was = slippage.minAmountOut;
        const other = chance.pick([0n, 1n, was / 2n, was - 1n, was + 1n, -1n]);
        // One less than nothing and one more than the most are 256 bits too.
        slippage.minAmountOut = BigInt.asUintN(256, other);
      }),
    },
    {
      name: "zeros",
      alter: rewritten((call) => {
        call.slippage = { recipient: somebody(), buyToken: zeroAddress, minAmountOut: 0n };
        call.actions.push(giveAway(chance.pick(Object.values(TOKENS)), THIEF));
      }),
    },
    {
      name: "selector",
      alter: (call) => {
        const others: Hex[] = [
          "0x06b8524c",
          "0xfd3ad6d4",
          "0x2213bc0b",
          "0xc1fb425e",
          "0xa9059cbb",
          "0x00000000",
        ];
        return concat([chance.pick(others), slice(writeCall(call), 4)]);
      },
    },
    {
      name: "trailing bytes",
      alter: (call) => concat([writeCall(call), `0x${chance.hex(2 * chance.whole(1, 200))}`]),
    },
    {
      name: "missing bytes",
      alter: (call) => {
        const data = writeCall(call);
        return slice(data, 0, chance.whole(4, size(data)));
      },
    },
    {
      name: "dirty address",
      alter: reworded(
        () => chance.pick([0, 1]),
        (was) => was + (1n << 160n) * BigInt(chance.whole(1, 99)),
      ),
    },
    { name: "a word", alter: reworded(() => chance.whole(3, 8), some) },
    {
      name: "encoding",
      alter: (call) => writeCall({ ...call, awaitsSignature: !call.awaitsSignature }),
    },
  ];
}
