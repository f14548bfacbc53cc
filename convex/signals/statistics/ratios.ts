/** Rates and means of a record. */

/** wins / (wins + losses), 0 to 100; `null` when there are none. */
export function winrateOf(wins: number, losses: number): number | null {
  return ratio(wins * 100, wins + losses);
}

/** `null` where there is nothing to divide by. */
export function ratio(over: number, under: number): number | null {
  if (under === 0) return null;
  const value = over / under;
  return Number.isFinite(value) ? rounded(value) : null;
}

/** To so many decimals, so that 0.1 + 0.2 reads 0.3; never -0. */
export function rounded(value: number, decimals = 10): number {
  return Number(value.toFixed(decimals)) + 0;
}
