import { hmacSha256 } from "../lib/crypto";
import { deadlines } from "../platform/outside/deadlines";
import { SECOND } from "../lib/time";

/** Users' own webhooks, by the Standard Webhooks specification (www.standardwebhooks.com). */

/** `gone` (410): the receiver wants no more messages. */
export type PostOutcome = { kind: "delivered" } | { kind: "gone" | "failed"; problem: string };

/**
 * Posts a message, signed now. Redirects are not followed, and only the status of the answer is read, so that a
 * receiver can neither send the service elsewhere nor feed it content.
 * @param secret `whsec_` and the key in base64.
 */
export async function postWebhook(message: {
  url: string;
  secret: string;
  /** The same in every attempt. */
  id: string;
  body: string;
}): Promise<PostOutcome> {
  const { url, secret, id, body } = message;
  const timestamp = String(Math.floor(Date.now() / SECOND));
  const headers = {
    "Content-Type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signWebhook(secret, `${id}.${timestamp}.${body}`),
  };
  const signal = AbortSignal.timeout(deadlines.webhook);
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
    const { status } = response;
    // The answer has arrived: its unread body is not waited for, and its failures do not matter.
    response.body?.cancel().catch(() => undefined);
    if (status >= 200 && status < 300) return { kind: "delivered" };
    if (status === 410) return { kind: "gone", problem: "The webhook has ended" };
    // Some runtimes show a redirect that was not followed as status 0.
    const isRedirect = status === 0 || (status >= 300 && status < 400);
    return { kind: "failed", problem: isRedirect ? "It redirects" : `It answers with status ${status}` };
  } catch {
    return {
      kind: "failed",
      problem: signal.aborted ? "It does not answer in time" : "It cannot be reached",
    };
  }
}

/**
 * The specification's `v1`: HMAC-SHA256 in base64. Its own library would bring a second SHA-256 into the bundle; the
 * tests verify with the library.
 */
function signWebhook(secret: string, signed: string): string {
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (char) => char.charCodeAt(0));
  const mac = hmacSha256(key, new TextEncoder().encode(signed));
  return `v1,${btoa(String.fromCharCode(...mac))}`;
}
