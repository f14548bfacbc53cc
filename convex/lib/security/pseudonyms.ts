import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { optional, required } from "../env";
import { hmacSha256, subkey } from "./crypto";

/**
 * The name under which others see one user's work: stable, and useless as a credential. Keyed by the deployment's
 * encryption key, or by its gateway key if there is none yet.
 */
export function pseudonym(userId: string, configuredKey: string): string {
  const key = subkey(utf8ToBytes(configuredKey), "user pseudonym");
  return `usr_${bytesToHex(hmacSha256(key, utf8ToBytes(userId))).slice(0, 24)}`;
}

/** The name under which others may see a user. @throws AppError `not_configured` without any key. */
export function pseudonymOf(userId: string): string {
  return pseudonym(userId, optional("WALLET_ENCRYPTION_KEY") ?? required("LLM_GATEWAY_API_KEY"));
}
