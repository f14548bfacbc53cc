import type { Hex } from "viem";
import * as z from "zod";

/** The parts that a node's answers are made of. */

export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(Number);

/** One that may be beyond what a number holds. */
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

/** A number as nodes take it. */
export function toQuantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}
