/** Words as a keyboard has them: a person types no thin space and no true minus. */
export function asTyped(words: string): string {
  return words.normalize("NFKC").replaceAll("−", "-").replace(/\s+/gu, " ").trim();
}
