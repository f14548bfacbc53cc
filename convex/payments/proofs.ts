import * as z from "zod";
import { CHAIN_ID } from "../lib/money/base";
import { sha256Hex } from "../lib/crypto";
import { parseJson } from "../lib/text/json";
import type { ReportOrder, PaymentProof } from "./tables";
import { buildRefusal, type Refusal } from "./terms";

/** Proofs of payment in the callers' forms. Pure. */

/** The text a payer signs (EIP-191, or ERC-1271) to bind a payment to an order. */
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
/** A key's of 64 or 65 bytes, or a contract wallet's of any length; `v` of 0 and 1 is another way to write 27 and 28. */
const signature = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2}){64,2048}$/)
  .toLowerCase()
  .transform((hex) => {
    if (hex.length === 2 + 2 * 64) return expandSignature(hex);
    const [last] = hex.length === 2 + 2 * 65 ? [hex.slice(-2)] : [];
    return last === "00" || last === "01" ? hex.slice(0, -2) + (last === "00" ? "1b" : "1c") : hex;
  });

/** The 65 bytes of a compact signature (ERC-2098): the parity of `y` is the top bit of `s`. */
function expandSignature(hex: string): string {
  const top = Number.parseInt(hex.slice(66, 68), 16);
  const s = (top & 0x7f).toString(16).padStart(2, "0") + hex.slice(68);
  return hex.slice(0, 66) + s + (top < 0x80 ? "1b" : "1c");
}

/** A uint256. */
const digits = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,77})$/)
  .refine((text) => BigInt(text) < 2n ** 256n);

const transferShape = z.object({ txHash: hexBytes(32), signature: signature.optional() });

const authorizationShape = z.object({
  signature,
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
const paymentShape = z.union([
  requirement.extend({ x402Version: z.literal(1), payload: z.unknown() }),
  z
    .object({ x402Version: z.literal(2), accepted: requirement, payload: z.unknown() })
    .transform(({ accepted, payload }) => ({ ...accepted, payload })),
]);

/** What a repeat of a proof and its order shows again: with the order, all of the proof that is not public on the chain. */
export function hashPresented(proof: PaymentProof, { userId = "", focus }: ReportOrder): string {
  const signature = proof.kind === "hash" ? (proof.signature ?? "") : proof.authorization.signature;
  return sha256Hex(JSON.stringify([signature, userId, focus]));
}

/** Reads a proof; the 64 digits of a bare hash are valid base64 themselves, so they are tried first. */
export function parseProof(text: string): PaymentProof | Refusal {
  if (text.length > MAX_LENGTH) return unreadable("it is too long");
  const plain = readHash(text) ?? readJson(text);
  if (plain !== null) return plain;
  const decoded = decodeBase64(text);
  const inner = decoded === null ? null : (readHash(decoded) ?? readJson(decoded));
  return (
    inner ?? unreadable("send a transaction hash, JSON with a txHash, or an x402 payload, plain or in base64")
  );
}

/** `0x…`; some clients append a colon and a name of their own. */
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
    return unreadable("it is not valid JSON");
  }
  if ("x402Version" in fields) return readPayment(fields);
  const txHash = fields.txHash ?? fields.transactionHash ?? fields.transaction;
  const parsed = transferShape.safeParse({ ...fields, txHash });
  if (!parsed.success) return unreadable(describeProblem(parsed.error));
  const { txHash: hash, signature } = parsed.data;
  return { kind: "hash", txHash: hash, ...(signature === undefined ? {} : { signature }) };
}

function readPayment(fields: Record<string, unknown>): PaymentProof | Refusal {
  const payment = paymentShape.safeParse(fields);
  if (!payment.success) return unreadable("it is neither an x402 version 1 nor a version 2 payload");
  const { scheme, network, payload } = payment.data;
  if (scheme !== "exact")
    return buildRefusal("unsupported_scheme", "Only the x402 scheme exact is supported");
  if (network !== "base" && network !== "eip155:8453") {
    return buildRefusal("invalid_network", "Only payments on Base (eip155:8453) are accepted");
  }
  const parsed = authorizationShape.safeParse(payload);
  if (!parsed.success) return unreadable(`payload.${describeProblem(parsed.error)}`);
  const { authorization, signature } = parsed.data;
  return { kind: "authorization", authorization: { ...authorization, signature } };
}

function describeProblem(error: z.ZodError): string {
  return `${error.issues[0]?.path.join(".") ?? "it"} is missing or malformed`;
}

function unreadable(problem: string): Refusal {
  return buildRefusal("invalid_payload", `The payment proof cannot be read: ${problem}`);
}

/** The text of standard or url-safe base64, or `null`. */
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
