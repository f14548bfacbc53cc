import { setting } from "../lib/env";

/** USDC has six decimals. */
const MICRO_USDC_PER_USDC = 1_000_000n;

/** Whole credits for one USDC. */
export function creditsPerUsdc(): number {
  return Number(setting("CREDITS_PER_USDC"));
}

/**
 * The credits that a transfer buys, floored.
 * @param amountUsdc In USDC's smallest unit, 0.000001.
 */
export function creditsFor(amountUsdc: bigint): number {
  const credits = (amountUsdc * BigInt(creditsPerUsdc())) / MICRO_USDC_PER_USDC;
  if (credits > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error("The transfer is larger than any can be");
  return Number(credits);
}

/** The cost of a run: 1 credit per started TOKENS_PER_CREDIT tokens, at least 1. */
export function creditsForTokens(tokens: number): number {
  return Math.max(1, Math.ceil(tokens / Number(setting("TOKENS_PER_CREDIT"))));
}
