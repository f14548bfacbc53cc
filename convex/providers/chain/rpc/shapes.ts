import type { Hex } from "viem";
import * as z from "zod";

/** The parts of a node's answers. */

export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(Number);

/** A quantity that may be too large for a number. */
export const bigQuantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(BigInt);

/** In lower case. */
export const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .toLowerCase();

/** In lower case. */
export const account = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .toLowerCase();

export const hexData = z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/i.test(value));

/** A number in the nodes' notation. */
export function toQuantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}
