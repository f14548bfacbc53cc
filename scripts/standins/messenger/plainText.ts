/** Whether somebody means a button by these words: all of its own, or those behind the mark that they begin with. */
export function isNamed(button: string, words: string): boolean {
  const typed = asTyped(words);
  return [button, button.replace(/^[\p{So}\uFE0F]+ /u, "")].some((own) => asTyped(own) === typed);
}

/** Words as typed on a keyboard: without thin spaces and true minus signs. */
function asTyped(words: string): string {
  return words.normalize("NFKC").replaceAll("−", "-").replace(/\s+/gu, " ").trim();
}
