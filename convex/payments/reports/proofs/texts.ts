import { sha256Hex } from "../../../lib/security/digests";
import type { Authorization, Proof } from "../tables";

/** Texts that identify proofs of payment. */

/** An authorization as one text, unique for each authorization. */
export function authorizationText(authorization: Authorization): string {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  return JSON.stringify([from, to, value, validAfter, validBefore, nonce, signature]);
}

/** The hash of a proof: SHA-256 of everything in it that is not public on the chain. */
export function shownProof(proof: Proof): string {
  const parts =
    proof.kind === "hash"
      ? [proof.signature ?? "", proof.requestId ?? ""]
      : [authorizationText(proof.authorization)];
  return sha256Hex(JSON.stringify([proof.kind, ...parts]));
}
