import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { getOptional, getRequired } from "./env";

/** The 32-byte master key from its configured form: 64 hex digits, or base64 of 32 bytes. */
export function decodeMasterKey(configured: string): Uint8Array {
  if (/^[0-9a-fA-F]{64}$/.test(configured)) return hexToBytes(configured.toLowerCase());
  const base64 = configured.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** A subkey of 32 bytes for one purpose: HKDF-SHA256 of the master key, with the purpose as its context. */
export function deriveSubkey(master: Uint8Array, purpose: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hkdf(sha256, master, undefined, utf8ToBytes(purpose), 32));
}

/** HMAC-SHA256 under the given key. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message);
}

/**
 * 32 bytes that only the deployment's key makes of a text, for one purpose: HMAC-SHA256 under a subkey of it.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY.
 */
export function deriveSecret(purpose: string, text: string): Uint8Array<ArrayBuffer> {
  const key = deriveSubkey(decodeMasterKey(getRequired("WALLET_ENCRYPTION_KEY")), purpose);
  return Uint8Array.from(hmacSha256(key, utf8ToBytes(text)));
}

/** Compares two byte strings in a time that depends only on their lengths. */
export function isEqualBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/** SHA-256 of a text, as 64 lower-case hex digits. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/**
 * The name under which others see one user's work: stable, and useless as a credential. Keyed by the deployment's
 * encryption key, or by its gateway key if there is none yet.
 * @throws AppError `not_configured` without any key.
 */
export function derivePseudonym(userId: string): string {
  const secret = getOptional("WALLET_ENCRYPTION_KEY") ?? getRequired("LLM_GATEWAY_API_KEY");
  const key = deriveSubkey(utf8ToBytes(secret), "user pseudonym");
  return `usr_${bytesToHex(hmacSha256(key, utf8ToBytes(userId))).slice(0, 24)}`;
}
