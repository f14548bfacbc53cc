import { adopted, isAside, isRepeated, SUMMED } from "./adoption";
import {
  bracketOf,
  citedIn,
  direction,
  inFacts,
  printedFigure,
  type Printing,
  type How,
  type Item,
  type PrintedFigure,
} from "./brackets";
import type { Ledger, Source } from "./sources";
import { figuresIn, foundIn, without, type Figure, type Place } from "../../lib/text/figures";
import { BLANK } from "../../lib/text/languages";
import { localeOf, SCRIPTS } from "../../lib/text/locales";
import { mentionsIn, type Mention } from "../../lib/money/names";
import { linesOf, plain } from "../../lib/text/sentences";
import { piecesIn, printed, type Piece } from "./slots";

/**
 * Turns a writer's text into one that its readers can check: slots and adopted figures are printed from facts,
 * citations are numbered, and a sentence with a figure that is in no fact is replaced by the facts that it cites. Pure.
 */

export type Settled = {
  text: string;
  /** Figures printed from facts, or checked against one. */
  figures: number;
  /** Figures that are in no fact, each with its place and the reason. */
  leftovers: string[];
  /** Sentences that were replaced by their facts, or removed. */
  removed: number;
  sentences: number;
};

export function settle(text: string, ledger: Ledger, how: How = {}): Settled {
  const settled: Settled = { text: "", figures: 0, leftovers: [], removed: 0, sentences: 0 };
  const clean = plain(text);
  const locale = how.locale ?? localeOf(clean);
  const printing: Printing = { ...how, ledger, locale, kept: how.kept ?? [], labelled: new Set() };
  const gap = locale === "zh" || locale === "ja" ? "" : " ";
  let named = ledger.focus;
  const lines = linesOf(clean).flatMap(({ lead, sentences }) => {
    if (sentences.length === 0) named = ledger.focus;
    printing.labelled.clear();
    const before: Source[] = [];
    const shown = sentences.map((sentence) => {
      const read = readSentence(sentence, { named, before }, printing);
      const isRemoved = (read.left.length > 0 && how.left !== "mark") || !isBound(read, how);
      named = read.mentions.at(-1)?.subject ?? named;
      before.push(...read.sources);
      settled.sentences += 1;
      settled.removed += isRemoved ? 1 : 0;
      settled.figures += isRemoved ? 0 : read.items.length;
      settled.leftovers.push(...read.left.map((one) => `at “${placeOf(sentence, one)}”: ${one.why}`));
      return isRemoved ? inFacts(read.sources, printing) : printedSentence(sentence, read, printing);
    });
    const rest = shown.filter((one) => one !== "").join(gap);
    return sentences.length > 0 && rest === "" ? [] : [lead + rest];
  });
  settled.text = lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return settled;
}

/** A leftover of a sentence; `instead` is shown if the sentence stays. */
type Left = Place & { why: string; instead?: string };
type Read = {
  /** The sentence with slots, citations and names with digits blanked out. */
  open: string;
  pieces: readonly Piece[];
  mentions: readonly Mention[];
  /** The facts that it cites. */
  sources: readonly Source[];
  items: Item[];
  left: Left[];
};
/** The context of a sentence: the subject named last ("" if none), and the facts that its paragraph cites. */
type Context = { named: string; before: readonly Source[] };

/** A longer sentence is not read but removed. */
const MOST_CHARS = 1_500;

function readSentence(sentence: string, context: Context, printing: Printing): Read {
  const { facts, names, free } = printing.ledger;
  const end = sentence.length;
  const text = end > MOST_CHARS ? "" : sentence;
  const pieces = piecesIn(text);
  const cited = pieces.flatMap(({ sides }) => sides.flat().flatMap((id) => facts.get(id) ?? []));
  const sources = printing.isUncited === true ? [...facts.values()] : [...new Set(cited)];
  const open = without(text, pieces);
  const mentions = mentionsIn(open, names);
  const read: Read = { open, pieces, mentions, sources, items: [], left: [] };
  if (text !== sentence) read.left.push({ start: 0, end, why: "the sentence is too long", instead: "…" });
  for (const piece of pieces) readPiece(piece, read, printing.ledger);
  const numbered = mentions.filter((one) => /\d/.test(open.slice(one.start, one.end)));
  const words = without(open, numbered);
  const named = free.flatMap((pattern) => foundIn(words, pattern));
  readFigures(without(words, named), read, context, printing);
  read.items.sort((a, b) => a.start - b.start);
  const contrary = read.items.filter((item) => direction(item, open) < 0);
  const why = ({ first }: Item) => `${first.says}: it moved in the other direction`;
  read.left.push(...contrary.map((item) => ({ ...placed(item), why: why(item) })));
  return read;
}

/** Whether a sentence states what the text may state: anything, or something about a fact by its number. */
function isBound({ pieces, open }: Read, { bound }: How): boolean {
  return bound === undefined || (pieces.length > 0 && !bound.refused.test(open));
}

/** Reads a slot, or a citation of something that is not a fact. */
function readPiece(piece: Piece, { items, left }: Read, { facts }: Ledger): void {
  const { start, end, sides, isSlot } = piece;
  const made = isSlot ? printed(piece, facts) : null;
  const missing = isSlot ? [] : sides.flat().filter((id) => !facts.has(id));
  if (typeof made === "string") left.push({ start, end, why: made, instead: "—" });
  else if (made !== null) items.push({ start, end, ...made });
  left.push(...missing.map((id) => ({ start, end, why: `there is no fact f${id}` })));
}

/** The writer's own figures: adopted, not figures at all, or left over. */
function readFigures(rest: string, read: Read, { named, before }: Context, printing: Printing): void {
  const { items, left, sources, mentions } = read;
  const figures = figuresIn(rest, SCRIPTS[printing.locale].point);
  const isUncited = printing.isUncited === true;
  const isSummed = SUMMED.test(rest);
  const known = [...printing.ledger.facts.values()];
  const others = isUncited || figures.length === 0 ? [] : comparedIn(read, known);
  const ends = isUncited ? [] : sources.flatMap((change) => endsOf(change, known));
  for (const figure of figures) {
    const { start, end, unit } = figure;
    const subject = mentions.findLast((one) => one.end <= start)?.subject ?? named;
    const own = known.filter(({ about }) => about?.subject === subject);
    const cited = [...sources, ...before, ...ends];
    const near = isUncited ? (subject === "" ? sources : own) : inOrder(cited, figure, read);
    const made = adopted(figure, { facts: near, others, isSummed, isUncited });
    const facts = { cited: sources, named: own, known, shown: items.flatMap(({ sides }) => sides.flat()) };
    if ((made === null || unit === "none") && isAside(figure, rest, facts)) continue;
    if (made !== null) items.push({ start, end, ...made });
    else if (isUncited || printing.isBare === true || !isRepeated(figure, sources))
      left.push({
        start,
        end,
        why: whyNot(figure, isUncited ? [] : near.filter((one) => sources.includes(one))),
      });
  }
}

/** The facts of the citation after a figure, and then the others. */
function inOrder(facts: readonly Source[], { end }: Figure, { pieces }: Read): Source[] {
  const behind = pieces.find(({ isSlot, start }) => !isSlot && start >= end)?.sides.flat() ?? [];
  const isBehind = ({ id }: Source) => behind.includes(id);
  return [...new Set([...facts.filter(isBehind), ...facts])];
}

/** The facts at both ends of a change, and the total of a count. */
function endsOf({ about: change, unit: of }: Source, known: readonly Source[]): Source[] {
  if (change === null || change.since === null || of !== "percent") return [];
  return known.filter(({ about, unit }) => {
    const isSame = about?.subject === change.subject && about.kind === change.kind;
    return isSame && (about.since === null || (about.since === change.since && unit !== "percent"));
  });
}

/** Further facts to compare a sentence's with: the same kinds of the coins that it names, and the prices of its own. */
function comparedIn({ mentions, sources }: Read, known: readonly Source[]): Source[] {
  const names = mentions.map(({ subject }) => subject);
  return known.filter(({ about }) => {
    if (about === null) return false;
    const { subject, kind, since } = about;
    const isPrice = since === null && /^(?:price|lastTrade)$/.test(kind);
    const isAlike = (one: Source) => one.about?.kind === kind && one.about.since === since;
    return sources.some(
      (one) => (isPrice && one.about?.subject === subject) || (names.includes(subject) && isAlike(one)),
    );
  });
}

const placed = ({ start, end }: Place): Place => ({ start, end });

function placeOf(text: string, { start, end }: Place): string {
  return text.slice(Math.max(0, start - 30), Math.min(text.length, end + 15, start + 200)).trim();
}

function whyNot({ text }: Figure, near: readonly Source[]): string {
  const candidates = near.slice(0, 3).map(({ id, says }) => `f${id} is ${says}`);
  return near.length === 0
    ? `“${text}” cites no fact`
    : `“${text}” does not match a cited fact (${candidates.join("; ")})`;
}

/** A part of a sentence that code prints: a figure, a citation of facts without a figure, or a mark. */
type Part = Place & ({ figure: PrintedFigure } | { cited: readonly Source[] } | { mark: string });

/** A sentence with its figures and citations as readers see them: each is followed by a bracket, or shares one with the next. */
function printedSentence(sentence: string, read: Read, printing: Printing): string {
  const parts = partsOf(sentence, read, printing);
  const sharing: PrintedFigure[] = [];
  let [rest, at] = ["", 0];
  for (const [index, part] of parts.entries()) {
    rest += sentence.slice(at, Math.max(at, part.start));
    at = Math.max(at, part.end);
    if ("mark" in part) rest += part.mark;
    else if ("cited" in part) {
      const all = part.cited.map((one) => citedIn(one, sentence, printing));
      rest += bracketOf(all, printing);
    } else {
      rest += part.figure.amount;
      sharing.push(part.figure);
      const next = parts.slice(index + 1).find((one) => !("cited" in one) || one.cited.length > 0);
      const isShared =
        next !== undefined &&
        "figure" in next &&
        isJoined(read.open.slice(part.end, next.start), part.figure, next.figure);
      if (!isShared) rest += bracketOf(sharing.splice(0), printing);
    }
  }
  return (rest + sentence.slice(at)).replace(/ {1,3}([.,;:!?。，])/g, "$1");
}

/** Its parts in order, so that facts are numbered in it. */
function partsOf(
  sentence: string,
  { items, left, pieces, mentions, open }: Read,
  printing: Printing,
): Part[] {
  const text = without(open, items);
  const shown = new Set(items.flatMap(({ sides }) => sides.flat().map(({ id }) => id)));
  const figures = items.map((item, index): Part => {
    const around = { text, mentions, from: items[index - 1]?.end ?? 0 };
    return { ...placed(item), figure: printedFigure(item, around, printing) };
  });
  const citations = pieces
    .filter(({ isSlot }) => !isSlot)
    .map(({ start, end, sides }): Part => {
      const space = /\s$/.test(sentence.slice(0, start)) ? 1 : 0;
      const rest = sides.flat().filter((id) => !shown.has(id));
      return { start: start - space, end, cited: rest.flatMap((id) => printing.ledger.facts.get(id) ?? []) };
    });
  const marks = left.map(({ start, end, instead = "" }): Part => {
    return { start: instead === "" ? end : start, end, mark: `${instead} [model]` };
  });
  return [...figures, ...marks, ...citations].sort((a, b) => a.start - b.start || a.end - b.end);
}

/** Whether two figures share a bracket: their labels are equal, or hardly a word is between them. */
function isJoined(between: string, one: PrintedFigure, next: PrintedFigure): boolean {
  const words = between.replaceAll(BLANK, "");
  if (one.label === next.label) return /^[^|;；]{1,60}$/u.test(words);
  const isPlain = one.sources.length === 1 && next.sources.length === 1;
  return isPlain && /^[^|;:,，、()]{1,12}$/u.test(words);
}

const MOST_LISTED = 40;

/** The leftovers, in words for the writer; `null` if there are none. */
export function leftoverProblem(leftovers: readonly string[]): string | null {
  if (leftovers.length === 0) return null;
  const listed = leftovers.slice(0, MOST_LISTED).join("; ");
  return `write every figure as a slot of a given fact, such as {f12}, or leave it out: ${listed}`;
}
