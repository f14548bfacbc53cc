import { isIP } from "node:net";
import { bytesToHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";

/** Addresses and accounts that are wrong for a setting. */

/** A host of this machine or of a private network: by address, by a name without dots, or by its ending. */
export function isNear({ hostname }: URL): boolean {
  const host = bare(hostname);
  if (isIP(host) === 4) return /^(?:127|10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(host);
  if (isIP(host) === 6) return host === "::1" || /^f[cd]/.test(host);
  return !host.includes(".") || /\.(?:local|localhost|internal|lan|home)$/.test(host);
}

/** Link-local, like the clouds' metadata services, or unspecified. */
export function isNobodys({ hostname }: URL): boolean {
  const host = bare(hostname);
  if (isIP(host) === 4) return /^(?:169\.254|0)\./.test(host);
  if (isIP(host) === 6) return host === "::" || /^fe[89ab]/.test(host) || /^::ffff:a9fe:/.test(host);
  return host === "metadata.google.internal";
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "").toLowerCase();
}

/** The seed phrases of development chains; each has at most twenty accounts. */
const WORDS = "test test test test test test test test test test test junk";
const COUNT = 20;

let known: { address: string; privateKey: string }[] | undefined;

/** The accounts whose keys are public. */
export function testAccounts(): readonly { address: string; privateKey: string }[] {
  known ??= Array.from({ length: COUNT }, (_, addressIndex) => {
    const account = mnemonicToAccount(WORDS, { addressIndex });
    const key = account.getHdKey().privateKey;
    return { address: account.address, privateKey: key === null ? "" : bytesToHex(key) };
  });
  return known;
}
