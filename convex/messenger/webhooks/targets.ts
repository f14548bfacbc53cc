import { ownHosts } from "../../lib/env";
import { AppError } from "../../lib/errors";

/**
 * Addresses that users may have the service post to: public ones, over TLS. A name is not resolved, because the
 * platform's runtime cannot. A name of a private address is stopped only by the platform's own network, where nothing
 * answers on such addresses, and by TLS, because a host there has no certificate for the name.
 */

const MAX_URL = 2_048;
/**
 * Names without a public host: of this machine, of home and office networks, of clusters and clouds, and reserved names
 * of the IANA registry of special-use names.
 */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|mail|private|svc|arpa|alt|onion|test|example|invalid)$/;

/**
 * A webhook's address as it is stored.
 * @throws AppError `invalid_request` with the reason for an address that nothing is posted to.
 */
export function postable(address: string): string {
  const refusal = refusalOf(address);
  if (refusal !== null) throw new AppError("invalid_request", `url ${refusal}`);
  const { protocol, port, pathname, search, hostname } = new URL(address);
  return `${protocol}//${nameOf(hostname)}${port === "" ? "" : `:${port}`}${pathname}${search}`;
}

/** The name without a final dot: it is the same host, and has one address here. */
function nameOf(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

/** Why nothing is posted to an address; `null` for an accepted one. */
export function refusalOf(address: string): string | null {
  if (address.length > MAX_URL || !URL.canParse(address)) return "must be an https address";
  const { protocol, hostname, port, username, password, hash } = new URL(address);
  if (protocol !== "https:") return "must be an https address";
  if (username !== "" || password !== "") return "must not contain a user name or a password";
  if (hash !== "") return "must not have a part after #";
  // Other ports would make the service a port scanner.
  if (port !== "" && port !== "8443") return "must be on port 443 or 8443";
  const host = nameOf(hostname).replace(/^\[|\]$/g, "");
  if (ownHosts().some((own) => own === host || own === `${host}:${port}`))
    return "must not be this service's own address";
  if (hostname.startsWith("[")) return isPublic6(host) ? null : "must not be a private or reserved address";
  // The URL parser writes every IPv4 address as four numbers; another name that ends in a number is not one.
  if (/(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(host))
    return isPublic4(host) ? null : "must not be a private or reserved address";
  if (!host.includes(".") || LOCAL_NAMES.test(host)) return "must be a public name";
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host) ? null : "must be a public name";
}

/** IPv4 that is not globally reachable: the IANA special-purpose registry, multicast, and above. */
const RESERVED_4: readonly (readonly [network: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

function isPublic4(host: string): boolean {
  const address = number4(host);
  if (address === null) return false;
  return !RESERVED_4.some(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor((number4(network) ?? 0) / size);
  });
}

function number4(host: string): number | null {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(host)) return null;
  return host.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/**
 * IPv6 of the global unicast block (2000::/3), except for protocols (2001::/23, Teredo among them), documentation
 * (2001:db8::/32, 3fff::/20), and addresses that carry IPv4 (2002::/16).
 */
function isPublic6(host: string): boolean {
  const [first = 0, second = 0] = host.split(":").map((part) => (part === "" ? 0 : parseInt(part, 16)));
  if (first < 0x2000 || first > 0x3fff || first === 0x2002) return false;
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8;
  return first !== 0x3fff || second > 0xfff;
}
