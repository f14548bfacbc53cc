/** Short texts, several on a line, separated by a dot or the line's end. */
export const phrases = (text: string): string[] =>
  text
    .split(/ · |\n/)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== "");
