/** Short texts of which several stand on a line, a dot or the line's end between them. */
export const phrases = (text: string): string[] =>
  text
    .split(/ · |\n/)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== "");
