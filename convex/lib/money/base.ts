import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** The chain that the service runs on: Base. */
export const CHAIN_ID = 8453;

/** The contract of USDC on Base, checksummed: clients compare it with their own tables letter by letter. */
export const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

/** The most that one transaction may pay for gas and its L1 data, in wei: 0.02 ETH. */
export const MOST_FEE = 20_000_000_000_000_000n;

/** An address of the chain in its one checksummed form (EIP-55); `null` for anything that is no address. */
export function toChecksum(address: string): `0x${string}` | null {
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
