import * as z from "zod";
import { CHAIN_ID } from "../lib/money/base";
import { sha256Hex } from "../lib/crypto";
import { defined } from "../lib/objects";
import { parseJson } from "../lib/text/json";
import type { ReportOrder, PaymentProof } from "./tables";
import { buildRefusal, type Refusal } from "./terms";

/** Parses proofs of payment. Pure. */

/** Builds the text that binds a payment to an order when its payer signs it (EIP-191 or ERC-1271). */
export function buildProofText(txHash: string, payTo: string, { userId, focus }: ReportOrder): string {
  return [
    "I redeem this payment for one market research report.",
    `Chain: ${CHAIN_ID}`,
    `Paid to: ${payTo.toLowerCase()}`,
    `Transaction: ${txHash.toLowerCase()}`,
    `User: ${userId ?? ""}`,
    `Token: ${focus}`,
  ].join("\n");
}

/** The longest accepted proof, in characters. */
const MAX_LENGTH = 8 * 1024;

/** The proof header of a request, or `null` if there is none or it is empty. Version 2's takes precedence. */
export function getProofHeader(headers: Headers): string | null {
  for (const name of ["payment-signature", "x-payment"]) {
    const text = headers.get(name)?.trim() ?? "";
    if (text !== "") return text;
  }
  return null;
}

const hexBytes = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`))
    .toLowerCase();
/** 64 or 65 bytes from a key, any length from a contract wallet. Some libraries write 0 and 1 for a `v` of 27 and 28. */
const signatureHex = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2}){64,2048}$/)
  .toLowerCase()
  .transform((hex) => {
    if (hex.length === 2 + 2 * 64) return expandSignature(hex);
    const [last] = hex.length === 2 + 2 * 65 ? [hex.slice(-2)] : [];
    return last === "00" || last === "01" ? hex.slice(0, -2) + (last === "00" ? "1b" : "1c") : hex;
  });

/** Expands a compact signature (ERC-2098) to 65 bytes: the top bit of `s` is the parity of `y`. */
function expandSignature(hex: string): string {
  const top = Number.parseInt(hex.slice(66, 68), 16);
  const s = (top & 0x7f).toString(16).padStart(2, "0") + hex.slice(68);
  return hex.slice(0, 66) + s + (top < 0x80 ? "1b" : "1c");
}

/** A uint256 in decimal digits. */
const digits = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,77})$/)
  .refine((text) => BigInt(text) < 2n ** 256n);

/** The `payload` of a signed payment (EIP-3009). */
const authorizationShape = z.object({
  signature: signatureHex,
  authorization: z.object({
    from: hexBytes(20),
    to: hexBytes(20),
    value: digits,
    validAfter: digits,
    validBefore: digits,
    nonce: hexBytes(32),
  }),
});

const requirement = z.object({ scheme: z.string(), network: z.string() });
/** A payment of version 1 or 2, in the form of version 1. */
const paymentShape = z.union([
  requirement.extend({ x402Version: z.literal(1), payload: z.unknown() }),
  z
    .object({ x402Version: z.literal(2), accepted: requirement, payload: z.unknown() })
    .transform(({ accepted, payload }) => ({ ...accepted, payload })),
]);

const transferShape = z.object({ txHash: hexBytes(32), signature: signatureHex.optional() });

/** Hashes the order with the part of the proof that is not public on the chain: a repeat has the same hash. */
export function hashPresented(proof: PaymentProof, { userId = "", focus }: ReportOrder): string {
  const signature = proof.kind === "hash" ? (proof.signature ?? "") : proof.authorization.signature;
  return sha256Hex(JSON.stringify([signature, userId, focus]));
}

/** Parses a proof. A bare hash comes first, because its 64 digits are valid base64, too. */
export function parseProof(text: string): PaymentProof | Refusal {
  if (text.length > MAX_LENGTH) return buildUnreadable(`it is longer than ${MAX_LENGTH} characters`);
  const plain = readHash(text) ?? readJson(text);
  if (plain !== null) return plain;
  const decoded = decodeBase64(text);
  const inner = decoded === null ? null : (readHash(decoded) ?? readJson(decoded));
  return (
    inner ??
    buildUnreadable("send a transaction hash, JSON with a txHash, or an x402 payload, plain or in base64")
  );
}

/** `0x…`; some clients append a colon and an id of the request. */
function readHash(text: string): PaymentProof | null {
  const [, hash] = /^(0x[0-9a-fA-F]{64})(?::[^]{0,256})?$/.exec(text.trim()) ?? [];
  return hash === undefined ? null : { kind: "hash", txHash: hash.toLowerCase() };
}

function readJson(text: string): PaymentProof | Refusal | null {
  if (!text.trim().startsWith("{")) return null;
  let fields: Record<string, unknown>;
  try {
    fields = z.record(z.string(), z.unknown()).parse(parseJson(text));
  } catch {
    return buildUnreadable("it is not valid JSON");
  }
  if ("x402Version" in fields) return readPayment(fields);
  const txHash = fields.txHash ?? fields.transactionHash ?? fields.transaction;
  const parsed = transferShape.safeParse({ ...fields, txHash });
  if (!parsed.success) return buildUnreadable(describeProblem(parsed.error));
  const { txHash: hash, signature } = parsed.data;
  return { kind: "hash", txHash: hash, ...defined({ signature }) };
}

function readPayment(fields: Record<string, unknown>): PaymentProof | Refusal {
  const payment = paymentShape.safeParse(fields);
  if (!payment.success) return buildUnreadable("it is neither an x402 version 1 nor a version 2 payload");
  const { scheme, network, payload } = payment.data;
  if (scheme !== "exact")
    return buildRefusal(
      "unsupported_scheme",
      "Only the x402 scheme exact is supported: sign one of the terms in accepts",
    );
  if (network !== "base" && network !== "eip155:8453") {
    return buildRefusal(
      "invalid_network",
      "Only payments on Base (eip155:8453) are accepted: sign one of the terms in accepts",
    );
  }
  const parsed = authorizationShape.safeParse(payload);
  if (!parsed.success) return buildUnreadable(`payload.${describeProblem(parsed.error)}`);
  const { authorization, signature } = parsed.data;
  return { kind: "authorization", authorization: { ...authorization, signature } };
}

/** Decodes standard or URL-safe base64; `null` if the text is neither. */
function decodeBase64(text: string): string | null {
  const standard = text.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(standard)) return null;
  try {
    // The platform's decoder returns `undefined` where the standard's throws.
    return atob(standard) ?? null;
  } catch {
    return null;
  }
}

function describeProblem(error: z.ZodError): string {
  return `${error.issues[0]?.path.join(".") ?? "it"} is missing or malformed`;
}

function buildUnreadable(problem: string): Refusal {
  return buildRefusal("invalid_payload", `The payment proof cannot be read: ${problem}`);
}
