import fc from "fast-check";
import {
  concat,
  decodeFunctionData,
  encodeFunctionData,
  numberToHex,
  slice,
  type Address,
  type Hex,
} from "viem";
import { expect, test } from "vitest";
import { guaranteeOf } from "../../convex/wallets/transactions/terms/settler";
import { settlerAbi } from "../../scripts/chain/abis";
import { random } from "../../scripts/standins/random";
import { alterationsOf, slippageIn, type SettlerCall } from "../hostile/swaps/settlerCalls";
import { settlerCall } from "../../scripts/standins/swap/settlerCall";

/** What is read out of a call of the settler is what the settler reads there, and nothing else is taken for one. */

const bytes = (min: number, max: number) =>
  fc
    .uint8Array({ minLength: min, maxLength: max })
    .map((one): Hex => `0x${Buffer.from(one).toString("hex")}`);
const address = bytes(20, 20).map((one): Address => one);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
/** An action that has its signature behind its end. */
const unsigned = fc.tuple(bytes(4, 4), fc.array(bytes(32, 32), { maxLength: 9 })).map(([selector, words]) => {
  const end = numberToHex(32 * (words.length + 1), { size: 32 });
  return concat([selector, ...words, end]);
});
const calls = fc.record({
  slippage: fc.record({ recipient: address, buyToken: address, minAmountOut: amount }),
  actions: fc
    .tuple(unsigned, fc.array(bytes(4, 300), { maxLength: 5 }))
    .map(([first, others]) => [first, ...others]),
  zid: bytes(12, 12),
  awaitsSignature: fc.boolean(),
});
const signature = bytes(65, 65);

const appended = (data: Hex, signed: Hex) => concat([data, numberToHex(65, { size: 32 }), signed]);
const written = ({ slippage, actions, zid, awaitsSignature }: SettlerCall) =>
  settlerCall(slippage, actions, zid, { awaitsSignature });

test("every call that 0x's API could write is read, before and behind its signature", () => {
  fc.assert(
    fc.property(calls, signature, (call, signed) => {
      const data = written(call);
      const read = guaranteeOf(data, call.awaitsSignature ? "awaited" : "none");
      expect(read?.minAmountOut).toBe(call.slippage.minAmountOut);
      expect([read?.recipient.toLowerCase(), read?.buyToken.toLowerCase()]).toEqual([
        call.slippage.recipient,
        call.slippage.buyToken,
      ]);
      if (call.awaitsSignature) expect(guaranteeOf(appended(data, signed), "appended")).toEqual(read);
    }),
  );
});

test("a call without a permit is read as any decoder of ABIs reads it", () => {
  fc.assert(
    fc.property(calls, (call) => {
      const data = written({ ...call, awaitsSignature: false });
      const { args } = decodeFunctionData({ abi: settlerAbi, data });
      expect(guaranteeOf(data, "none")).toEqual(args[0]);
      expect(encodeFunctionData({ abi: settlerAbi, functionName: "execute", args })).toBe(data);
    }),
  );
});

test("whatever is altered: what is read stands where the settler reads it, and nothing stands behind it", () => {
  fc.assert(
    fc.property(calls, signature, fc.integer(), (call, signed, seed) => {
      const chance = random("altered calls", seed);
      const { alter } = chance.pick(alterationsOf(chance));
      const data = alter(structuredClone(call));
      for (const standing of ["none", "awaited", "appended"] as const) {
        const whole = standing === "appended" ? appended(data, signed) : data;
        const read = guaranteeOf(whole, standing);
        if (read === null) continue;
        expect(slice(whole, 0, 4)).toBe("0x1fff991f");
        const { recipient, buyToken, minAmountOut } = slippageIn(whole);
        expect([read.recipient.toLowerCase(), read.buyToken.toLowerCase(), read.minAmountOut]).toEqual([
          recipient,
          buyToken,
          minAmountOut,
        ]);
        if (standing !== "none") continue;
        const { args } = decodeFunctionData({ abi: settlerAbi, data: whole });
        expect(encodeFunctionData({ abi: settlerAbi, functionName: "execute", args })).toBe(whole);
      }
    }),
    { numRuns: 500 },
  );
});

test("bytes at random are no call", () => {
  fc.assert(
    fc.property(bytes(0, 800), (data) => {
      for (const standing of ["none", "awaited", "appended"] as const)
        expect(guaranteeOf(data, standing)).toBe(null);
    }),
  );
});
