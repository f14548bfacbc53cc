import { expect, test } from "vitest";
import { equalBytes } from "../../convex/lib/security/crypto";

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
