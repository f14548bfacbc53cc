import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { equalBytes, hmacSha256 } from "../../lib/security/crypto";
import { MINUTE, SECOND } from "../../lib/time";

/** Signatures of deposit webhooks: HMAC-SHA256 under one shared secret, in each provider's own form. Pure. */

/** A header's value, with its name in any case; `null` if it was not sent. */
type Header = (name: string) => string | null;

/** How old, or how far ahead of our clock, a dated signature may be. */
const TOLERANCE_MS = 5 * MINUTE;

/**
 * Whether a webhook has a valid signature in a known form: `X-Alchemy-Signature` and `X-Webhook-Signature` over the
 * body; `X-QN-Signature` over nonce, timestamp and body; `X-Hook0-Signature` (v0) over timestamp, a dot and the body.
 * @param body The raw body, as it was sent.
 */
export function isSigned(header: Header, body: string, secret: string, now: number): boolean {
  const matches = (given: string | null | undefined, message: string) => verify(secret, message, given);
  return (
    matches(header("x-webhook-signature"), body) ||
    matches(header("x-alchemy-signature"), body) ||
    quickNode(header, body, now, matches) ||
    hook0(header, body, now, matches)
  );
}

type Matches = (given: string | null | undefined, message: string) => boolean;

function quickNode(header: Header, body: string, now: number, matches: Matches): boolean {
  const nonce = header("x-qn-nonce");
  const timestamp = header("x-qn-timestamp");
  if (nonce === null || !isRecent(timestamp, now)) return false;
  return matches(header("x-qn-signature"), `${nonce}${timestamp}${body}`);
}

/** `t=<seconds>,v0=<hex>,h=<header names>,v1=<hex>`. How v1 joins the headers is not documented; v0 covers the body. */
function hook0(header: Header, body: string, now: number, matches: Matches): boolean {
  const given = header("x-hook0-signature") ?? "";
  const parts = new Map(
    given.split(",").map((part): [string, string] => {
      const [name = "", ...value] = part.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );
  const timestamp = parts.get("t");
  return isRecent(timestamp, now) && matches(parts.get("v0"), `${timestamp}.${body}`);
}

function isRecent(seconds: string | null | undefined, now: number): seconds is string {
  if (seconds === null || seconds === undefined || !/^\d{1,12}$/.test(seconds)) return false;
  return Math.abs(now - Number(seconds) * SECOND) <= TOLERANCE_MS;
}

function verify(secret: string, message: string, given: string | null | undefined): boolean {
  const hex = given?.trim().toLowerCase() ?? "";
  if (!/^[0-9a-f]{64}$/.test(hex)) return false;
  return equalBytes(hmacSha256(utf8ToBytes(secret), utf8ToBytes(message)), hexToBytes(hex));
}
