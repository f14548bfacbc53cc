import { utf8ToBytes } from "@noble/hashes/utils.js";
import { equalBytes, hmacSha256 } from "../../lib/security/crypto";

/** Signatures of the social network, and signatures that it asks for: `sha256=` and the base64 of an HMAC-SHA256. Pure. */

/** The signature of a text under the webhook's secret; also the answer to a challenge (CRC) token. */
export function signatureOf(secret: string, text: string): string {
  const mac = hmacSha256(utf8ToBytes(secret), utf8ToBytes(text));
  return `sha256=${btoa(String.fromCharCode(...mac))}`;
}

/** Whether the header of a webhook's call is the signature of its raw body. */
export function isSigned(header: string | null, body: string, secret: string): boolean {
  return equalBytes(utf8ToBytes(header?.trim() ?? ""), utf8ToBytes(signatureOf(secret, body)));
}
