/** A citation as readers see it: `[1]`, `[1, 2: BTC over ETH, 24 h; 3: now]`. */
export const BRACKET = / ?\[\d{1,3}(?:, \d{1,3})*(?:[:;] [^\]]*)?\]/g;

export function withoutBrackets(text: string): string {
  return text.replace(BRACKET, "");
}
