import { toFunctionSelector } from "viem";
import { expect, test } from "vitest";
import * as contracts from "../../convex/providers/chain/methods";

test("every method's selector is the one of its signature", () => {
  const { dataOf: _data, answerOf: _answer, answerIn: _in, ...named } = contracts;
  const methods = Object.values(named).flatMap((contract) => Object.values(contract));

  expect(methods.length).toBeGreaterThan(0);
  for (const { name, selector, inputs, outputs } of methods)
    expect(selector, name).toBe(
      toFunctionSelector({ type: "function", name, inputs, outputs, stateMutability: "view" }),
    );
});
