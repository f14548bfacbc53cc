import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";

/** The 32-byte master key from its configured form: 64 hex digits, or base64 of 32 bytes. */
export function masterKey(configured: string): Uint8Array {
  if (/^[0-9a-fA-F]{64}$/.test(configured)) return hexToBytes(configured.toLowerCase());
  const base64 = configured.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** A subkey of 32 bytes for one purpose: HKDF-SHA256 of the master key, with the purpose as its context. */
export function subkey(master: Uint8Array, purpose: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hkdf(sha256, master, undefined, utf8ToBytes(purpose), 32));
}

/** HMAC-SHA256 under the given key. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message);
}

/** Compares two byte strings in a time that depends only on their lengths. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}
