import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseProof, proofHeader } from "../../convex/payments/reports/proofs/forms";

/** Proofs as callers write them. */

const digit = fc.constantFrom(..."0123456789abcdefABCDEF");
const hex = (bytes: number) =>
  fc.string({ unit: digit, minLength: 2 * bytes, maxLength: 2 * bytes }).map((text) => `0x${text}`);
const txHash = hex(32);
const requestId = fc.string({ minLength: 1, maxLength: 200, unit: "binary-ascii" });
const uint = fc.bigInt({ min: 0n, max: 2n ** 255n }).map(String);

const toBase64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
const toUrlSafe = (text: string) => Buffer.from(text, "utf8").toString("base64url");
const wrapping = fc.constantFrom((text: string) => text, toBase64, toUrlSafe);

const authorization = fc.record({
  from: hex(20),
  to: hex(20),
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: hex(32),
});

const lower = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, text.toLowerCase()]));

describe("a proof", () => {
  test("that is a bare hash is that hash in lower case", () =>
    fc.assert(
      fc.property(txHash, (hash) => {
        expect(parseProof(hash)).toEqual({ kind: "hash", txHash: hash.toLowerCase() });
      }),
    ));

  test("of a hash and a requestId means the same, plain and in either base64", () =>
    fc.assert(
      fc.property(txHash, requestId, wrapping, (hash, id, wrap) => {
        fc.pre(id.trim() === id);
        expect(parseProof(wrap(`${hash}:${id}`))).toEqual({
          kind: "hash",
          txHash: hash.toLowerCase(),
          requestId: id,
        });
      }),
    ));

  test("in JSON takes the hash under its three names, a signature and a requestId", () =>
    fc.assert(
      fc.property(
        txHash,
        fc.constantFrom("txHash", "transactionHash", "transaction"),
        fc.option(hex(65), { nil: undefined }),
        fc.option(requestId, { nil: undefined }),
        wrapping,
        (hash, name, signature, id, wrap) => {
          const json = JSON.stringify({ [name]: hash, signature, requestId: id, other: 1 });
          expect(parseProof(wrap(json))).toEqual({
            kind: "hash",
            txHash: hash.toLowerCase(),
            ...(signature === undefined ? {} : { signature: signature.toLowerCase() }),
            ...(id === undefined ? {} : { requestId: id }),
          });
        },
      ),
    ));

  test("of x402 version 1 or 2 is its authorization in lower case", () =>
    fc.assert(
      fc.property(authorization, hex(65), fc.boolean(), wrapping, (terms, signature, first, wrap) => {
        const payload = { signature, authorization: terms };
        const payment = first
          ? { x402Version: 1, scheme: "exact", network: "base", payload }
          : {
              x402Version: 2,
              accepted: { scheme: "exact", network: "eip155:8453" },
              payload,
              // Some write what they leave out.
              extensions: null,
            };
        expect(parseProof(wrap(JSON.stringify(payment)))).toEqual({
          kind: "authorization",
          authorization: { ...lower(terms), signature: signature.toLowerCase() },
        });
      }),
    ));

  test("of any other text is refused with a reason, never an exception", () =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.json().map(toBase64), fc.base64String()), (text) => {
        const parsed = parseProof(text);
        if (parsed.kind === "refused") expect(parsed.error).not.toBe("");
        else expect(parsed.kind).toMatch(/^(hash|authorization)$/);
      }),
      { numRuns: 1_000 },
    ));

  test.each([
    ["an amount that is a number", { value: 1_000_000 }],
    ["a hexadecimal amount", { value: "0xf4240" }],
    ["a negative amount", { value: "-1" }],
    ["a value that no uint256 holds", { value: (2n ** 256n).toString() }],
    ["a beginning that none holds", { validAfter: (2n ** 256n).toString() }],
    ["an end that none holds", { validBefore: (2n ** 256n).toString() }],
    ["a short nonce", { nonce: "0x12" }],
    ["an address with a digit too few", { to: `0x${"1".repeat(39)}` }],
  ])("with %s is invalid", (_name, change) => {
    const [terms] = fc.sample(authorization, 1);
    const payload = { signature: `0x${"1".repeat(130)}`, authorization: { ...terms, ...change } };
    const text = toBase64(JSON.stringify({ x402Version: 1, scheme: "exact", network: "base", payload }));
    expect(parseProof(text)).toMatchObject({ kind: "refused", reason: "invalid_payload" });
  });

  test("longer than 8 KiB, or with a requestId longer than 256, is invalid", () => {
    const hash = `0x${"a".repeat(64)}`;
    expect(parseProof(JSON.stringify({ txHash: hash, more: "x".repeat(9_000) }))).toMatchObject({
      reason: "invalid_payload",
    });
    expect(parseProof(`${hash}:${"x".repeat(256)}`)).toMatchObject({ kind: "hash" });
    expect(parseProof(`${hash}:${"x".repeat(257)}`)).toMatchObject({ reason: "invalid_payload" });
  });

  test("is version 2's header, else version 1's; an empty one is none", () => {
    const of = (headers: Record<string, string>) => proofHeader((name) => new Headers(headers).get(name));
    expect(of({})).toBeNull();
    expect(of({ "X-PAYMENT": "  " })).toBeNull();
    expect(of({ "X-Payment": " one " })).toBe("one");
    expect(of({ "X-PAYMENT": "one", "PAYMENT-SIGNATURE": "two" })).toBe("two");
    expect(of({ "X-PAYMENT": "one", "PAYMENT-SIGNATURE": "" })).toBe("one");
  });
});
