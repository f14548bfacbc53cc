import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** An address of the chain in its one checksummed form (EIP-55); `null` for anything that is no address. */
export function checksummed(address: string): `0x${string}` | null {
  if (!isAddress(address)) return null;
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  const cased = Array.from(digits, (digit, i) =>
    Number.parseInt(hash[i] ?? "0", 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${cased.join("")}`;
}

/** Whether a text has an address's form, in any case. */
export function isAddress(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}
