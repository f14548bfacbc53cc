import type { Address, Hex } from "viem";
import { checksummed, isAddress } from "../lib/money/addresses";
import { AppError } from "../lib/errors";

/** Stored strings, checked and typed again. */

/** An address in any case, checksummed. */
export function asAddress(text: string): Address {
  const address = checksummed(text);
  if (address === null) throw new AppError("internal", "A stored address is damaged");
  return address;
}

/** The address of a wallet's row or of an order's: it was checksummed when it was stored, so it is not hashed again. */
export function storedAddress(text: string): Address {
  if (!isAddress(text)) throw new AppError("internal", "A stored address is damaged");
  return text;
}

export function asHex(text: string): Hex {
  if (!isHex(text)) throw new AppError("internal", "Stored bytes are damaged");
  return text;
}

function isHex(text: string): text is Hex {
  return /^0x[0-9a-fA-F]*$/.test(text);
}
