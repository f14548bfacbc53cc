/** Removes markup from the texts of models and feeds: entities, escapes, tags, tool calls and citation marks. Pure. */

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", shy: "" },
  ...{ hellip: "…", mdash: "—", ndash: "–", bull: "•", middot: "·", times: "×", deg: "°", minus: "−" },
  ...{ lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", laquo: "«", raquo: "»" },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", copy: "©", reg: "®", trade: "™" },
  ...{ larr: "←", rarr: "→", uarr: "↑", darr: "↓", asymp: "≈", le: "≤", ge: "≥", plusmn: "±" },
};

/** A text with the entities of HTML as their characters, decoded once; unknown ones stay. */
export function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, ...found) => {
    const [decimal, hex, name] = found.map((one: unknown) => (typeof one === "string" ? one : undefined));
    if (name !== undefined) return ENTITIES[name] ?? ENTITIES[name.toLowerCase()] ?? all;
    const code = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
    if (code > 0x10ffff) return all;
    const sign = String.fromCodePoint(code).toWellFormed();
    return /(?!\n)[\p{Cc}\p{Cf}]/u.test(sign) ? "" : sign;
  });
}

/** A text without tags of HTML; a lone `<` is less than. */
export function withoutTags(text: string): string {
  return text.replace(/<\/?[a-z][a-z\d:-]{0,30}(?:\s[^<>]{0,1000})?\/?>|<!--[^<>]{0,1000}-->/gi, "");
}

/** A line break that was escaped once too often, but for the words of TeX and paths that begin like one. */
const LITERAL_BREAK = /(?<!\\|\b[A-Z]:)(?:\\r)?\\n(?!abla|eq\b|eg\b|ewline|ewcommand|otin|ot\b|u\b|mid\b)/g;

/** A text with its line breaks where no real one stands, and with its escaped characters, unless in backticks. */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return (text.includes("\n") ? text : text.replace(LITERAL_BREAK, "\n"))
    .replace(/(?<![\\`])\\(?:u([\da-fA-F]{4})|")/g, (_all, code: string | undefined) =>
      code === undefined ? '"' : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}

/** A text without what stands between an opening and a closing mark, or behind one that nothing closes. */
export function withoutBetween(text: string, open: RegExp, close: RegExp, endsOpen = true): string {
  let kept = "";
  let from = 0;
  for (open.lastIndex = 0; ;) {
    const begun = open.exec(text);
    if (begun === null) break;
    close.lastIndex = open.lastIndex;
    const closed = close.exec(text);
    if (closed === null && !endsOpen) break;
    kept += text.slice(from, begun.index);
    if (closed === null) return kept;
    from = close.lastIndex;
    open.lastIndex = from;
  }
  return kept + text.slice(from);
}

const CALL =
  "(?:[a-z]{1,12}:)?(?:tool_calls?|function_calls?|tool_code|tool_use|use_tool|invoke|tool_re(?:sponse|sult|quest)|function_response)";
/** The opening and closing marks of each model family's tool calls. A mark in backticks is quoted, not a call. */
const CALLS: readonly (readonly [open: RegExp, close: RegExp])[] = [
  [new RegExp(`(?<!\`)<${CALL}(?:\\s[^<>]{0,300})?>`, "gi"), new RegExp(`</${CALL}>`, "gi")],
  [/(?<!`)<function=[\w.-]{1,64}>/gi, /<\/function>/gi],
  [
    /(?<!`)<[|｜](?:DSML[|｜])?tool[_▁]calls?(?:_section)?[_▁]begin[|｜]>/gi,
    /<[|｜]tool[_▁]calls?(?:_section)?[_▁]end[|｜]>/gi,
  ],
  [/(?<!`)<[|｜]DSML[|｜][^<>]{1,300}>/gi, /<\/[|｜]DSML[|｜][^<>]{1,80}>/gi],
  [
    /(?<!`)<\|(?:tool_calls?|python_tag|action_start)\|>/gi,
    /<\|\/?(?:tool_calls?|action_end|eom_id|eot_id)\|>/gi,
  ],
  [/(?<!`)<start_function_call>/gi, /<end_function_call>/gi],
  [/(?<!`)<\|channel\|>\s{0,9}commentary\b[^<]{0,80}/gi, /<\|call\|>/gi],
  [/\[TOOL_REQUEST\]/g, /\[END_TOOL_REQUEST\]/g],
  [/\[TOOL_CALLS\]/g, /\n[ \t]{0,9}\n/g],
  [/✿FUNCTION✿/g, /✿RETURN✿|\n[ \t]{0,9}\n/g],
  [/```(?:tool_code|tool_calls?|function_calls?|tool_outputs?)[ \t]{0,9}\n/gi, /\n```/g],
];
/** Marks that are left of nested ones. */
const STRAY = new RegExp(
  `(?<!\`)(?:</?${CALL}(?:\\s[^<>]{0,300})?>|</?[|｜](?:tool|DSML)[^<>|｜]{0,40}[|｜]?[^<>]{0,80}>)`,
  "gi",
);

/** A text without the calls of tools that its model wrote into it. */
export function withoutCalls(text: string): string {
  const rest = CALLS.reduce((kept, [open, close]) => withoutBetween(kept, open, close), text);
  return rest === text ? text : rest.replace(STRAY, "").trim();
}

/** Marks by which models and their searches cite what readers do not see: `【12†source】`, `[[1]](…)`, `[citation:1]`. */
const CITATIONS = new RegExp(
  [
    " ?【[^【】\\n]{0,80}†[^【】\\n]{0,80}】| ?【\\d{1,3}(?::\\d{1,3})?】",
    " ?\\[\\[\\d{1,3}\\]\\](?:\\([^()\\s]{0,900}\\))?| ?\\[\\^\\d{1,3}\\^?\\]| ?\\[\\d{1,3}(?:\\.\\d{1,3}){2}(?:, ?\\d{1,3}(?:\\.\\d{1,3}){2}){0,9}\\]",
    " ?\\[(?:citation|cite|source|ref|oaicite): ?\\d{1,3}(?:, ?\\d{1,3}){0,9}\\]| ?:contentReference\\[oaicite:\\d{1,3}\\]\\{index=\\d{1,3}\\}",
    " ?\\(\\[[^[\\]\\n]{1,80}\\]\\(https?:[^()\\s]{1,900}\\)\\)",
    " ?\\uE200[^\\uE200\\uE201]{0,300}\\uE201| ?\\bcite(?:turn\\d{1,3}[a-z]{1,12}\\d{1,3}){1,9}\\b",
    " ?<(?:sup|cite|ref|citation)(?:\\s[^<>]{0,300})?>\\s{0,9}\\[?\\d{1,3}\\]?\\s{0,9}</(?:sup|cite|ref|citation)>",
    "</?(?:cite|citation|grok:[a-z_]{1,20}|co)(?:[\\s:][^<>]{0,300})?/?>",
  ].join("|"),
  "giu",
);
const RENDERED = [/<grok:render\b[^<>]{0,300}>/gi, /<\/grok:render>/gi] as const;

export function withoutCitationMarks(text: string): string {
  return withoutBetween(text, ...RENDERED, false).replace(CITATIONS, "");
}

/** Numbers that cite the model's own search results; facts are cited as `[f12]`. */
const NUMBERED = /(?<=[\p{L}\p{N}.,;:!?%"”’)\]]) ?\[\d{1,2}(?:, ?\d{1,2}){0,9}\](?![\w(])/gu;

/** A model's text as intended: entities and escapes decoded once, and without citations of sources that readers do not see. */
export function asMeant(text: string): string {
  return withoutCitationMarks(withoutEscapes(withoutEntities(text))).replace(NUMBERED, "");
}
