import * as z from "zod";
import { CHAIN_ID } from "../lib/money/base";
import { authorizationShape, decodeBase64, hexBytes, paymentShape, signatureHex } from "../lib/money/x402";
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

const transferShape = z.object({ txHash: hexBytes(32), signature: signatureHex.optional() });

/** Hashes the order with the part of the proof that is not public on the chain: a repeat has the same hash. */
export function hashPresented(proof: PaymentProof, { userId = "", focus }: ReportOrder): string {
  const signature = proof.kind === "hash" ? (proof.signature ?? "") : proof.authorization.signature;
  return sha256Hex(JSON.stringify([signature, userId, focus]));
}

/** Parses a proof. A bare hash comes first, because its 64 digits are valid base64, too. */
export function parseProof(text: string): PaymentProof | Refusal {
  if (text.length > MAX_LENGTH) return buildUnreadable("it is too long");
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
    return buildRefusal("unsupported_scheme", "Only the x402 scheme exact is supported");
  if (network !== "base" && network !== "eip155:8453") {
    return buildRefusal("invalid_network", "Only payments on Base (eip155:8453) are accepted");
  }
  const parsed = authorizationShape.safeParse(payload);
  if (!parsed.success) return buildUnreadable(`payload.${describeProblem(parsed.error)}`);
  const { authorization, signature } = parsed.data;
  return { kind: "authorization", authorization: { ...authorization, signature } };
}

function describeProblem(error: z.ZodError): string {
  return `${error.issues[0]?.path.join(".") ?? "it"} is missing or malformed`;
}

function buildUnreadable(problem: string): Refusal {
  return buildRefusal("invalid_payload", `The payment proof cannot be read: ${problem}`);
}
