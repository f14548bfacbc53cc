/**
 * The languages served: how each writes figures, and the few words by which figures are read and labels left out. A word
 * that is missing costs style (a label too many, a question back), never truth. Pure.
 */

export const LOCALES = ["en", "de", "es", "fr", "pt", "zh", "ja"] as const;
export type Locale = (typeof LOCALES)[number];

/** How a locale writes figures; `#` stands for the number. */
export type Script = {
  point: string;
  group: string;
  money: string;
  percent: string;
  points: string;
  quote: string;
  /** Large amounts, largest first, as powers of ten. */
  large: readonly { power: number; name: string }[];
};

/** An underscore is a space at which no line ends. */
export const SCRIPTS: Readonly<Record<Locale, Script>> = {
  en: script(". , $# #% #_pp “#” 12:T 9:B 6:M"),
  de: script(", . #_$ #_% #_Prozentpunkte „#“ 12:_Bio. 9:_Mrd. 6:_Mio."),
  es: script(", . #_$ #_% #_p._p. «#» 12:_billones 6:_millones"),
  fr: script(", _ #_$ #_% #_pt «_#_» 9:_Md 6:_M"),
  pt: script(", . US$_# #% #_p.p. “#” 12:_tri 9:_bi 6:_mi"),
  zh: script(". , #美元 #% #个百分点 “#” 12:万亿 8:亿 4:万"),
  ja: script(". , #ドル #% #ポイント 「#」 12:兆 8:億 4:万"),
};

function script(forms: string): Script {
  const [point = "", group = "", money = "", percent = "", points = "", quote = "", ...large] = forms
    .replaceAll("_", "\u00A0")
    .split(" ");
  const named = large.map((one) => ({ power: Number.parseInt(one), name: one.slice(one.indexOf(":") + 1) }));
  return { point, group, money, percent, points, quote, large: named };
}

/** Common words, by which a text's language is known. */
const COMMON: Readonly<Record<Exclude<Locale, "zh" | "ja">, RegExp>> = {
  en: words("the|and|of|is|are|has|at|with|to|its|over|in|on|a|by|for|from|as|no|do|up|while"),
  de: words("der|die|das|und|ist|bei|mit|auf|den|im|von|liegt"),
  es: words("el|la|los|las|de|del|y|es|con|en|una?|por|se|que|su|más"),
  fr: words("le|la|les|de|des|du|et|est|avec|une?|dans|au|à|sur|en"),
  pt: words("o|a|os|as|de|d[oa]s?|e|é|com|em|uma?|n[oa]s?|está|para"),
};

/** The language of a text, by its script and its commonest words; English where nothing tells. */
export function localeOf(text: string): Locale {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Han}/u.test(text)) return "zh";
  const counts = (["en", "de", "es", "fr", "pt"] as const).map((locale) => ({
    locale,
    count: text.match(COMMON[locale])?.length ?? 0,
  }));
  return counts.reduce((most, one) => (one.count > most.count ? one : most)).locale;
}

/** Words as a pattern that finds them whole; those of scripts without spaces as they are. */
export function words(list: string, flags = "giu"): RegExp {
  return new RegExp(`(?<!\\p{Script=Latin})(?:${list})(?!\\p{Script=Latin})`, flags);
}

/** Units behind a number, or by themselves behind a number in words. The first that fits counts. */
export const UNIT_WORDS = {
  points:
    "percentage points?|pp|p\\. ?p\\.|Prozentpunkten?|puntos porcentuales|points? de pourcentage|pontos percentuais|个百分点|ポイント",
  bps: "bps?|basis points?|Basispunkten?|puntos b[áa]sicos|points? de base|pontos[- ]base|个?基点|ベーシスポイント",
  percent: "%|percent(?!age)|per cent|pct|Prozent|por ?ciento|pour ?cent|por ?cento|パーセント",
  times: "x|×|times|[- ]?fold|-?mal|-?fach\\p{L}*|fois|veces|vezes|倍",
  usd: "\\$(?!\\s?\\d)|USD|US[- ]?[Dd]ollars?|[Dd]ollars?|d[óo]lares|d[óo]lar|美元|米?ドル",
  cents: "¢|cents?",
  gwei: "gwei",
  other: "‰|[€£¥](?!\\s?\\d)|EUR|GBP|JPY|CNY|euros?|pounds?|yen|元|円",
} as const;
export type WrittenUnit = keyof typeof UNIT_WORDS;

/** Words for powers of ten behind a number; a billion has nine zeros or twelve. */
export const SCALES: readonly { words: string; powers: readonly number[] }[] = rows({
  3: "k|K|thousand|Tsd\\.?|Tausend|mil(?= (?:d[óo]lares|USD|\\$))|mille",
  9: "B|b|bn|bln|mil millones|Milliarden?|Mrd\\.?|milliards?|Md|bilh(?:ão|ões)|bi",
  6: "M|m|mm|mn|mln|Mio\\.?|mi|millions?|Millionen|mill[óo]n(?:es)?|milh(?:ão|ões)",
  "9,12": "billions?|Billionen|bill[óo]n(?:es)?|Bio\\.?",
  12: "T|t|tn|trn|trillions?|trilh(?:ão|ões)|tri|万亿|兆",
  8: "亿|億",
  4: "万",
}).map(([key, list]) => ({ words: list, powers: key.split(",").map(Number) }));

/** Spans of time behind a number, by their minutes. */
export const SPANS: readonly { words: string; hours: number }[] = rows({
  1: "min(?:ute)?s?|Minuten?|minutos?|分钟|分間",
  60: "h|hrs?|hours?|Stunden?|Std\\.?|horas?|heures?|小时|時間",
  1440: "d|days?|Tag(?:en?)?|d[íi]as?|jours?|天|日間",
  10080: "weeks?|Wochen?|semanas?|semaines?|周|週間?",
  43200: "months?|Monaten?|mes(?:es)?|mois|mês|个月|[かヶ]月",
  525600: "years?|Jahren?|años?|ans?|anos?|年間",
}).map(([minutes, list]) => ({ words: list, hours: Number(minutes) / 60 }));

/** Words for the time over which something is measured: hours, or since when; 0 is any other. */
export const WINDOWS: readonly { words: RegExp; span: string }[] = rows({
  report: "last report|letzten Bericht|último informe|dernier rapport|último relatório|上次报告|前回",
  start: "shift|Schicht|turno|班次|シフト",
  24: "24[- ]?h(?:ours?|rs?)?|24 (?:Stunden|horas|heures)|today|daily|day|intraday|Tages\\p{L}*|Tag|heute|día|hoy|jour(?:née)?|aujourd.hui|dia|hoje|24 ?小时|今日|日内|24 ?時間|本日",
  48: "48[- ]?h(?:ours?|rs?)?|48 (?:Stunden|horas|heures)|two days|zwei Tagen?|dos días|deux jours|dois dias|48 ?小时|两天|48 ?時間|2日間",
  168: "7[- ]?d(?:ays?)?|7 (?:Tagen?|días|jours|dias)|seven days|week(?:ly)?|Woche|semana|semaine|7 ?天|一周|7日間|週間",
  1: "hour(?:ly)?|1 ?h|Stunde|stündlich|hora|heure|每小时|毎時|1時間",
  0: "month(?:ly)?|year(?:ly)?|annual\\p{L}*|30[- ]?d(?:ays?)?|Monat|Jahr|mes|año|mois|an|mês|ano|quarter|weekend|月|年",
}).map(([span, list]) => ({ words: words(list), span }));

function rows(table: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(table);
}

/** Said before a figure (behind it in Chinese and Japanese): it is a bound. */
export const OVER =
  "(?<!turn(?:s|ed|ing)? )over|above|more than|at least|exceed(?:s|ed|ing)?|north of|beyond|>|≥|über|mehr als|mindestens|más de|por encima de(?: los)?|al menos|plus de|au-dessus de|au moins|mais de|acima d[eo]s?|pelo menos|超过|高于|逾|至少";
export const UNDER =
  "under|below|less than|fewer than|at most|up to|south of|nearly|almost|just shy of|<|≤|unter|weniger als|höchstens|knapp|fast|menos de|por debajo de(?: los)?|casi|moins de|au-dessous de|sous|presque|abaixo d[eo]s?|quase|低于|不到|不足|近";
export const OVER_BEHIND = "以上|を上回|超";
export const UNDER_BEHIND = "以下|未満|を下回|以内";

export const UP = words(
  "up|higher|r[io]se|rises|risen|rising|gain(?:s|ed|ing)?|climb(?:s|ed)?|advanc(?:e|es|ed)|jump(?:s|ed)?|adds|added|rall(?:y|ied|ies)|surg(?:e|es|ed)|increas(?:e|es|ed)|grew|grown|growth|expand(?:s|ed)|plus|" +
    "stieg(?:en)?|steigt|gestiegen|legte|legt|gewann|gewonnen|zugelegt|kletterte|höher|Anstieg|Zuwachs|Gewinn|Plus|" +
    "subió|sube|subida|ganó|gana|avanzó|avanza|alza|aumentó|creció|hausse|gagn[eé]|progress[eé]|mont[eé]|grimp[eé]|augment[eé]|" +
    "subiu|sobe|alta|ganhou|ganha|avançou|avança|cresceu|aumentou|上涨|涨(?!跌|幅)|上升|增长|走高|攀升|增加|上昇|値上がり",
);
export const DOWN = words(
  "down|off|lower|f[ea]ll|falls|fallen|falling|los[et]|loses|loss|losing|declin(?:e|es|ed)|drop(?:s|ped)?|slid|slides?|slip(?:s|ped)?|sheds?|dip(?:s|ped)?|retreat(?:s|ed)?|decreas(?:e|es|ed)|shr[aiu]nk|shrinks|contracted|erased|bled|minus|" +
    "fiel(?:en)?|fällt|gefallen|verlor(?:en)?|verliert|sank|gesunken|niedriger|Rückgang|Verlust|Minus|" +
    "cayó|cae|caída|bajó|baja|perdió|pierde|retrocedió|retrocede|descenso|baisse|perd|perdu|recul[eé]|chut[eé]|cède|cédé|repli|" +
    "caiu|cai|queda|perdeu|perde|recuou|recua|baixa|下跌|下降|走低|回落|减少|跌(?!幅)|下落|値下がり",
);

/** What turns a statement round, and what says that it is not of now. */
export const NOT = words(
  "not|no|never|neither|nor|without|hardly|nicht|kein\\p{L}*|nie|weder|sin|ni|nunca|ne|n|pas|sans|jamais|não|sem|nem|没有|不|未|ない|ません|\\p{L}*n['’]t",
);
export const ELSEWHEN = words(
  "was|were|stood|had|will|would|could|may|might|should|yesterday|ago|earlier|before|by|next|tomorrow|targets?|forecast|expect\\p{L}*|since|until|once|if|fair|from|" +
    "war(?:en)?|wird|würde|könnte|gestern|vor|seit|bis|falls|ayer|hace|desde|será|estaba|era|hier|depuis|était|sera|ontem|há|foi|estava|昨|曾|将|自|以来|だった|でした|予想|から",
);
/** What is still to come has no fact, and needs none. */
export const AHEAD =
  "next|coming|following|nächsten|kommenden|próxim[oa]s|prochain(?:e)?s|未来|接下来|今後|次の";

/** Before the number of a list that a kind counts in, and beside a kind's own share. */
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
  ...{ thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70, eighty: 80, ninety: 90, half: 0.5, 两: 2 },
};
/** The ends of longer numbers in words, which are known for figures and not read. */
export const NUMBER_ENDS =
  "hundred|thousand|zig|zehn|hundert|tausend|halb|einhalb|einhalb|eine?m?|enta|ciento|cien|mil|medio|vingts?|trente|quarante|cinquante|soixante|cents?|mille|demi|inta|enta|cento|meia?|百|千|点[一二三四五六七八九]";

function counted(list: string): Record<string, number> {
  return Object.fromEntries(list.split(" ").map((word, index) => [word, index + 1]));
}

/** What one amount is of another, in a word. */
export const MULTIPLES: readonly { words: RegExp; value: number }[] = rows({
  2: "twice|doubl(?:ed|ing)|double(?= (?:that|its|the|of))|doppelt(?= so)|verdoppel\\p{L}+|el doble|duplic\\p{L}+|le double|doublé|o dobro|dobrou|两倍|翻倍|翻番|倍増",
  3: "tripl(?:ed|ing)|triple(?= (?:that|its|the|of))|verdreifach\\p{L}+|el triple|triplic\\p{L}+|triplé|o triplo|三倍",
  4: "quadrupl(?:ed|ing)|vervierfach\\p{L}+|四倍",
  "1/2":
    "halv(?:ed|es)|by half|half(?= (?:of (?:all|its|their|that|the (?:\\d+|coins|supply|market|book))|its|their|that|as))|die Hälfte|halbier\\p{L}+|la mitad|la moitié|a metade|减半|一半|半分|半減",
  "1/3": "(?:a|one)[- ]third(?= of)|ein Drittel|un tercio|un tiers|um terço|三分之一",
  "2/3": "two[- ]thirds|zwei Drittel|dos tercios|deux tiers|dois terços|三分之二",
  "1/4": "(?:a|one)[- ]quarter(?= of)|ein Viertel|un cuarto|un quart(?= d)|um quarto|四分之一",
  "3/4": "three[- ]quarters|drei Viertel|tres cuartos|trois quarts|três quartos|四分之三",
  "1/5": "(?:a|one)[- ]fifth(?= of)|ein Fünftel|un quinto|un cinquième|um quinto|五分之一",
  "1/10": "(?:a|one)[- ]tenth(?= of)|ein Zehntel|una décima|un dixième|um décimo|十分之一",
}).map(([key, list]) => {
  const [over = "", under = "1"] = key.split("/");
  return { words: words(list), value: Number(over) / Number(under) };
});

/** Words that begin sentences and are nobody's name. */
export const OPENINGS = words(
  "The|It|Its|At|In|On|Of|With|While|And|But|Over|Since|By|From|For|Both|Among|After|Today|This|That|There|Their|Meanwhile|Overall|Around|Still|Here|Yet|Only|Some|All|Most|As|If|An?|Near|Between|Also|Now|Against|Perpetual|Support|Resistance|Buy|Sell|Open|Market|Dollar|Spot|Breadth|Momentum|Depth|" +
    "Der|Die|Das|Den|Dem|Im|Am|Bei|Mit|Auf|Zum|Zur|Und|Aber|Seit|Kurs|Stunden|Tag|Markt|Prozent|Uhr|Handel|Dollar|Coins|El|Los?|Las?|En|Con|Por|Desde|Un[ae]?|Le|Les|Au|Aux|Avec|Dans|Sur|Depuis|Os?|As|No|Na|Em|Com|Desde|USD|UTC|OI|ETFs?",
  "gu",
);
