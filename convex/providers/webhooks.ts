import { hmacSha256 } from "../lib/security/crypto";
import { ownHosts } from "../lib/env";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { SECOND } from "../lib/time";

/** Users' own webhooks, by the Standard Webhooks specification (www.standardwebhooks.com). */

/** Names of this machine, of home and office networks, of clusters and clouds, and of special use. */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|mail|private|svc|arpa|alt|onion|test|example|invalid)$/;
const PUBLIC_NAME = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+$/;

/**
 * A webhook's address as it is stored: https on a public name. A name is not resolved, because the platform's runtime
 * cannot: one of a private address is stopped by the platform's network and by TLS. Nobody has a certificate for an
 * address in numbers, so those are refused however they are written.
 * @throws AppError `invalid_request` with the reason for an address that nothing is posted to.
 */
export function postable(address: string): string {
  const { protocol, hostname, port, username, password, hash, pathname, search } = URL.canParse(address)
    ? new URL(address)
    : new URL("about:blank");
  // A final dot makes no other host.
  const name = hostname.replace(/\.$/, "");
  const host = port === "" ? name : `${name}:${port}`;
  const must = (isSo: boolean, what: string) => {
    if (!isSo) throw new AppError("invalid_request", `url must ${what}`);
  };
  must(protocol === "https:", "be an https address");
  must(username === "" && password === "", "not contain a user name or a password");
  must(hash === "", "not have a part after #");
  // Other ports would make the service a port scanner.
  must(port === "" || port === "8443", "be on port 443 or 8443");
  must(!ownHosts().some((own) => own === name || own === host), "not be this service's own address");
  must(PUBLIC_NAME.test(name) && !LOCAL_NAMES.test(name), "be at a public name");
  return `https://${host}${pathname}${search}`;
}

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
    "webhook-signature": signatureOf(secret, `${id}.${timestamp}.${body}`),
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
function signatureOf(secret: string, signed: string): string {
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (char) => char.charCodeAt(0));
  const mac = hmacSha256(key, new TextEncoder().encode(signed));
  return `v1,${btoa(String.fromCharCode(...mac))}`;
}
