import { toFunctionSelector, type AbiParameter } from "viem";
import { expect, test } from "vitest";
import * as chain from "../../convex/providers/chain/rpc/methods";

type Method = {
  name: string;
  selector: string;
  inputs: readonly AbiParameter[];
  outputs: readonly AbiParameter[];
};

test("every method's selector is the one of its signature", () => {
  const { dataOf: _data, answerOf: _answer, answerIn: _in, ...contracts } = chain;
  const methods = Object.values<Record<string, Method>>(contracts).flatMap((one) => Object.values(one));

  expect(methods.length).toBeGreaterThan(0);
  for (const { selector, ...signature } of methods)
    expect(selector, signature.name).toBe(
      toFunctionSelector({ type: "function", stateMutability: "view", ...signature }),
    );
});
