import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { hmacSha256, masterKey, subkey } from "../lib/security/crypto";
import { required } from "../lib/env";

/** Codes that bind a messenger account to the signed-in user who made them. */

/** 32 characters without 0, 1, I and O, so that a byte's low five bits choose one evenly. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** The length of a link code: 40 random bits. */
export const CODE_LENGTH = 8;

/** Random characters, of five bits each. */
export function newCode(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join("");
}

/**
 * The stored form of a code: HMAC-SHA256 under a subkey of the deployment's, because 40 bits could be searched through.
 * Lower case, spaces and dashes make no difference.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY.
 */
export function codeHash(code: string): string {
  const key = subkey(masterKey(required("WALLET_ENCRYPTION_KEY")), "messenger link code");
  return bytesToHex(hmacSha256(key, utf8ToBytes(code.replace(/[\s-]/g, "").toUpperCase())));
}
