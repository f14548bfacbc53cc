import ts from "typescript";
import { expect, test } from "vitest";
import { equalBytes } from "../../convex/lib/crypto";
import { nodesOf, sources } from "./sources";

const EQUALITIES: readonly ts.SyntaxKind[] = [
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
];
const SECRET = /secret|signature|hmac|\bmac\b|digest|botToken|password|apiKey|encryptionKey|crc_token/i;
/** Whether there is one at all, what it is called and how long it is, is no secret; nor is a sealed one. */
const HARMLESS = /^(?:undefined|null|""|true|false|\d+)$|\.length$|\.kind$|^typeof |\bsealed/;

test("nothing secret is compared with an operator that stops at the first difference", () => {
  const comparisons = sources().flatMap((source) =>
    nodesOf(source, ts.isBinaryExpression)
      .filter(({ node }) => EQUALITIES.includes(node.operatorToken.kind))
      .filter(({ node: { left, right } }) => {
        const sides = [left.getText(), right.getText()];
        return sides.some((side) => SECRET.test(side)) && !sides.some((side) => HARMLESS.test(side));
      })
      .map(({ node, where }) => `${where} ${node.getText()}`),
  );
  expect(comparisons).toEqual([]);
});

test("the comparison that is used looks at every byte", () => {
  const seen: number[] = [];
  const watched = new Proxy(new Uint8Array([9, 2, 3, 4]), {
    get: (target, key): unknown => {
      if (typeof key === "string" && /^\d+$/.test(key)) seen.push(Number(key));
      return Reflect.get(target, key);
    },
  });
  expect(equalBytes(watched, new Uint8Array([1, 2, 3, 4]))).toBe(false);
  expect(seen).toEqual([0, 1, 2, 3]);
  expect(equalBytes(new Uint8Array([1, 2]), new Uint8Array([1, 2]))).toBe(true);
  expect(equalBytes(new Uint8Array([1, 2]), new Uint8Array([1, 2, 3]))).toBe(false);
});
