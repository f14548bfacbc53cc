/** Splits a text into sentences, so that one can change without affecting the others. Pure. */

/** The text as its figures are read: digits of every script as Western ones, without invisible characters. */
export function plain(text: string): string {
  return text
    .replace(/[\p{Cf}\p{Co}\uFE0F]/gu, "")
    .replace(/\p{Nd}/gu, digit)
    .replace(/[¼½¾]/g, (glyph) => ({ "¼": ".25", "½": ".5", "¾": ".75" })[glyph] ?? glyph)
    .replace(/[\uFF04-\uFF0F\uFF1C-\uFF1E\uFF3B\uFF3D\uFF5B\uFF5D]/g, (wide) =>
      /[\uFF0C\uFF08\uFF09]/.test(wide) ? wide : String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
    )
    .replace(/(?<=\d)(?:，|٬)(?=\d)/g, ",")
    .replace(/(?<=\d)(?:٫|·)(?=\d)/g, ".")
    .replace(
      /[兆億亿](\d{1,4})(?=[億亿万])|万(\d{1,4})(?![\d.,]*\d|[億亿万千])/g,
      (_whole, a: string, b?: string) => (b ?? a).padStart(4, "0"),
    )
    .replace(/[٪﹪]/g, "%")
    .replace(/[\u2212\u2010-\u2012\uFE63]/g, "-")
    .replace(/[\u00A0\u2007\u2009\u202F\t]/g, " ");
}

/** In every script, decimal digits come in runs of ten from zero up. */
function digit(glyph: string): string {
  if (glyph <= "9") return glyph;
  const code = glyph.codePointAt(0) ?? 0;
  let from = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(from - 1))) from -= 1;
  return String((code - from) % 10);
}

/** Abbreviations: their point does not end a sentence. */
const ABBREVIATIONS =
  /(?:(?<!\p{L})(?:vs|approx|ca|cf|e\.g|i\.e|est|Inc|Ltd|Corp|Co|St|No|Nr|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Mio|Mrd|Bio|Tsd|Std|z\.B|U\.S|U\.K|a\.m|p\.m|EE\.UU)|(?<!\p{L})\p{Lu})\.$/u;
const MARK = "\\[[^\\]\\n]{1,40}\\]|\\{[^}\\n]{1,80}\\}";
/** The end of a sentence, with its quotation marks and citations. */
const END = new RegExp(
  `(?:[.!?…]["”’»)*\\]]*(?:\\s*(?:\\[[^\\]\\n]{1,40}\\]))*(?=\\s|$))|[。！？][”」』）]*(?:\\s*(?:${MARK}))*`,
  "g",
);

/** A line as its prefix (`- `, `2. `, `## `) and its sentences. */
export type Line = { lead: string; sentences: string[] };

const LEAD = /^\s*(?:(?:[-*•–—]|#{1,6}|>|\(?\d{1,2}[.)])\s+)*/;

/** The lines of a text; a table row is one sentence, an empty line ends a paragraph. */
export function linesOf(text: string): Line[] {
  return text.split("\n").map((line) => {
    const lead = LEAD.exec(line)?.[0] ?? "";
    const rest = line.slice(lead.length).trimEnd();
    return { lead, sentences: rest === "" ? [] : rest.startsWith("|") ? [rest] : sentencesOf(rest) };
  });
}

function sentencesOf(line: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const found of line.matchAll(END)) {
    const end = found.index + found[0].length;
    const sentence = line.slice(start, found.index + 1);
    const next = line.slice(end).trimStart();
    const isShort =
      ABBREVIATIONS.test(sentence.trimEnd()) || (/^[a-z\d]/.test(next) && !/[\]}%]\.$/.test(sentence));
    const goesOn = found[0].startsWith(".") && isShort;
    if (goesOn) continue;
    sentences.push(line.slice(start, end).trim());
    start = end;
  }
  sentences.push(line.slice(start).trim());
  return sentences.filter((sentence) => sentence !== "");
}
