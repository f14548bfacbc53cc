import { checksummed, isAddress } from "../lib/money/addresses";
import { AppError } from "../lib/errors";
import { BURNING, CONTRACTS, RESERVED } from "./tokens";

/** Addresses to which nothing is sent. */

const contracts = new Set(CONTRACTS.map((address) => address.toLowerCase()));

const CHECKS: readonly [(value: string) => boolean, string][] = [
  [isAddress, "must be an address: 0x and 40 hex digits"],
  [hasSoundChecksum, "must be checksummed correctly, or all in one case"],
  [(value) => /[1-9a-f]/i.test(value.slice(2)), "must not be the zero address"],
  [
    (value) => !contracts.has(value.toLowerCase()),
    "must not be a token contract or another well-known one: what is sent there is lost",
  ],
  [
    (value) => !BURNING.test(value),
    "must not be an address for burning tokens: nobody has its key, and what is sent there is lost",
  ],
  [
    (value) => !RESERVED.test(value),
    "must not be an address of the chain's own (a precompile or predeploy): what is sent there is lost",
  ],
];

/** Why an address cannot be a recipient, completing "address …"; `null` for one that can. */
export function recipientProblem(value: string): string | null {
  return CHECKS.find(([isGood]) => !isGood(value))?.[1] ?? null;
}

/** A recipient, checksummed. @throws AppError `invalid_request` */
export function recipientFrom(text: string): string {
  const value = text.trim();
  const problem = recipientProblem(value);
  if (problem !== null) throw new AppError("invalid_request", `address ${problem}`);
  return checksummed(value) ?? value;
}

function hasSoundChecksum(value: string): boolean {
  const digits = value.slice(2);
  return digits === digits.toLowerCase() || digits === digits.toUpperCase() || checksummed(value) === value;
}
