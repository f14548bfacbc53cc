/** A text as it is read: its characters, and its sentences, so that one can change without affecting the others. Pure. */

/** Digits of every script as Western ones, without invisible characters. */
export function normalizeText(text: string): string {
  return text
    .replace(/[\p{Cf}\p{Co}\uFE0F]/gu, "")
    .replace(/\p{Nd}/gu, toAsciiDigit)
    .replace(/[\uFF04-\uFF0F\uFF1C-\uFF1E\uFF3B\uFF3D\uFF5B\uFF5D]/g, (wide) =>
      /[\uFF0C\uFF08\uFF09]/.test(wide) ? wide : String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
    )
    .replace(/(?<=\d)(?:，|٬)(?=\d)/g, ",")
    .replace(/(?<=\d)(?:٫|·)(?=\d)/g, ".")
    .replace(/[٪﹪]/g, "%")
    .replace(/[\u2212\u2010-\u2012\uFE63]/g, "-")
    .replace(/[\u00A0\u2007\u2009\u202F\t]/g, " ");
}

/** In every script, decimal digits come in runs of ten from zero up. */
function toAsciiDigit(glyph: string): string {
  if (glyph <= "9") return glyph;
  const code = glyph.codePointAt(0) ?? 0;
  let from = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(from - 1))) from -= 1;
  return String((code - from) % 10);
}

/** A line as its prefix (`- `, `2. `, `## `) and its sentences. */
type Line = { lead: string; sentences: string[] };

const LEAD = /^\s*(?:(?:[-*•–—]|#{1,6}|>|\(?\d{1,2}[.)])\s+)*/;
/** Their point does not end a sentence. */
const ABBREVIATIONS =
  /(?<!\p{L})(?:vs|approx|ca|cf|e\.g|i\.e|est|Inc|Ltd|Corp|Co|St|No|Nr|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mio|Mrd|Bio|U\.S|U\.K|z\.B|\p{Lu})\.$/u;
/** The end of a sentence, with its quotation marks and citations. */
const END =
  /[.!?…]["”’»)*\]]*(?:\s*\[[^\]\n]{1,40}\])*(?=\s|$)|[。！？][”」』）]*(?:\s*(?:\[[^\]\n]{1,40}\]|\{[^}\n]{1,80}\}))*/g;

/** The lines of a text; a table row is one sentence. */
export function splitLines(text: string): Line[] {
  return text.split("\n").map((line) => {
    const lead = LEAD.exec(line)?.[0] ?? "";
    const content = line.slice(lead.length).trimEnd();
    return {
      lead,
      sentences: content === "" ? [] : content.startsWith("|") ? [content] : splitSentences(content),
    };
  });
}

function splitSentences(line: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const { 0: mark, index } of line.matchAll(END)) {
    const sentence = line.slice(start, index + 1);
    const last = sentence.slice(-12);
    const goesOn = /^\s*[a-z\d]/.test(line.slice(index + mark.length)) && !/[\]}%]\.$/.test(last);
    if (mark.startsWith(".") && (goesOn || ABBREVIATIONS.test(last))) continue;
    sentences.push(line.slice(start, index + mark.length).trim());
    start = index + mark.length;
  }
  return [...sentences, line.slice(start).trim()].filter((sentence) => sentence !== "");
}
