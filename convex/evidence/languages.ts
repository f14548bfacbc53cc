/**
 * The languages served: how each writes figures, and the few words by which a writer's own figures are read. A word that
 * is missing costs style (a sign too many, a question back), never truth. Pure.
 */

export const LOCALES = ["en", "de", "es", "fr", "pt", "zh", "ja"] as const;
export type Locale = (typeof LOCALES)[number];

/**
 * How each writes figures: its marks, money, shares, points, places and quotations (`#` stands for what is said), and the powers of
 * ten that it has names for, largest first. An underscore is a space at which no line ends.
 */
export const SCRIPTS: Readonly<Record<Locale, ReturnType<typeof script>>> = {
  en: script(". $# #% #_pp # “#” 12:T 9:B 6:M"),
  de: script(", #_$ #_% #_Prozentpunkte # „#“ 12:_Bio. 9:_Mrd. 6:_Mio."),
  es: script(", #_$ #_% #_p._p. # «#» 12:_billones 6:_millones"),
  fr: script(", #_$ #_% #_pt # «_#_» 9:_Md 6:_M"),
  pt: script(", US$_# #% #_p.p. # “#” 12:_tri 9:_bi 6:_mi"),
  zh: script(". #美元 #% #个百分点 第 “#” 12:万亿 8:亿 4:万"),
  ja: script(". #ドル #% #ポイント 第 「#」 12:兆 8:億 4:万"),
};

function script(forms: string) {
  const [mark, money = "", percent = "", points = "", place = "", quote = "", ...named] = forms
    .replaceAll("_", "\u00A0")
    .split(" ");
  const large = named.map((one) => ({ power: Number.parseInt(one), name: one.replace(/^\d+:/, "") }));
  const point: "." | "," = mark === "," ? "," : ".";
  return { point, money, percent, points, place, quote, large };
}

/** Common words, by which a text's language is known. */
const COMMON = Object.entries({
  en: "the|and|of|is|are|has|at|with|to|its|over|in|on|a|by|for|from|as|no|do|up|while",
  de: "der|die|das|und|ist|bei|mit|auf|den|im|von|liegt",
  es: "el|la|los|las|de|del|y|es|con|en|una?|por|se|que|su|más",
  fr: "le|la|les|de|des|du|et|est|avec|une?|dans|au|à|sur|en",
  pt: "o|a|os|as|de|d[oa]s?|e|é|com|em|uma?|n[oa]s?|está|para",
}).map(([locale, list]) => ({ locale, pattern: words(list) }));

/** The language of a text, by its script and its commonest words; English where nothing tells. */
export function localeOf(text: string): Locale {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Han}/u.test(text)) return "zh";
  const counts = COMMON.map(({ locale, pattern }) => ({ locale, count: text.match(pattern)?.length ?? 0 }));
  const most = counts.reduce((first, one) => (one.count > first.count ? one : first));
  return LOCALES.find((locale) => locale === most.locale) ?? "en";
}

/** Words as a pattern that finds them whole; those of scripts without spaces as they are. */
export function words(list: string): RegExp {
  return new RegExp(`(?<!\\p{Script=Latin})(?:${list})(?!\\p{Script=Latin})`, "giu");
}

/** In what a figure may be written. */
export type Written = "percent" | "times" | "money" | "gwei" | "hours" | "place" | "coins" | "other" | "none";

/** Units behind a number, each with what it is multiplied by: basis points are told in percent, spans of time in hours. */
export const UNITS: readonly { unit: Written; times: number; list: string }[] = [
  {
    unit: "percent",
    times: 1,
    list: "percentage points?|points?(?! de)|pp|p\\. ?p\\.|Prozentpunkten?|puntos porcentuales|points? de pourcentage|pontos percentuais|个?百分点|ポイント|%|percent|per cent|pct|Prozent|por ?ciento|pour ?cent|por ?cento|パーセント",
  },
  {
    unit: "percent",
    times: 0.01,
    list: "bps?|basis points?|Basispunkten?|puntos b[áa]sicos|points? de base|pontos[- ]base|个?基点|ベーシスポイント",
  },
  { unit: "times", times: 1, list: "x|×|times|[- ]?fold|-?mal|-?fach\\p{L}*|fois|veces|vezes|倍" },
  {
    unit: "money",
    times: 1,
    list: "\\$(?!\\s?\\d)|USD[CT]?|US[- ]?[Dd]ollars?|[Dd]ollars?|d[óo]lares|d[óo]lar|美元|米?ドル",
  },
  { unit: "money", times: 0.01, list: "¢|(?:US )?cents?" },
  { unit: "gwei", times: 1, list: "[Gg]wei" },
  { unit: "hours", times: 1 / 60, list: "min(?:ute)?s?|Minuten?|minutos?|分钟|分間" },
  { unit: "hours", times: 1, list: "h|hrs?|hours?|Stunden?|Std\\.?|horas?|heures?|小时|時間" },
  { unit: "hours", times: 24, list: "d|days?|Tag(?:en?)?|d[íi]as?|jours?|天|日間" },
  { unit: "hours", times: 168, list: "weeks?|Wochen?|semanas?|semaines?|周|週間?" },
  { unit: "hours", times: 720, list: "months?|Monaten?|mes(?:es)?|mois|mês|个月|[かヶ]月" },
  { unit: "hours", times: 8_760, list: "years?|Jahren?|años?|ans?|anos?|年間" },
  { unit: "other", times: 1, list: "‰|°|[€£¥](?!\\s?\\d)|EUR|GBP|JPY|CNY|euros?|pounds?|yen|元|円" },
];

/** Words for powers of ten behind a number. */
export const SCALES = [
  {
    power: 12,
    list: "[Tt]n?|trn|trillions?|Billionen|bill[óo]n(?:es)?(?= de)|billones|Bio\\.?|trilh(?:ão|ões)|tri|万亿|兆",
  },
  { power: 9, list: "[Bb]n?|bln|billions?|mil millones|Milliarden?|Mrd\\.?|milliards?|Md|bilh(?:ão|ões)|bi" },
  { power: 8, list: "[亿億]" },
  { power: 6, list: "[Mm]|mm|mn|mln|Mio\\.?|mi|millions?|Millionen|mill[óo]n(?:es)?|milh(?:ão|ões)" },
  { power: 4, list: "万" },
  { power: 3, list: "[kK]|thousand|Tsd\\.?|Tausend|mil|mille" },
];

/** Said before a figure (behind it in Chinese and Japanese): it is a bound. */
export const OVER =
  "(?<!turn(?:s|ed|ing)? )over|above|more than|at least|exceed(?:s|ed|ing)?|north of|beyond|>|≥|über|mehr als|mindestens|más de|por encima de(?: los)?|al menos|plus de|au-dessus de|au moins|mais de|acima d[eo]s?|pelo menos|超过|高于|逾|至少";
export const UNDER =
  "under|below|less than|fewer than|at most|up to|south of|nearly|almost|just shy of|<|≤|unter|weniger als|höchstens|knapp|fast|menos de|por debajo de(?: los)?|casi|moins de|au-dessous de|sous|presque|abaixo d[eo]s?|quase|低于|不到|不足|近";
export const OVER_BEHIND = "以上|を上回|超";
export const UNDER_BEHIND = "以下|未満|を下回|以内";

/** Right before a change: it says the direction, so that the sign need not. */
export const UP =
  "up|higher|r[io]se|rises|risen|rising|gain(?:s|ed|ing)?|climb(?:s|ed)?|advanc(?:e|es|ed)|jump(?:s|ed)?|adds|added|rall(?:y|ied|ies)|surg(?:e|es|ed)|increas(?:e|es|ed)|grew|grown|growth|expand(?:s|ed)|plus|" +
  "stieg(?:en)?|steigt|gestiegen|legte|legt|gewann|gewonnen|zugelegt|kletterte|höher|Anstieg|Zuwachs|Gewinn|Plus|" +
  "subió|sube|subida|ganó|gana|avanzó|avanza|alza|aumentó|creció|hausse|gagn[eé]|progress[eé]|mont[eé]|grimp[eé]|augment[eé]|" +
  "subiu|sobe|alta|ganhou|ganha|avançou|avança|cresceu|aumentou|上涨|涨(?!跌|幅)|上升|增长|走高|攀升|增加|上昇|値上がり";
export const DOWN =
  "down|off|lower|f[ea]ll|falls|fallen|falling|los[et]|loses|loss|losing|declin(?:e|es|ed)|drop(?:s|ped)?|slid|slides?|slip(?:s|ped)?|sheds?|dip(?:s|ped)?|retreat(?:s|ed)?|decreas(?:e|es|ed)|shr[aiu]nk|shrinks|contracted|erased|bled|minus|" +
  "fiel(?:en)?|fällt|gefallen|verlor(?:en)?|verliert|sank|gesunken|niedriger|Rückgang|Verlust|Minus|" +
  "cayó|cae|caída|bajó|baja|perdió|pierde|retrocedió|retrocede|descenso|baisse|perd|perdu|recul[eé]|chut[eé]|cède|cédé|repli|" +
  "caiu|cai|queda|perdeu|perde|recuou|recua|baixa|下跌|下降|走低|回落|减少|跌(?!幅)|下落|値下がり";
/** What turns a statement round. */
export const NOT =
  "not|no|never|neither|nor|without|hardly|nicht|kein\\p{L}*|nie|weder|sin|ni|nunca|ne|n|pas|sans|jamais|não|sem|nem|没有|不|未|ない|ません|\\p{L}*n['’]t";
/** What is still to come has no fact, and needs none. */
export const AHEAD =
  "next|coming|following|nächsten|kommenden|próxim[oa]s|prochain(?:e)?s|未来|接下来|今後|次の";

/** Before a number that a kind's own name has: "of the 50 largest", "within 1 %". */
export const OF =
  "of|in|out of|among|top|largest|/|von|der|den|unter|de|las|los|des|les|sur|das|dos|entre|entre os|前|上位|最大的?";
export const WITHIN =
  "within|inside|±|innerhalb(?: von)?|binnen|dentro d[eo]l?|a menos del?|à moins de|até|上下|前后";

/** Numbers in words: only with a unit, and known only where one word says them. */
export const NUMBERS: Readonly<Record<string, number>> = {
  ...counted(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
  ),
  ...counted("ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
  ...counted("uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
  ...counted("un deux trois quatre cinq six sept huit neuf dix onze douze"),
  ...counted("um dois três quatro cinco seis sete oito nove dez onze doze"),
  ...counted("一 二 三 四 五 六 七 八 九 十"),
  ...{ thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70, eighty: 80, ninety: 90 },
  ...{ half: 0.5, eine: 1, einem: 1, 两: 2 },
};

function counted(list: string): Record<string, number> {
  return Object.fromEntries(list.split(" ").map((word, index) => [word, index + 1]));
}
/** The ends of longer numbers in words, which are known for figures and not read. */
export const NUMBER_ENDS =
  "hundred|thousand|zig|zehn|hundert|tausend|halb|eine?m?|enta|ciento|cien|mil|medio|vingts?|trente|quarante|cinquante|soixante|cents?|mille|demi|inta|cento|meia?";

/** What one amount is of another, in a word. */
export const MULTIPLES = Object.entries({
  2: "twice|doubl(?:ed|ing)|double(?= (?:that|its|the|of))|doppelt(?= so)|verdoppel\\p{L}+|el doble|duplic\\p{L}+|le double|doublé|o dobro|dobrou|两倍|翻倍|翻番|倍増",
  3: "tripl(?:ed|ing)|triple(?= (?:that|its|the|of))|verdreifach\\p{L}+|el triple|triplic\\p{L}+|triplé|o triplo|三倍",
  4: "quadrupl(?:ed|ing)|vervierfach\\p{L}+|四倍",
  0.5: "halv(?:ed|es)|by half|half(?= (?:of (?:all|its|their|that|the (?:\\d+|coins|supply|market|book))|its|their|that|as))|die Hälfte|halbier\\p{L}+|la mitad|la moitié|a metade|减半|一半|半分|半減",
  "1/3": "(?:a|one)[- ]third(?= of)|ein Drittel|un tercio|un tiers|um terço|三分之一",
  "2/3": "two[- ]thirds|zwei Drittel|dos tercios|deux tiers|dois terços|三分之二",
  0.25: "(?:a|one)[- ]quarter(?= of)|ein Viertel|un cuarto|un quart(?= d)|um quarto|四分之一",
  0.75: "three[- ]quarters|drei Viertel|tres cuartos|trois quarts|três quartos|四分之三",
  0.2: "(?:a|one)[- ]fifth(?= of)|ein Fünftel|un quinto|un cinquième|um quinto|五分之一",
  0.1: "(?:a|one)[- ]tenth(?= of)|ein Zehntel|una décima|un dixième|um décimo|十分之一",
}).map(([key, list]) => {
  const [over = "", under = "1"] = key.split("/");
  return { words: list, value: Number(over) / Number(under) };
});
