import { sha256Hex } from "../../lib/security/digests";
import type { Authorization, Proof } from "./tables";

/** By what proofs of payment are known. */

/** An authorization as one text: equal for equal ones alone. */
export function authorizationText(authorization: Authorization): string {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  return JSON.stringify([from, to, value, validAfter, validBefore, nonce, signature]);
}

/** What a proof is known by: SHA-256 of all of it that is not in the chain for everybody to read. */
export function shownProof(proof: Proof): string {
  const parts =
    proof.kind === "hash"
      ? [proof.signature ?? "", proof.requestId ?? ""]
      : [authorizationText(proof.authorization)];
  return sha256Hex(JSON.stringify([proof.kind, ...parts]));
}
