import { CITATION, type Figure } from "./figures";
import type { Mention } from "./names";

/** Whose figure each is, as a sentence tells it: the coin it speaks of, or several, one after the other or together. Pure. */

/** A sentence as it was read. */
export type Sentence = {
  text: string;
  /** The text with its citations blank, at their length. */
  bare: string;
  figures: readonly Figure[];
  mentions: readonly Mention[];
};

export type Whose = {
  /** For each statement that the figure makes, all whom it is about: "both rose 2 %" states it of each. */
  every: readonly (readonly string[])[];
  /** The last name before the figure, or the one that it stands before. */
  mention: Mention | null;
};

const NOBODY: Whose = { every: [], mention: null };

/** What makes a name the other side of a comparison. */
const COMPARED =
  /\b(?:than|versus|vs\.?|against|unlike|like|compared (?:with|to)|relative to|next to|besides?|alongside|ahead of|behind|over|contrasts? with|compares? with)\s+(?:that of\s+)?$/i;
const PURSUED =
  /\b(?:lead|lagg?|trail|beat|outpac|outpace|outperform|underperform|follow|match|topp?|outrun|overtak|overtake)(?:s|es|ed|ing)?\s+$/i;
/** How a figure stands right with its name; this and the next are of tidy text. */
const RIGHT_WITH =
  /^(?:['’]s?)? ?[,:]? ?(?:(?:is|was) )?(?:at|of|with)? ?\(?(?:just|about|around|near|only|some|roughly|an|a|the)? ?\(?$/i;
const WITH = /^(?:at|with|by)(?: an?| the)?$/i;
const RIGHT_BEHIND = /^(?:['’]s?)? ?\(?$/;
/** What stands between the members of a list, of names or of figures. */
const LISTED =
  /^(?:['’]s?)? ?(?:,|&|\/|;|(?:, ?)?(?:and|or|nor|to|versus|vs\.?|against|compared (?:to|with)))? ?(?:up|down|at|[-–—])?$/i;
const NAMES_LISTED = /^(?:['’]s?)? ?(?:,|&|\/|(?:, ?)?(?:and|or|nor))(?: the)?$/i;
/** How a name stands behind its figure: "$97,250 for Bitcoin", "$12bn of open interest in Ether", "2 % Bitcoin gain". */
const BEHIND =
  /^\s*(?:\(|(?:(?!(?:ahead|more|less|than|because|after|before|and|but|while|as|with|against|versus)\b)[a-z-]+ ){1,3}(?:for|in|of|on|from|across) (?:the )?|(?:for|in|of|from|across|on|above|below) (?:the )?|(?:is|was|are) (?:where|what|the price of) )?$/i;
const OF = /^\s*of (?:the )?$/i;
const FRONTED =
  /(?:^|[;:—]|\b(?:and|while|whereas|but|although|though)\b)\s*(?:at|with|after|up|down|on|by)\b[^,;]*$/i;
const CLAUSE_END = /;|\b(?:while|whereas|but|although|though|whilst)\b/gi;

export function whoseFigures(sentence: Sentence): Map<Figure, Whose> {
  const told = new Map<Figure, Whose>();
  for (const figure of sentence.figures) told.set(figure, whoseIs(figure, sentence, told));
  return told;
}

function whoseIs(figure: Figure, sentence: Sentence, earlier: ReadonlyMap<Figure, Whose>): Whose {
  const { bare, mentions, figures } = sentence;
  if (figure.kind === "number" && figure.ticker !== null) {
    const own = mentions.find(({ start, end }) => start >= figure.start && end <= figure.end);
    if (own !== undefined) return only(own);
  }
  const free = mentions.filter(({ start }) => !figures.some((one) => start >= one.start && start < one.end));
  const behind = standingBehind(figure, free, sentence);
  if (behind !== null) return behind;
  const before = free.filter(({ end }) => end <= figure.start);
  const last = before.at(-1);
  const previous = figures[figures.indexOf(figure) - 1];
  // The second end of a range, and what else one name is told of in one breath.
  if (previous !== undefined && (last === undefined || last.end <= previous.start)) {
    const own = earlier.get(previous);
    const between = bare.slice(previous.end, figure.start);
    if (own?.mention && own.every.length === 1 && /^\s*(?:-|–|—|to)\s*$/.test(between)) return own;
  }
  const pair = pairOf(figure, free, sentence);
  if (pair !== null) return pair;
  const clauseStart = lastEnd(bare.slice(0, figure.start), CLAUSE_END);
  const following = free.find(({ start }) => start >= figure.end);
  if (last === undefined || (last.end <= clauseStart && isFronted(figure, sentence))) {
    if (following === undefined) return NOBODY;
    return distributed(figure, listAt(following, free, bare), sentence);
  }
  return governed(figure, before, sentence, earlier);
}

const AGAINST = /^\s*(?:versus|vs\.?|against|compared (?:to|with))\s*$/i;

/** "Bitcoin's gap to Ether: $1.93T versus $412bn": two names, then a figure of each. */
function pairOf(figure: Figure, free: readonly Mention[], { bare, figures }: Sentence): Whose | null {
  const row = rowOf(figure, figures, bare);
  const [first, second] = row;
  if (first === undefined || second === undefined || row.length !== 2) return null;
  if (!AGAINST.test(bare.slice(first.end, second.start))) return null;
  const [one, other] = free.filter(({ end }) => end <= first.start).slice(-2);
  if (one === undefined || other === undefined || one.subject === other.subject) return null;
  return only(figure === first ? one : other);
}

/** The names behind the figure that are its own. */
function standingBehind(figure: Figure, free: readonly Mention[], { bare, figures }: Sentence): Whose | null {
  const next = figures.find(({ start }) => start >= figure.end)?.start ?? bare.length;
  const found = free.find(({ start }) => start >= figure.end && start < next);
  if (found === undefined) return null;
  const between = bare.slice(figure.end, found.start);
  const after = bare.slice(found.end);
  const isFrontedBy = /^\s*,\s*$/.test(between) && FRONTED.test(bare.slice(0, figure.start));
  if (!isFrontedBy && !BEHIND.test(between)) return null;
  // "on Bitcoin weakness" is a reason, and "Bitcoin rose 2 % (ether fell)" another statement.
  if (/\bon (?:the )?$/.test(between) && /^\s+[a-z]+/i.test(after) && !/^\s+(?:and|with|while)\b/.test(after))
    return null;
  if (/^\s*\($/.test(between) && !/^\s*\)/.test(after)) return null;
  const list = listAt(found, free, bare);
  if (list.length > 1) return distributed(figure, list, { bare, figures, text: bare, mentions: free });
  const place = /^\s+on (?:the )?$/i;
  const onto = free.find(({ start }) => start >= found.end && place.test(bare.slice(found.end, start)));
  const subjects = [found.subject, ...(OF.test(between) && onto !== undefined ? [onto.subject] : [])];
  return { every: [subjects], mention: found };
}

/** The nearest name before the figure that it can be of. */
function governed(
  figure: Figure,
  before: readonly Mention[],
  sentence: Sentence,
  earlier: ReadonlyMap<Figure, Whose>,
): Whose {
  const { bare, figures } = sentence;
  for (let index = before.length - 1; index >= 0; index--) {
    const mention = before[index];
    if (mention === undefined) break;
    const list = listEndingAt(index, before, bare);
    const first = list[0] ?? mention;
    const lead = bare.slice(0, first.start);
    const between = bare.slice(mention.end, figure.start);
    const isPursued = PURSUED.test(lead) || (isObject(lead, before[index - 1]) && WITH.test(tidy(between)));
    if (!isPursued && !COMPARED.test(lead)) {
      const named = ofTheTwo(between, before);
      return named === null ? distributed(figure, list, sentence) : only(named);
    }
    const isIn = between.lastIndexOf("(") > between.lastIndexOf(")");
    const isFirst = !figures.some(({ start }) => start >= mention.end && start < figure.start);
    const hasOwn = isPursued && hasSuch(figure, before[index - 1], earlier);
    const isRight =
      (isPursued && !hasOwn ? RIGHT_BEHIND : RIGHT_WITH).test(tidy(between)) || startsOwn(between);
    if (isIn || (isFirst && isRight)) return distributed(figure, list, sentence);
    index -= list.length - 1;
  }
  const [first] = before;
  return first === undefined ? NOBODY : only(first);
}

/** "Bitcoin eclipsed Ether with …": whatever the verb, the figure is rather its subject's. */
function isObject(lead: string, earlier: Mention | undefined): boolean {
  if (earlier === undefined) return false;
  const between = lead.slice(earlier.end);
  return (
    /^\s[a-z][a-z -]*\s$/.test(between) && !/\b(?:and|or|while|as|but|with|in|of|for|on)\s*$/.test(between)
  );
}

/** "against Ether's market cap of …", "Ether, which stands at …": what the other side has. */
function startsOwn(between: string): boolean {
  return /^(?:['’]s?\s|,? which\s)[^,;()]*$/.test(between);
}

function ofTheTwo(between: string, before: readonly Mention[]): Mention | null {
  const found = [...between.matchAll(/\bthe (former|latter)\b/gi)].at(-1)?.[1]?.toLowerCase();
  if (found === undefined) return null;
  return before.at(found === "latter" ? -1 : -2) ?? null;
}

/** Whether somebody has a figure of this unit already. */
function hasSuch(figure: Figure, whose: Mention | undefined, earlier: ReadonlyMap<Figure, Whose>): boolean {
  if (whose === undefined || figure.kind !== "number") return false;
  return [...earlier].some(
    ([one, { mention }]) =>
      one.kind === "number" && one.unit === figure.unit && mention?.subject === whose.subject,
  );
}

/** Of as many figures in a row as names each is one's; one figure of several names is each one's. */
function distributed(figure: Figure, list: readonly Mention[], { bare, figures }: Sentence): Whose {
  const [first] = list;
  if (first === undefined) return NOBODY;
  if (list.length === 1) return only(first);
  const row = rowOf(figure, figures, bare);
  const own = row.length === list.length ? list[row.indexOf(figure)] : undefined;
  if (own !== undefined) return only(own);
  return { every: list.map(({ subject }) => [subject]), mention: first };
}

/** The figures of one unit that stand one after the other. */
function rowOf(figure: Figure, figures: readonly Figure[], bare: string): Figure[] {
  const at = figures.indexOf(figure);
  const joins = (a: Figure | undefined, b: Figure | undefined) =>
    a !== undefined &&
    b !== undefined &&
    LISTED.test(tidy(bare.slice(a.end, b.start))) &&
    (a.kind === "number" ? a.unit : null) === (b.kind === "number" ? b.unit : null);
  let [from, to] = [at, at];
  while (joins(figures[from - 1], figures[from])) from -= 1;
  while (joins(figures[to], figures[to + 1])) to += 1;
  return figures.slice(from, to + 1);
}

/** The names of the list that begins with one. */
function listAt(mention: Mention, free: readonly Mention[], bare: string): Mention[] {
  const row = rowOfNames(mention, free.slice(free.indexOf(mention)), bare);
  return isList(row, bare) ? row : row.slice(0, 1);
}

/** The names of the list that ends with one, by its place. */
function listEndingAt(index: number, before: readonly Mention[], bare: string): Mention[] {
  for (let first = 0; first < index; first++) {
    const [mention, ...rest] = before.slice(first, index + 1);
    if (mention === undefined) break;
    const row = rowOfNames(mention, [mention, ...rest], bare);
    if (row.length > 1 && row.at(-1)?.end === before[index]?.end && isList(row, bare)) return row;
  }
  return before.slice(index, index + 1);
}

function rowOfNames(mention: Mention, free: readonly Mention[], bare: string): Mention[] {
  const row = [mention];
  for (const next of free.slice(1)) {
    const last = row.at(-1) ?? mention;
    const between = bare.slice(last.end, next.start);
    if (isSame(last, next, between)) row[row.length - 1] = { ...next, start: last.start };
    else if (NAMES_LISTED.test(tidy(between))) row.push(next);
    else break;
  }
  return row;
}

/** "Ether and Solana", "Bitcoin, Ether and Solana"; not "unlike Ether, Bitcoin". */
function isList(row: readonly Mention[], bare: string): boolean {
  const joins = row
    .slice(1)
    .map((next, index) => /^\W*,\s*$/.test(bare.slice(row[index]?.end ?? 0, next.start)));
  return joins.at(-1) === false || (joins.length > 1 && joins.every((isComma) => isComma));
}

/** `Solana (SOL)` */
function isSame(a: Mention, b: Mention, between: string): boolean {
  return a.subject === b.subject && /^['’]?s?\s*\(?$/.test(between);
}

function isFronted(figure: Figure, { bare }: Sentence): boolean {
  return FRONTED.test(bare.slice(0, figure.start));
}

/** Where the last place ends that a pattern fits; 0 where none does. */
export function lastEnd(text: string, pattern: RegExp): number {
  const found = [...text.matchAll(pattern)].at(-1);
  return found === undefined ? 0 : found.index + found[0].length;
}

function only(mention: Mention): Whose {
  return { every: [[mention.subject]], mention };
}

/** With one space between words, and none around them: what patterns of words are tried on. */
function tidy(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A text with its citations out of the way, at their length. */
export function withoutCitations(text: string): string {
  return text.replace(CITATION, (whole) => " ".repeat(whole.length));
}
