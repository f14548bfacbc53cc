import { adopted, isAside, isRepeated, SUMMED } from "./adoption";
import { digitsIn } from "./asides";
import {
  bracketOf,
  citedIn,
  inFacts,
  isContrary,
  toldOf,
  type Desk,
  type How,
  type Item,
  type Told,
} from "./brackets";
import type { Ledger, Source } from "./sources";
import { figuresIn, without, type Figure, type Place } from "./figures";
import { localeOf, SCRIPTS } from "../../lib/text/locales";
import { mentionsIn, type Mention } from "./names";
import { linesOf, plain } from "../../lib/text/sentences";
import { piecesIn, printed, type Piece } from "./slots";

/**
 * From a writer's text to one that its readers can check: slots and adopted figures are printed from facts, citations are
 * counted, and a sentence with a figure that no fact has gives way to the facts that it cites. Pure.
 */

/** A figure that no fact has, by its place, and why. */
export type Leftover = { place: string; why: string };

export type Settled = {
  text: string;
  /** Figures printed from facts, or held against one. */
  figures: number;
  leftovers: Leftover[];
  /** Sentences that gave way to their facts, or went. */
  removed: number;
  sentences: number;
};

export function settle(text: string, ledger: Ledger, how: How = {}): Settled {
  const settled: Settled = { text: "", figures: 0, leftovers: [], removed: 0, sentences: 0 };
  const clean = plain(text);
  const locale = how.locale ?? localeOf(clean);
  const desk: Desk = { ledger, locale, kept: how.kept ?? [], told: new Set(), how };
  const gap = locale === "zh" || locale === "ja" ? "" : " ";
  let named = ledger.focus;
  const lines = linesOf(clean).flatMap(({ lead, sentences }) => {
    if (sentences.length === 0) named = ledger.focus;
    desk.told.clear();
    const before: Source[] = [];
    const told = sentences.map((sentence) => {
      const read = readSentence(sentence, { named, before }, desk);
      const isRemoved = read.left.length > 0 && how.left !== "mark";
      named = read.mentions.at(-1)?.subject ?? named;
      before.push(...read.told);
      settled.sentences += 1;
      settled.removed += isRemoved ? 1 : 0;
      settled.figures += isRemoved ? 0 : read.items.length;
      settled.leftovers.push(...read.left.map((one) => ({ place: placeOf(sentence, one), why: one.why })));
      return isRemoved ? inFacts(read.told, desk) : toldIn(sentence, read, desk);
    });
    const rest = told.filter((one) => one !== "").join(gap);
    return sentences.length > 0 && rest === "" ? [] : [lead + rest];
  });
  settled.text = lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return settled;
}

/** What is left over of a sentence; `instead` is shown where the sentence stays. */
type Left = Place & { why: string; instead?: string };
type Read = {
  items: Item[];
  left: Left[];
  pieces: Piece[];
  mentions: Mention[];
  /** The facts that it cites. */
  told: Source[];
  /** The sentence with slots and citations out of the way. */
  open: string;
};
/** What stands before a sentence: who was named last ("" where nobody was), and the facts that its paragraph cites. */
type Context = { named: string; before: readonly Source[] };

/** A sentence longer than this is not read: it goes, whatever it says. */
const MOST_CHARS = 1_500;

function readSentence(sentence: string, context: Context, desk: Desk): Read {
  const { ledger, how } = desk;
  const read: Read = { items: [], left: [], pieces: [], mentions: [], told: [], open: "" };
  if (sentence.length > MOST_CHARS) {
    read.left.push({ start: 0, end: sentence.length, why: "the sentence is too long", instead: "…" });
    return read;
  }
  const pieces = piecesIn(sentence);
  const cited = pieces.flatMap(({ ids }) => ids.flatMap((id) => ledger.facts.get(id) ?? []));
  const told = how.isUncited === true ? [...ledger.facts.values()] : [...new Set(cited)];
  const open = without(sentence, pieces);
  const mentions = mentionsIn(open, ledger.names);
  Object.assign(read, { pieces, told, open, mentions });
  for (const piece of pieces) readPiece(piece, read, ledger);
  const numbered = mentions.filter(({ start, end }) => /\d/.test(open.slice(start, end)));
  const words = without(open, numbered);
  readFigures(without(words, digitsIn(words, ledger.free)), read, context, desk);
  const contrary = read.items.filter((item) => isContrary(item, open));
  const why = ({ printed: { first } }: Item) => `${first.says}: it went the other way`;
  read.left.push(...contrary.map((item) => ({ start: item.start, end: item.end, why: why(item) })));
  read.items.sort((a, b) => a.start - b.start);
  return read;
}

/** What a slot asks for, and what a citation cites that is no fact. */
function readPiece(piece: Piece, { items, left }: Read, { facts }: Ledger): void {
  const { start, end, ids, isSlot } = piece;
  const made = isSlot ? printed(piece, facts) : null;
  const missing = isSlot ? [] : ids.filter((id) => !facts.has(id));
  if (typeof made === "string") left.push({ start, end, why: made, instead: "—" });
  else if (made !== null) items.push({ start, end, printed: made });
  left.push(...missing.map((id) => ({ start, end, why: `f${id} is no fact` })));
}

/** The figures of the writer's own: adopted, no figures at all, or left over. */
function readFigures(rest: string, read: Read, context: Context, { ledger, how, locale }: Desk): void {
  const { items, left, told } = read;
  const figures = figuresIn(rest, SCRIPTS[locale].point);
  const facts = [...new Set([...told, ...context.before])];
  const isUncited = how.isUncited === true;
  const isSummed = SUMMED.test(rest);
  const known = [...ledger.facts.values()];
  const others = isUncited || figures.length === 0 ? [] : comparedIn(read, ledger);
  for (const figure of figures) {
    const { start, end, unit } = figure;
    const near = isUncited ? ofNamed(start, read, context) : inOrder(facts, figure, read);
    const own = adopted(figure, { facts: near, others, isSummed, isUncited });
    const shown = items.flatMap(({ printed: { sources } }) => sources);
    if ((own === null || unit === "none") && isAside(figure, rest, { told, shown, known })) continue;
    if (own !== null) items.push({ start, end, ...own });
    else if (isUncited || how.isBare === true || !isRepeated(figure, told))
      left.push({
        start,
        end,
        why: whyNot(figure, isUncited ? [] : near.filter((one) => told.includes(one))),
      });
  }
}

/** The facts of who was named last before a place. */
function ofNamed(start: number, { mentions, told }: Read, { named }: Context): Source[] {
  const subject = mentions.findLast(({ end }) => end <= start)?.subject ?? named;
  return subject === "" ? told : told.filter(({ about }) => about?.subject === subject);
}

/** The facts of the citation behind a figure, and then the others. */
function inOrder(facts: readonly Source[], { end }: Figure, { pieces }: Read): Source[] {
  const behind = pieces.find(({ isSlot, start }) => !isSlot && start >= end)?.ids ?? [];
  const isBehind = ({ id }: Source) => behind.includes(id);
  return [...facts.filter(isBehind), ...facts.filter((one) => !isBehind(one))];
}

/** What a sentence may compare its facts with, besides: the same of the coins that it names, and the prices of its own. */
function comparedIn({ mentions, told }: Read, { facts }: Ledger): Source[] {
  const names = mentions.map(({ subject }) => subject);
  return [...facts.values()].filter(({ about }) => {
    if (about === null) return false;
    const { subject, kind, since } = about;
    const isPrice = since === null && /^(?:price|lastTrade)$/.test(kind);
    const isAlike = (one: Source) => one.about?.kind === kind && one.about.since === since;
    return told.some(
      (one) => (isPrice && one.about?.subject === subject) || (names.includes(subject) && isAlike(one)),
    );
  });
}

function placeOf(text: string, { start, end }: Place): string {
  return text.slice(Math.max(0, start - 30), Math.min(text.length, end + 15, start + 200)).trim();
}

function whyNot({ text }: Figure, near: readonly Source[]): string {
  const said = near.slice(0, 3).map(({ id, says }) => `f${id} is ${says}`);
  return near.length === 0 ? `“${text}” cites no fact` : `“${text}” is no cited fact's (${said.join("; ")})`;
}

/** What takes the place of a part of a sentence; told in the order of the text, so that facts are counted in it. */
type Edit = Place & { told: () => string };

/** A sentence with its figures and citations as readers see them. */
function toldIn(sentence: string, read: Read, desk: Desk): string {
  const marks = read.left.map(({ start, end, instead = "" }): Edit => {
    return { start: instead === "" ? end : start, end, told: () => `${instead} [model]` };
  });
  const shown = new Set(read.items.flatMap(({ printed: { sources } }) => sources.map(({ id }) => id)));
  const citations = read.pieces
    .filter(({ isSlot }) => !isSlot)
    .map(({ start, end, ids }) => {
      const rest = ids.flatMap((id) => (shown.has(id) ? [] : (desk.ledger.facts.get(id) ?? [])));
      const all = rest.map((one) => citedIn(one, sentence, desk));
      const space = /\s$/.test(sentence.slice(0, start)) ? 1 : 0;
      return { start: start - space, end, isTold: rest.length > 0, told: () => bracketOf(all, desk) };
    });
  const apart = [...marks, ...citations.filter(({ isTold }) => isTold)].map(({ start }) => start);
  return edited(sentence, [...figuresOf(read, apart, desk), ...marks, ...citations]);
}

/** The figures of a sentence, with a bracket behind each, or behind the last of those that share one. */
function figuresOf({ items, mentions, open }: Read, apart: readonly number[], desk: Desk): Edit[] {
  const text = without(open, items);
  const all = items.map((item, index) =>
    toldOf(item, { text, mentions, from: items[index - 1]?.end ?? 0 }, desk),
  );
  let from = 0;
  return items.map(({ start, end }, index): Edit => {
    const [own, next, behind] = [all[index], all[index + 1], items[index + 1]?.start ?? end];
    const isLast = next === undefined || apart.some((at) => at >= end && at <= behind);
    if (own === undefined) return { start, end, told: () => "" };
    if (!isLast && isJoined(open.slice(end, behind), own, next))
      return { start, end, told: () => own.amount };
    const sharing = all.slice(from, index + 1);
    from = index + 1;
    return { start, end, told: () => own.amount + bracketOf(sharing, desk) };
  });
}

/** Whether two figures share a bracket: what is said of both is the same, or hardly a word stands between. */
function isJoined(between: string, one: Told, next: Told): boolean {
  const words = between.replace(/\uE000/g, "");
  if (one.label === next.label) return /^[^|;；]{1,60}$/u.test(words);
  const isPlain = one.sources.length === 1 && next.sources.length === 1;
  return isPlain && /^[^|;:,，、()]{1,12}$/u.test(words);
}

function edited(text: string, edits: readonly Edit[]): string {
  let [rest, at] = ["", 0];
  for (const { start, end, told } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    rest += text.slice(at, Math.max(at, start)) + told();
    at = Math.max(at, end);
  }
  return (rest + text.slice(at)).replace(/ {1,3}([.,;:!?。，])/g, "$1");
}

const MOST_LISTED = 40;

/** What is left over, in words for the writer; `null` where nothing is. */
export function leftoverProblem(leftovers: readonly Leftover[]): string | null {
  if (leftovers.length === 0) return null;
  const listed = leftovers.slice(0, MOST_LISTED).map(({ place, why }) => `at “${place}”: ${why}`);
  return `every figure must be a slot such as {f12} of a fact given, or go: ${listed.join("; ")}`;
}
