/** Words as typed on a keyboard: without thin spaces and true minus signs. */
export function asTyped(words: string): string {
  return words.normalize("NFKC").replaceAll("−", "-").replace(/\s+/gu, " ").trim();
}
