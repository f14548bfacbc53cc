import { getAddress, isAddress, isHex, type Address, type Hex } from "viem";
import { AppError } from "../lib/errors";

/** Stored strings back to the types they were. */

export function asAddress(text: string): Address {
  if (!isAddress(text, { strict: false })) throw new AppError("internal", "A stored address is damaged");
  return getAddress(text);
}

export function asHex(text: string): Hex {
  if (!isHex(text)) throw new AppError("internal", "Stored bytes are damaged");
  return text;
}
