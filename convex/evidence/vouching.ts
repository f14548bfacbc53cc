import type { CitableFact, Ledger } from "./checking";
import type { Claim } from "./claims";
import { isSameMoment } from "./dates";
import { directionAround, type Direction } from "./directions";
import { plain, readFigures, type Figure } from "./figures";
import { meaningOf, topicsIn, type About, type Meaning } from "./meanings";
import { mentionsIn, type Mention } from "./names";
import type { NumberFigure, Unit } from "./numbers";
import { windowsIn } from "./windows";

/** Whether a fact states a figure, of that subject and in that sense. Pure. */

/** What one fact states once: its value, an end of its change, or a figure of its words. */
export type Statement = {
  fact: CitableFact;
  role: "value" | "earlier" | "later" | "words";
  number: { value: number; unit: Unit | null } | null;
  figure: Figure | null;
};

/** The sentence that a figure stands in. */
export type Told = {
  bare: string;
  mentions: readonly Mention[];
  /** Who is meant where it names nobody. */
  named: readonly string[];
  ledger: Ledger;
};

/** What was read of a fact's words: every sentence is held against the same facts. */
const read = new WeakMap<CitableFact, readonly Figure[]>();

function figuresOf(fact: CitableFact): readonly Figure[] {
  const figures = read.get(fact) ?? readFigures(plain(fact.says));
  read.set(fact, figures);
  return figures;
}

export function statementsOf(fact: CitableFact): Statement[] {
  const words = figuresOf(fact).map((figure): Statement => ({ fact, role: "words", number: null, figure }));
  if (fact.value === null) return words;
  // The value's own words say it once, not twice; who rounds from them may come out one off in the last place.
  const isValue = ({ figure }: Statement) =>
    figure?.kind === "number" && Math.abs(figure.value - (fact.value ?? 0)) <= figure.within * 1.001;
  const own = words.findLastIndex(isValue);
  const number = { value: fact.value, unit: fact.unit };
  const value: Statement = { fact, role: "value", number, figure: words[own]?.figure ?? null };
  const rest = words.filter((_statement, index) => index !== own);
  return [value, ...(fact.about?.since == null ? rest : endsOf(rest))];
}

/** Of a change its words tell from what to what. */
function endsOf(words: readonly Statement[]): Statement[] {
  const [from, to] = words.filter(({ figure }) => figure?.kind === "number");
  return words.map((one) =>
    one === from ? { ...one, role: "earlier" } : one === to ? { ...one, role: "later" } : one,
  );
}

export function isStated(
  statement: Statement,
  figure: Figure,
  claim: Claim,
  subjects: readonly string[],
  told: Told,
): boolean {
  const { fact, number, figure: said } = statement;
  if (figure.kind === "unreadable" || said?.kind === "unreadable") return false;
  if (figure.kind === "date") return said?.kind === "date" && isSameMoment(figure.shows, said.shows);
  if (fact.about === null) {
    return (
      said?.kind === "number" &&
      isSameAmount(figure, said) &&
      isSaidInWords(fact, said, claim, subjects, told)
    );
  }
  const meaning = meaningOf(fact.about);
  const isChange = meaning.isChange && statement.role === "value";
  const side = isChange ? claim.direction : claim.sign;
  const ways = [number, said?.kind === "number" ? said : null];
  // Numbers first: of hundreds of facts few have the same, and only for those the words are worth reading.
  const isSame = ways.some((way) => way !== null && isSameNumber(figure, way, side, isChange));
  return isSame && isClaimed(statement, fact.about, meaning, figure, claim, subjects, told);
}

/** Whether a fact is of that subject, and of what the words around the figure say. */
function isClaimed(
  { role, fact }: Statement,
  about: About,
  meaning: Meaning,
  figure: NumberFigure,
  claim: Claim,
  subjects: readonly string[],
  told: Told,
): boolean {
  if (!isWhose(about, meaning, claim, subjects, told)) return false;
  if (!isAtSource(about, claim, told)) return false;
  if (figure.ticker !== null && figure.ticker !== about.subject && figure.ticker !== meaning.with)
    return false;
  if (role === "words") return meaning.aside?.test(claim.around) ?? false;
  if (claim.noun !== null && !(isCount(fact.unit) && meaning.counts?.test(claim.noun) === true)) return false;
  if (!isOfTopic(meaning, claim, told)) return false;
  if (role === "earlier") return claim.isEarlier;
  if (role === "later") return true;
  if (meaning.always !== undefined && claim.direction === -meaning.always) return false;
  return isWithin(meaning, claim, told);
}

const isCount = (unit: Unit | null): boolean => unit === null || unit === "coins";

function isWhose(
  { subject }: About,
  meaning: Meaning,
  claim: Claim,
  subjects: readonly string[],
  { named, bare }: Told,
): boolean {
  const isGeneral = subject === "market" || subject === "Base";
  if (subjects.length === 0) return isGeneral || named.length === 0 || named.includes(subject);
  if (subjects.every((one) => one === subject || one === meaning.with)) return true;
  if (subject !== "market" || claim.mention === null || meaning.mustSay === null) return false;
  // "Bitcoin aside, 31 of the coins rose": another statement, with words of its own.
  const isOwner =
    /\b(?:of|in|on|for)\s+(?:the\s+)?$/i.test(bare.slice(0, claim.mention.start)) ||
    /^['’]/.test(bare.slice(claim.mention.end));
  return !isOwner && meaning.mustSay.test(claim.sinceName);
}

/** What a source is called: the first word of its name. */
const callOf = (source: string): string => /^[A-Z]\w+/.exec(source)?.[0] ?? source;

/** What the sources of a ledger are called. */
const known = new WeakMap<Ledger, ReadonlySet<string>>();

function placesOf(ledger: Ledger): ReadonlySet<string> {
  const sources = () => [...ledger.facts.values()].flatMap(({ about }) => about?.source ?? []);
  const places = known.get(ledger) ?? new Set(sources().map(callOf));
  known.set(ledger, places);
  return places;
}

function isAtSource({ source }: About, { near }: Claim, { ledger }: Told): boolean {
  const told = [...placesOf(ledger)].filter((place) => place !== "Base" && isNamedAt(place, near));
  return told.length === 0 || told.includes(callOf(source));
}

function isNamedAt(place: string, words: string): boolean {
  const at = words.search(new RegExp(`\\b(?:on|at|by|from|per|via|to)\\s+${place}\\b|\\b${place}['’]s\\b`));
  return at !== -1;
}

function isOfTopic(meaning: Meaning, claim: Claim, { bare }: Told): boolean {
  const isStrange = claim.topics.size > 0 && !meaning.topics.some((topic) => claim.topics.has(topic));
  if (isStrange) return false;
  return meaning.mustSay === null || meaning.mustSay.test(bare);
}

function isWithin({ window }: Meaning, claim: Claim, { bare }: Told): boolean {
  if (window === null) return true;
  if (claim.window !== null && (window !== "hour" || claim.isWindowOwn)) return claim.window === window;
  // A day is what is meant without a word, and a rate of funding has its hour by itself.
  return window === "day" || window === "hour" || windowsIn(bare).some((one) => one.window === window);
}

/** A headline, a line of another's words: what it says of whom, it must be said of here. */
function isSaidInWords(
  { says }: CitableFact,
  said: NumberFigure,
  claim: Claim,
  subjects: readonly string[],
  { ledger }: Told,
): boolean {
  const words = plain(says);
  const theirs = mentionsIn(words, ledger.names).map(({ subject }) => subject);
  if (subjects.length > 0 && theirs.length > 0 && !subjects.some((one) => theirs.includes(one))) return false;
  const topics = topicsIn(words, said.unit).map(({ topic }) => topic);
  const strange = [...claim.topics].filter(
    (topic) => topic !== "price" && topic !== "breadth" && topic !== "rank",
  );
  if (strange.length > 0 && !strange.some((topic) => topics.includes(topic))) return false;
  const direction = directionAround(words.slice(0, said.start), words.slice(said.end));
  return direction === 0 || claim.direction === 0 || direction === claim.direction;
}

/** A figure of words has no direction to be held against but its own. */
function isSameAmount(figure: NumberFigure, { value, unit }: NumberFigure): boolean {
  return isSameNumber({ ...figure, isSigned: true }, { value, unit }, 0, false);
}

function isSameNumber(
  figure: NumberFigure,
  { value, unit }: { value: number; unit: Unit | null },
  side: Direction,
  isChange: boolean,
): boolean {
  const factor = factorBetween(figure.unit, unit);
  if (factor === null) return false;
  const fact = value * factor;
  // Half of the last place, and what arithmetic on binary fractions adds.
  const within = figure.within + Math.abs(fact) * 1e-9;
  const isNear = (told: number) => Math.abs(told - fact) <= within;
  if (unit !== "percent" && unit !== "bps") return isNear(figure.value);
  // What rounds to nothing has no direction.
  const isSide = side === 0 || side * fact >= -within;
  if (figure.isSigned) return isNear(figure.value) && (isSide || !isChange);
  if (side === 0) return isNear(figure.value) && fact >= -within;
  return isNear(side * figure.value);
}

/** What to multiply a fact with so that it is in the figure's unit; `null` where the units have nothing to do with each other. */
function factorBetween(figure: Unit | null, fact: Unit | null): number | null {
  if (figure === fact) return 1;
  if (figure === "bps" && fact === "percent") return 100;
  if (figure === "percent" && fact === "bps") return 0.01;
  // A bare number may be any: "from 97,250" is a price. A fact without a unit is a count.
  if (figure === null) return 1;
  return fact === null && (figure === "coins" || figure === "rank") ? 1 : null;
}
