import type { Address, Hex } from "viem";
import { checksummed } from "../lib/money/addresses";
import { AppError } from "../lib/errors";

/** Stored strings, checked and typed again. */

export function asAddress(text: string): Address {
  const address = checksummed(text);
  if (address === null) throw new AppError("internal", "A stored address is damaged");
  return address;
}

export function asHex(text: string): Hex {
  if (!isHex(text)) throw new AppError("internal", "Stored bytes are damaged");
  return text;
}

function isHex(text: string): text is Hex {
  return /^0x[0-9a-fA-F]*$/.test(text);
}
