import { withoutTrailing } from "../../lib/text/strings";
import type { Condition } from "./conditions";
import { spelledOut } from "./numbers";

/**
 * The words that a request for an alert may consist of, in English, German, French, Spanish and Italian, by what they say. A
 * word that stands nowhere here may turn the meaning round, as every language has its own for “not”, “only” and “from”:
 * whoever checks against these refuses it. Pure.
 */

/** A request as it is read: its words a space apart, and the same in small letters, with short numbers in digits. */
export function plainly(asked: string): { spaced: string; text: string } {
  const spaced = asked.normalize("NFKC").replaceAll("’", "'").replace(/\s+/gu, " ").trim();
  return { spaced, text: withoutTrailing(spelledOut(spaced.toLowerCase()), ".!?") };
}

export type Coin = Exclude<Condition, { kind: "digest" }>["token"];

export const COIN_NAMES: Readonly<Record<string, Coin>> = {
  btc: "BTC",
  bitcoin: "BTC",
  bitcoins: "BTC",
  eth: "ETH",
  ether: "ETH",
  ethereum: "ETH",
  sol: "SOL",
  solana: "SOL",
  usdc: "USDC",
  usdt: "USDT",
  tether: "USDT",
  dai: "DAI",
  weth: "WETH",
  cbbtc: "CBBTC",
};

/** What a word says of where something stands or goes; `neutral` ones say nothing, `unclear` ones several things. */
const SENSES = [
  "over",
  "under",
  "rise",
  "fall",
  "to",
  "unclear",
  "inflow",
  "outflow",
  "funding",
  "hourly",
  "digest",
  "daily",
  "early",
  "late",
  "neutral",
] as const;
export type Sense = (typeof SENSES)[number];

const WORDS: Readonly<Record<Sense, string>> = {
  /** At a level or beyond it; of a change or a movement, that much or more. */
  over: `
    above · over · higher than · more than · greater than · at least · past · beyond · exceeds · at or above · or more · > · >= · ≥
    über · mehr als · höher als · größer als · mindestens · oberhalb von · übersteigt · oder mehr
    au-dessus de · plus de · au moins · dépasse · por encima de · más de · supera · supere · al menos
    sopra · oltre · più di · almeno`,
  under: `
    below · under · lower than · less than · beneath · at or below · or less · < · <= · ≤
    unter · weniger als · niedriger als · unterhalb von · oder weniger
    au-dessous de · en dessous de · sous · moins de · por debajo de · menos de
    sotto · meno di`,
  rise: `
    up · rise · rises · rising · rose · climbs · climbing · gains · gained · jumps · surges · pumps · rallies · increases · grows
    steigt · steigen · gestiegen · klettert · zulegt · monte · augmente · sube · suba · sale · salga`,
  fall: `
    down · drop · drops · dropped · dropping · fall · falls · fell · falling · dips · sinks · loses · lost · slides · crashes
    plunges · plummets · dumps · declines · decreases
    fällt · fallen · gefallen · sinkt · sinken · verliert · baisse · chute · baja · baje · cae · caiga · scende · scenda`,
  /** Behind a rise or a fall of the price. */
  to: `to · auf`,
  /** Said of a price it is a level, said of a change it is the most. */
  unclear: `up to · bis zu`,
  inflow: `
    inflow · inflows · exchange inflow · exchange inflows · to an exchange · to exchanges · into an exchange · into exchanges
    zufluss · zuflüsse · an eine börse · auf eine börse · afflux · entrada · entradas · afflusso · afflussi`,
  outflow: `
    outflow · outflows · exchange outflow · exchange outflows · from an exchange · from exchanges · out of an exchange
    out of exchanges · off an exchange · off exchanges · leaves an exchange
    abfluss · abflüsse · von einer börse · sortie · sorties · salida · salidas · deflusso · deflussi`,
  funding: `funding · funding rate · perp funding · perpetual funding · perp funding rate · fundingrate · tasso di funding`,
  /** Funding rates are told for this time. */
  hourly: `per hour · an hour · hourly · each hour · /h · pro stunde · stündlich · par heure · por hora · all'ora`,
  digest: `
    digest · summary · zusammenfassung · überblick · übersicht · résumé · resumen · riassunto · riepilogo`,
  daily: `
    daily · every day · each day · every morning · each morning · every evening · each evening
    täglich · jeden tag · jeden morgen · jeden abend · chaque jour · tous les jours · cada día · todos los días · ogni giorno`,
  early: `
    am · a.m · in the morning · morning · every morning · each morning
    morgens · am morgen · jeden morgen · du matin · de la mañana · del mattino`,
  late: `
    pm · p.m · in the evening · in the afternoon · evening · every evening · each evening
    abends · am abend · jeden abend · nachmittags · du soir · de la tarde · de la noche · di sera`,
  neutral: `
    a · an · the · is · are · be · being · get · gets · goes · going · go · comes · moves · move · movement · it · price · prices
    of · in · on · for · by · at · when · if · whenever · once · as soon as · ever · please · pls · thanks · can you · could you
    would you · i · me · my · i'd · i'd like to · i want to · it would be · like · love · lovely · nice · great · know · hear
    let me know · tell · alert · alarm · notify · ping · warn · message · inform · remind · wake me up · send · give · set · set up
    create · hey · hi · hello · ok · whale · whales · big · large · worth · trades · trading · rate
    der · die · das · den · dem · ein · eine · einen · einer · einem · ist · wird · wenn · sobald · sag · sage · mir · bescheid · bitte
    gib · ich · möchte · wissen · von · bei · um · an · kurs · preis · schick · großer · große · großen · wal · uhr
    le · la · les · un · une · de · du · des · l' · d' · à · est · quand · lorsque · si · dès que · préviens-moi · prévenez-moi
    prix · alerte · el · los · las · una · del · al · en · está · cuando · avísame · por favor · precio · alerta · que
    il · lo · di · è · quando · se · avvisami · per favore · prezzo`,
};

const SENSES_OF = new Map<string, Sense[]>();
for (const sense of SENSES) {
  const words = WORDS[sense].split(/[·\n]/).map((word) => word.trim());
  for (const word of words.filter((one) => one !== ""))
    SENSES_OF.set(word, [...(SENSES_OF.get(word) ?? []), sense]);
}

const escaped = (words: readonly string[]): string =>
  words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replaceAll(".", String.raw`\.`))
    .join("|");
const isSign = (word: string): boolean => !/^\p{L}/u.test(word);
const known = [...SENSES_OF.keys()];

/** Every word, the longest first, as `up to` says another thing than `up`. Letters around it would make it another. */
export const WORD = new RegExp(
  String.raw`(?<![\p{L}\d])(?:${escaped(known.filter((word) => !isSign(word)))})(?:(?<=')|(?![\p{L}\d]))|${escaped(known.filter(isSign))}`,
  "gu",
);

/** What a word that `WORD` found says; some say two things, such as `every evening`. */
export function sensesOf(word: string): readonly Sense[] {
  return SENSES_OF.get(word) ?? [];
}
