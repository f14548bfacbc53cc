/**
 * The words by which a writer's own figures are read, in the supported languages. A missing word costs style (an extra
 * sign, a question), never truth. Pure.
 */

/**
 * Replaces text that has been read already: not a letter, digit or mark, and in no writer's text. A character of
 * Latin-1, because patterns are compiled once more, at ten times the cost, for texts with others.
 */
export const BLANK = "\u00AD";

/** What a figure may be written in; `order` is a rank in words. */
const WRITTEN = [
  ...(["percent", "times", "money", "gwei", "hours", "place", "order", "coins", "other", "none"] as const),
];
export type Written = (typeof WRITTEN)[number];

/** Rows of a table by unit and size: `money 0.01`. */
function rowsOf(table: Readonly<Record<string, string>>) {
  return Object.entries(table).map(([row, list]) => {
    const [name = "", times = ""] = row.split(" ");
    return { unit: WRITTEN.find((unit) => unit === name) ?? "other", times: Number(times), list };
  });
}

/** Units after a number, each with its factor: basis points are converted to percent, time spans to hours. */
export const UNITS = rowsOf({
  "percent 1":
    "percentage points?|points?(?! de)|pp|p\\. ?p\\.|Prozentpunkten?|puntos porcentuales|points? de pourcentage|pontos percentuais|个?百分点|ポイント|%|percent|per cent|pct|Prozent|por ?ciento|pour ?cent|por ?cento|パーセント|процент\\p{L}*",
  "percent 0.01":
    "bps?|basis points?|Basispunkten?|puntos b[áa]sicos|points? de base|pontos[- ]base|个?基点|ベーシスポイント",
  "times 1":
    "(?:to[- ]|:)1(?![\\d.,:]*\\d|\\s?%)|to[- ]one|x|×|times|[- ]?fold|-?mal|-?fach\\p{L}*|fois|veces|vezes|倍",
  "money 1":
    "\\$(?!\\s?\\d)|USD[CT]?|US[- ]?[Dd]ollars?|[Dd]ollars?|bucks?|d[óo]lares|d[óo]lar|美元|米?ドル|доллар\\p{L}*",
  "money 0.01": "¢|(?:US )?cents?",
  "gwei 1": "[Gg]wei",
  [`hours ${1 / 60}`]: "min(?:ute)?s?|Minuten?|minutos?|分钟|分間",
  "hours 1": "h|hrs?|hours?|Stunden?|Std\\.?|horas?|heures?|小时|時間",
  "hours 24": "d|days?|Tag(?:en?)?|d[íi]as?|jours?|天|日間",
  "hours 168": "weeks?|Wochen?|semanas?|semaines?|周|週間?",
  "hours 720": "months?|Monaten?|mes(?:es)?|mois|mês|个月|[かヶ]月",
  "hours 8760": "years?|Jahren?|años?|ans?|anos?|年間",
  "other 1":
    "‰|per ?mille|Promille|°|[€£¥](?!\\s?\\d)|EUR|GBP|JPY|CNY|CHF|[Ee]uros?|[Pp]ounds?|[Yy]en|Pfund|Franken|евро|руб\\p{L}*|元|円",
});

/** Words for powers of ten after a number. */
export const SCALES = rowsOf({
  "none 1e12":
    "[Tt]n?|trn|trillions?|Billionen|bill[óo]n(?:es)?(?= de)|billones|Bio\\.?|trilh(?:ão|ões)|tri|万亿|兆",
  "none 1e9":
    "[Bb]n?|bln|billions?|mil millones|Milliarden?|Mrd\\.?|milliards?|Md|bilh(?:ão|ões)|bi|миллиард\\p{L}*|млрд",
  "none 1e8": "[亿億]",
  "none 1e6":
    "[Mm]|mm|mn|mln|Mio\\.?|mi|millions?|Millionen|mill[óo]n(?:es)?|milh(?:ão|ões)|миллион\\p{L}*|млн",
  "none 1e4": "万",
  "none 1e3": "[kK]|thousand|Tsd\\.?|Tausend|mil|mille|тыс\\p{L}*",
});

/** Before a figure (after it in Chinese and Japanese) these make it a bound. */
export const OVER =
  "(?<!turn(?:s|ed|ing)? )over|above|more than|at least|exceed(?:s|ed|ing)?|north of|beyond|>|≥|über|mehr als|mindestens|gut|más de|por encima de(?: los)?|al menos|plus de|au-dessus de|au moins|mais de|acima d[eo]s?|pelo menos|超过|高于|逾|至少";
export const UNDER =
  "under|below|less than|fewer than|at most|up to|south of|nearly|almost|just shy of|<|≤|unter|weniger als|höchstens|knapp|fast|menos de|por debajo de(?: los)?|casi|moins de|au-dessous de|sous|presque|abaixo d[eo]s?|quase|低于|不到|不足|近";
export const OVER_BEHIND = "以上|を上回|超";
export const UNDER_BEHIND = "以下|未満|を下回|以内";

/** Directly before a change these give its direction, so that no sign is needed. */
export const UP =
  "(?<!g[ai]ves? |giving |given )up|higher|r[io]se|rises|risen|rising|gain(?:s|ed|ing)?|climb(?:s|ed)?|advanc(?:e|es|ed)|jump(?:s|ed)?|adds|added|rall(?:y|ied|ies)|surg(?:e|es|ed)|increas(?:e|es|ed)|grew|grown|growth|expand(?:s|ed)|plus|" +
  "stieg(?:en)?|steigt|gestiegen|legte|legt|gewann|gewonnen|zugelegt|kletterte|höher|Anstieg|Zuwachs|Gewinn|Plus|" +
  "subió|sube|subida|ganó|gana|avanzó|avanza|alza|aumentó|creció|hausse|gagn[eé]|progress[eé]|mont[eé]|grimp[eé]|augment[eé]|" +
  "subiu|sobe|alta|ganhou|ganha|avançou|avança|cresceu|aumentou|上涨|涨(?!跌|幅)|上升|增长|走高|攀升|增加|上昇|値上がり";
export const DOWN =
  "down|off|lower|g[ai]ves? (?:up|back)|surrender(?:s|ed)|f[ea]ll|falls|fallen|falling|los[et]|loses|loss|losing|declin(?:e|es|ed)|drop(?:s|ped)?|slid|slides?|slip(?:s|ped)?|sheds?|dip(?:s|ped)?|retreat(?:s|ed)?|decreas(?:e|es|ed)|shr[aiu]nk|shrinks|contracted|erased|bled|minus|" +
  "fiel(?:en)?|fällt|gefallen|verlor(?:en)?|verliert|sank|gesunken|niedriger|Rückgang|Verlust|Minus|" +
  "cayó|cae|caída|bajó|baja|perdió|pierde|retrocedió|retrocede|descenso|baisse|perd|perdu|recul[eé]|chut[eé]|cède|cédé|repli|" +
  "caiu|cai|queda|perdeu|perde|recuou|recua|baixa|下跌|下降|走低|回落|减少|跌(?!幅)|下落|値下がり";
/** Words that negate a statement. */
export const NOT =
  "not|no|never|neither|nor|without|hardly|nicht|kein\\p{L}*|nie|weder|sin|ni|nunca|ne|n|pas|sans|jamais|não|sem|nem|没有|不|未|ない|ません|\\p{L}*n['’]t";
/** Words of the future: such a statement has no fact, and needs none. */
export const AHEAD =
  "next|coming|following|nächsten|kommenden|próxim[oa]s|prochain(?:e)?s|未来|接下来|今後|次の";

/** Before a number that belongs to a kind's own name: "of the 50 largest", "within 1 %". */
export const OF =
  "of|in|out of|among|top|largest|/|von|der|den|unter|de|las|los|des|les|sur|das|dos|entre|entre os|前|上位|最大的?";
export const WITHIN =
  "within|inside|±|innerhalb(?: von)?|binnen|dentro d[eo]l?|a menos del?|à moins de|até|上下|前后";

/** Lists of number words; the first word of each is `first`. */
function countedFrom(first: number, lists: readonly string[]) {
  const rows = lists.map((list) => list.split(" "));
  const alike = (rows[0] ?? []).map((_one, at) => rows.flatMap((row) => row[at] ?? []).join("|"));
  return rowsOf(Object.fromEntries(alike.map((list, at) => [`none ${at + first}`, list])));
}

/** Small numbers in words, which are read like digits. */
export const READ = [
  ...countedFrom(1, [
    "one two three four five six seven eight nine ten eleven twelve",
    "eine?[mnrs]? zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "un[ao]? dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "une deux trois quatre cinq six sept huit neuf dix onze douze",
    "uma? dois|duas três quatro cinco seis sete oito nove dez onze doze",
    "一 二|两 三 四 五 六 七 八 九 十",
  ]),
  ...rowsOf({
    "none 0.5": "half|halb\\p{L}*|medio|demi|meio",
    "none 24": "twenty-four|vierundzwanzig|veinticuatro|vingt-quatre|vinte e quatro|二十四",
    "none 48": "forty-eight|achtundvierzig|cuarenta y ocho|quarante-huit|quarenta e oito|四十八",
    "none 50": "fifty|fünfzig|cincuenta|cinquante|cinquenta|五十",
  }),
];
const ONES = "one two three four five six seven eight nine".split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
/** Longer number words, which are found by their ends. */
export const LONGER = countedFrom(13, [
  "thirteen fourteen fifteen sixteen seventeen eighteen nineteen " +
    TENS.flatMap((ten) => [ten, ...ONES.map((one) => `${ten}-${one}`)]).join(" "),
]);

/** Ranks in words: "the fifth-largest". */
export const PLACES = countedFrom(2, [
  "second third fourth fifth sixth seventh eighth ninth tenth",
  "zweit dritt viert fünft sechst siebt acht neunt zehnt",
  "segund[ao] tercer[ao]? cuart[ao] quint[ao] sext[ao] séptim[ao] octav[ao] noven[ao] décim[ao]",
  "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
  "segund[ao] terceir[ao] quart[ao] quint[ao] sext[ao] sétim[ao] oitav[ao] non[ao] décim[ao]",
]);
export const LARGEST = "largest|biggest|most|größte\\p{L}*|meist\\p{L}*|mayor|más|plus|maior|mais";
/** An amount per dollar of another amount. */
export const EACH_DOLLAR = /for (?:each|every|one) (?:US )?dollar/i;
/** "A million" is one million. */
export const A_SCALE = "an?(?= (?:thousand|[mbtr]{1,2}illion))";
/** Ends of longer number words. */
export const NUMBER_ENDS =
  "teen|ty|hundred|dozen|zig|ßig|zehn|hundert|tausend|Dutzend|trece|catorce|quince|séis|veint[ei]\\p{L}*|enta|cientos?|cien|mil|docena|" +
  "treize|quatorze|quinze|seize|vingts?|trente|quarante|soixante|cents?|mille|douzaine|treze|vinte|inta|cento|meia|dúzia";

/** How many of the majors rose, in statements about all of them. */
const MAJORS =
  "(?:all(?: of)?(?: the)?(?: three)?|every|each(?: of the)?(?: three)?) majors?(?: (?:coins?|is|are|was|were|has|have|all)){0,2} ";
export const ALL_MAJORS = rowsOf({ "order 3": `${MAJORS}(?:${UP})`, "order 0": `${MAJORS}(?:${DOWN})` });

/** What one amount is of another, in a word. */
export const MULTIPLES = rowsOf({
  "times 2": "twice|double(?= (?:that|its|the|of))|doppelt(?= so)|el doble|le double|o dobro|两倍",
  "times 3": "triple(?= (?:that|its|the|of))|el triple|le triple|o triplo|三倍",
  "times 4": "quadruple(?= (?:that|its|the|of))|四倍",
  "times 0.5": `half(?= (?:the (?:coins|majors|market|top|${BLANK})|of (?:all|its|their|that|the (?:\\d+|coins|supply|market|book|${BLANK}))|its|their|that|as))|(?<=by )half(?! (?:an?|of)(?!\\p{L}))|die Hälfte|la mitad|la moitié|a metade|一半|半分`,
  [`times ${1 / 3}`]:
    "(?:a|one)[- ]third(?= of)|(?<=by )a third|ein Drittel|un tercio|un tiers|um terço|三分之一",
  [`times ${2 / 3}`]: "two[- ]thirds|zwei Drittel|dos tercios|deux tiers|dois terços|三分之二",
  "times 0.25":
    "(?:a|one)[- ]quarter(?= of)|(?<=by )a quarter|ein Viertel|un cuarto|un quart(?= d)|um quarto|四分之一",
  "times 0.75": "three[- ]quarters|drei Viertel|tres cuartos|trois quarts|três quartos|四分之三",
  "times 0.2":
    "(?:a|one)[- ]fifth(?= of)|(?<=by )a fifth|ein Fünftel|un quinto|un cinquième|um quinto|五分之一",
  "times 0.1":
    "(?:a|one)[- ]tenth(?= of)|(?<=by )a tenth|ein Zehntel|una décima|un dixième|um décimo|十分之一",
});
/** Other words that imply a number and are not read: no figure can replace them. */
export const UNREAD =
  `(?:every|each|all|none|not one|not a single one|any)(?: single)?(?: one)? of the(?= (?:top |largest )?(?:${BLANK}|fifty))|(?:a )?(?:dimes?|nickels?|quarters?|penn(?:y|ies)|cents?) (?:on|in|to|of|for) (?:the|every|each|a) dollar|all(?= (?:the )?fifty)|half again|(?:one|two|three|four)-(?:fifty|hundred)|(?:a|two|three|several) dozen|a quarter point|(?:six|seven|double|triple)[- ](?:figures?|digits?)|doubl(?:ed|ing)|tripl(?:ed|ing)|quadrupl(?:ed|ing)|halv(?:ed|es|ing)|` +
  "(?:verdoppel|verdreifach|vervierfach|halbier)\\p{L}+|(?:zwei|drei|vier|fünf|zehn|hundert|tausend)fach\\p{L}*|(?:duplic|triplic)\\p{L}+|doublé|triplé|dobrou|翻了?[一两几]?[番倍]|减半|減半|腰斩|倍増|半減|半値|倍に(?=な|増|膨)";
