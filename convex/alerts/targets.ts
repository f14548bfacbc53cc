import ipaddr from "ipaddr.js";
import { AppError } from "../lib/errors";

/**
 * Where the service lets itself be sent by its users: public addresses, over TLS. A name is not resolved, since the platform's
 * runtime cannot: one that leads to a private address is guarded against only by the platform's own network, where nothing
 * answers on such addresses, and by TLS, as what does answer has no certificate for the name.
 */

const MAX_URL = 2_048;
/** Names of this machine, of home and office networks, and of clouds' own. */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|onion|test|example|invalid)$/;

/**
 * A webhook's address as it is stored.
 * @throws AppError `invalid_request` for one that nothing is posted to, saying why.
 */
export function postable(address: string): string {
  const refusal = refusalOf(address);
  if (refusal !== null) throw new AppError("invalid_request", `url ${refusal}`);
  return new URL(address).href;
}

/** Why nothing is posted to an address; `null` for one that may be posted to. */
export function refusalOf(address: string): string | null {
  if (address.length > MAX_URL || !URL.canParse(address)) return "must be an https address";
  const { protocol, hostname, port, username, password, hash } = new URL(address);
  if (protocol !== "https:") return "must be an https address";
  if (username !== "" || password !== "") return "must not hold a name or a password";
  if (hash !== "") return "must not have a part behind #";
  // Anything else would make the service look for open ports.
  if (port !== "" && port !== "8443") return "must be on port 443 or 8443";
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  if (ipaddr.isValid(host)) {
    return ipaddr.parse(host).range() === "unicast" ? null : "must not be a private or reserved address";
  }
  if (!host.includes(".") || LOCAL_NAMES.test(host)) return "must be a public name";
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host) ? null : "must be a public name";
}
