import fc from "fast-check";
import { parseSignature, serializeCompactSignature, signatureToCompactSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { parseProof, getProofHeader } from "../../convex/payments/proofs";

/** Proofs as callers write them. */

const digit = fc.constantFrom(..."0123456789abcdefABCDEF");
const hex = (bytes: number) =>
  fc.string({ unit: digit, minLength: 2 * bytes, maxLength: 2 * bytes }).map((text) => `0x${text}`);
const txHash = hex(32);
const name = fc.string({ maxLength: 200, unit: "binary-ascii" });
const signature = hex(64).map((text) => `${text}1b`);
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
  test("of a hash, also with a name of the client's own, is the hash in lower case, plain and in either base64", () =>
    fc.assert(
      fc.property(txHash, name, wrapping, (hash, id, wrap) => {
        const proof = { kind: "hash", txHash: hash.toLowerCase() };
        expect([parseProof(hash), parseProof(wrap(`${hash}:${id}`))]).toEqual([proof, proof]);
      }),
    ));

  test("in JSON takes the hash under its three names, and a signature", () =>
    fc.assert(
      fc.property(
        txHash,
        fc.constantFrom("txHash", "transactionHash", "transaction"),
        fc.option(signature, { nil: undefined }),
        wrapping,
        (hash, field, signed, wrap) => {
          const json = JSON.stringify({ [field]: hash, signature: signed, requestId: "other" });
          expect(parseProof(wrap(json))).toEqual({
            kind: "hash",
            txHash: hash.toLowerCase(),
            ...(signed === undefined ? {} : { signature: signed.toLowerCase() }),
          });
        },
      ),
    ));

  test("takes a signature however it is written: v of 0 and 1, and the 64 bytes of ERC-2098", async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    for (let i = 0; i < 20; i++) {
      const whole = await account.signMessage({ message: `message ${i}` });
      const { r, s, yParity } = parseSignature(whole);
      const forms = [
        whole,
        `${whole.slice(0, -2)}0${yParity}`,
        serializeCompactSignature(signatureToCompactSignature({ r, s, yParity })),
      ];
      for (const form of forms) {
        const proof = JSON.stringify({ txHash: `0x${"a".repeat(64)}`, signature: form });
        expect(parseProof(proof)).toMatchObject({ signature: whole });
      }
    }
  });

  test("of x402 version 1 or 2 is its authorization in lower case", () =>
    fc.assert(
      fc.property(authorization, signature, fc.boolean(), wrapping, (terms, signed, first, wrap) => {
        const payload = { signature: signed, authorization: terms };
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
          authorization: { ...lower(terms), signature: signed.toLowerCase() },
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

  test("with terms that no payment has, too long, or with too long a name is invalid", () => {
    const [terms] = fc.sample(authorization, 1);
    for (const change of [
      { value: 1_000_000 },
      { value: "0xf4240" },
      { value: "-1" },
      // More than a uint256 holds.
      { value: (2n ** 256n).toString() },
      { validAfter: (2n ** 256n).toString() },
      { validBefore: (2n ** 256n).toString() },
      { nonce: "0x12" },
      { to: `0x${"1".repeat(39)}` },
    ]) {
      const payload = { signature: `0x${"1".repeat(130)}`, authorization: { ...terms, ...change } };
      const text = toBase64(JSON.stringify({ x402Version: 1, scheme: "exact", network: "base", payload }));
      expect([change, parseProof(text)]).toMatchObject([change, { reason: "invalid_payload" }]);
    }
    const hash = `0x${"a".repeat(64)}`;
    const long = JSON.stringify({ txHash: hash, more: "x".repeat(9_000) });
    for (const text of [long, `${hash}:${"x".repeat(257)}`])
      expect(parseProof(text)).toMatchObject({ kind: "refused", reason: "invalid_payload" });
    expect(parseProof(`${hash}:${"x".repeat(256)}`)).toMatchObject({ kind: "hash" });
  });

  test("is version 2's header, else version 1's; an empty one is none", () => {
    const of = (headers: Record<string, string>) => getProofHeader(new Headers(headers));
    expect(of({})).toBeNull();
    expect(of({ "X-PAYMENT": "  " })).toBeNull();
    expect(of({ "X-Payment": " one " })).toBe("one");
    expect(of({ "X-PAYMENT": "one", "PAYMENT-SIGNATURE": "two" })).toBe("two");
    expect(of({ "X-PAYMENT": "one", "PAYMENT-SIGNATURE": "" })).toBe("one");
  });
});
