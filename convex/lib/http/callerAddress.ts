/** The network address that limits count by. */

/** Callers with an unknown address count as one. */
const UNKNOWN = "unknown";

type AddressSources = {
  /** The platform's value: in the cloud from its own edge, on a self-hosted backend the first entry of `X-Forwarded-For`. */
  platform: string | null;
  /** The header `X-Forwarded-For`. Each proxy appends its caller on the right; the caller could have written the rest. */
  forwardedFor: string | null;
  /** How many proxies of the operator stand before the deployment; 0 if the platform's value can be trusted. */
  hops: number;
};

/** The caller's network address: an IPv4 address as it is, an IPv6 one as its /64 network, which is what one customer has. */
export function callerAddress({ platform, forwardedFor, hops }: AddressSources): string {
  if (hops === 0 || forwardedFor === null) return network(platform ?? "");
  const entries = forwardedFor.split(",");
  return network(entries[Math.max(0, entries.length - hops)] ?? "");
}

function network(entry: string): string {
  const address = bare(entry);
  if (isIpv4(address)) return address;
  const groups = groupsOf(address);
  if (groups === null) return UNKNOWN;
  const mapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff" ? groups.slice(6) : null;
  if (mapped === null) return `${groups.slice(0, 4).join(":")}::/64`;
  return mapped
    .map((group) => Number.parseInt(group, 16))
    .flatMap((pair) => [pair >> 8, pair & 0xff])
    .join(".");
}

/** An entry without port, brackets and zone: some proxies write `[2001:db8::1]:443` and `192.0.2.1:443`. */
function bare(entry: string): string {
  const text = entry.trim().slice(0, 64).toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text);
  const [address = ""] = (bracketed?.[1] ?? text).split("%");
  return /^[\d.]+:\d+$/.test(address) ? address.slice(0, address.indexOf(":")) : address;
}

function isIpv4(text: string): boolean {
  return /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text);
}

/** The eight groups of an IPv6 address, in hex digits without leading zeros; `null` for anything else. */
function groupsOf(text: string): string[] | null {
  const url = /^[0-9a-f:.]+$/.test(text) ? `http://[${text}]` : "";
  if (!URL.canParse(url)) return null;
  // The parser writes a trailing IPv4 address as two groups, and the longest run of zeros as "::".
  const [before = [], after = []] = new URL(url).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after];
}
