import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { ownHosts } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { seal } from "../../lib/security/seals";
import { secretSeal, type Webhook } from "./events";
import { EVENTS, type EventType } from "./tables";

/**
 * Adds a webhook; its secret is shown only once.
 * @param beforeKeeping Called once the address is accepted.
 * @throws AppError `invalid_request` for an address that nothing is posted to; `conflict` with three already, or the
 * same address; `not_configured` without a key to seal with.
 */
export async function addWebhook(
  ctx: ActionCtx,
  {
    userId,
    url: address,
    events = EVENTS,
  }: { userId: string; url: string; events?: readonly EventType[] | undefined },
  beforeKeeping: () => Promise<void>,
): Promise<{ webhook: Webhook; secret: string }> {
  const url = postable(address);
  await beforeKeeping();
  const key = crypto.getRandomValues(new Uint8Array(32));
  const secret = `whsec_${btoa(String.fromCharCode(...key))}`;
  const webhook: Webhook = await ctx.runMutation(internal.messenger.webhooks.events.store, {
    userId,
    url,
    sealedSigning: await seal(secret, secretSeal({ userId, url })),
    events: EVENTS.filter((type) => events.includes(type)),
  });
  return { webhook, secret };
}

/** Names of this machine, of home and office networks, of clusters and clouds, and of special use. */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|mail|private|svc|arpa|alt|onion|test|example|invalid)$/;

/**
 * A webhook's address as it is stored: https on a public name. A name is not resolved, because the platform's runtime
 * cannot: one of a private address is stopped by the platform's network and by TLS. Nobody has a certificate for an
 * address in numbers, so those are refused however they are written.
 * @throws AppError `invalid_request` with the reason for an address that nothing is posted to.
 */
export function postable(address: string): string {
  const refuse = (why: string): never => {
    throw new AppError("invalid_request", `url must ${why}`);
  };
  if (!URL.canParse(address)) return refuse("be an https address");
  const { protocol, hostname, port, username, password, hash, pathname, search } = new URL(address);
  // A final dot makes no other host.
  const host = hostname.replace(/\.$/, "");
  if (protocol !== "https:") return refuse("be an https address");
  if (username !== "" || password !== "") return refuse("not contain a user name or a password");
  if (hash !== "") return refuse("not have a part after #");
  // Other ports would make the service a port scanner.
  if (port !== "" && port !== "8443") return refuse("be on port 443 or 8443");
  if (ownHosts().some((own) => own === host || own === `${host}:${port}`))
    return refuse("not be this service's own address");
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+$/.test(host) || LOCAL_NAMES.test(host))
    return refuse("be at a public name");
  return `https://${host}${port === "" ? "" : `:${port}`}${pathname}${search}`;
}
