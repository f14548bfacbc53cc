/** A text as the sentences it is made of, so that one can go without harm to the others. Pure. */

/** What ends with a point and ends no sentence. */
const ABBREVIATIONS =
  /(?:\b(?:vs|approx|ca|cf|e\.g|i\.e|est|Inc|Ltd|Corp|Co|St|No|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|U\.S|U\.K|a\.m|p\.m)|\b[A-Z])\.$/;
/** The end of a sentence, with the quotation marks and citations that belong to it. */
const END = /[.!?…]["”’)\]]*(?:\s*\[f\d+(?:\s*[,;]\s*f?\d+)*\])*(?=\s|$)/gi;

/** Paragraphs of sentences; what stood between them is not kept. */
export function paragraphsOf(text: string): string[][] {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.split(/\n/).flatMap(sentencesOf))
    .filter((sentences) => sentences.length > 0);
}

/** The sentences of one line. */
export function sentencesOf(line: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const found of line.matchAll(END)) {
    const end = found.index + found[0].length;
    const told = line.slice(start, found.index + 1);
    const next = line.slice(end).trimStart();
    const goesOn = found[0].startsWith(".") && (ABBREVIATIONS.test(told.trimEnd()) || /^[a-z\d]/.test(next));
    // The number of a line in a list is no sentence.
    if (goesOn || /^\s*\(?\d{1,2}\.$/.test(told)) continue;
    sentences.push(line.slice(start, end).trim());
    start = end;
  }
  sentences.push(line.slice(start).trim());
  return sentences.filter((sentence) => sentence !== "");
}

export function joined(paragraphs: readonly (readonly string[])[]): string {
  return paragraphs
    .filter((sentences) => sentences.length > 0)
    .map((sentences) => sentences.join(" "))
    .join("\n\n");
}
