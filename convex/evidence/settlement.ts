import {
  adopted,
  bounded,
  isAside,
  isOwnSpan,
  MARKS_BEFORE,
  MARKS_BEHIND,
  multipleOf,
  multiplesIn,
  quoted,
} from "./adoption";
import { namesWithDigits, ownDates, quotesOf, without } from "./asides";
import { citationIn, inFacts, isDirected, itemIn, type Desk, type How, type Item } from "./citations";
import type { Ledger, Source } from "./facts";
import { boundAt, figuresIn, type Figure } from "./figures";
import { signAt, type Setting } from "./labels";
import { localeOf } from "./languages";
import { mentionsIn, type Mention } from "./names";
import { linesOf, plain } from "./sentences";
import { ofFact, piecesIn, printed, type Piece } from "./slots";

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
  const desk: Desk = { ledger, locale: how.locale ?? localeOf(clean), kept: how.kept ?? [], how };
  const gap = desk.locale === "zh" || desk.locale === "ja" ? "" : " ";
  const focus = ledger.focus === "" ? null : ledger.focus;
  let carried = focus;
  const lines = linesOf(clean).flatMap(({ lead, sentences }) => {
    if (sentences.length === 0) carried = focus;
    const told = sentences.map((sentence) => {
      const read = readSentence(sentence, carried, desk);
      const isRemoved = read.left.length > 0 && how.left !== "mark";
      carried = read.mentions.at(-1)?.subject ?? carried;
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

type Place = { start: number; end: number };
/** What is left over of a sentence; `instead` is shown where the sentence stays. */
type Left = Place & { why: string; instead?: string };
type Found = { items: Item[]; left: Left[] };
type Read = Found & {
  pieces: Piece[];
  mentions: Mention[];
  told: Source[];
  setting: Setting;
  isQuoted: boolean;
};

/** A sentence longer than this is not read. */
const MOST_CHARS = 1_500;

function readSentence(sentence: string, carried: string | null, desk: Desk): Read {
  const { ledger, how, locale } = desk;
  if (sentence.length > MOST_CHARS) return unread(sentence, carried, desk);
  const pieces = piecesIn(sentence);
  const cited = citedIn(pieces, ledger, how);
  const quotes = quotesOf(sentence, cited, plain(ledger.asked));
  const bare = without(sentence, pieces);
  const mentions = mentionsIn(bare, ledger.names);
  const slots = slotsIn(sentence, pieces, desk);
  const rests = without(bare, [...quotes, ...ownDates(sentence, cited, ledger), ...slots.items]);
  const words = without(rests, namesWithDigits(rests, ledger.names));
  const told = [...new Set([...cited, ...slots.items.flatMap((item) => item.printed.sources)])];
  const rest = plainIn(words, { pieces, mentions, told, carried }, desk);
  const items = [...slots.items, ...rest.items];
  const setting = { text: without(without(sentence, pieces), items), mentions, carried, ledger, locale };
  const left = [...slots.left, ...rest.left, ...contraryIn(items, setting)];
  return { items, left, pieces, mentions, told, setting, isQuoted: quotes.length > 0 };
}

/** A sentence that is too long to be read goes, whatever it says. */
function unread(sentence: string, carried: string | null, { ledger, locale }: Desk): Read {
  const left = [{ start: 0, end: sentence.length, why: "the sentence is too long", instead: "…" }];
  const setting = { text: "", mentions: [], carried, ledger, locale };
  return { items: [], left, pieces: [], mentions: [], told: [], setting, isQuoted: false };
}

/** The facts that a sentence cites, in its order. */
function citedIn(pieces: readonly Piece[], { facts }: Ledger, { isUncited }: How): Source[] {
  if (isUncited === true) return [...facts.values()];
  return pieces.flatMap(idsOf).flatMap((id) => facts.get(id) ?? []);
}

function idsOf(piece: Piece): number[] {
  if (piece.kind === "citation") return piece.ids;
  return piece.asked === null ? [] : [...piece.asked.left, ...piece.asked.right];
}

/** What slots ask for, with the marks that touch them. */
function slotsIn(sentence: string, pieces: readonly Piece[], { ledger, how }: Desk): Found {
  const found: Found = { items: [], left: [] };
  for (const piece of pieces) {
    const { start, end } = piece;
    if (piece.kind === "citation") {
      const missing = piece.ids.filter((id) => !ledger.facts.has(id));
      found.left.push(...missing.map((id) => ({ start, end, why: `f${id} is no fact` })));
      continue;
    }
    const made = piece.asked === null ? "that is no slot" : printed(piece.asked, ledger.facts);
    const place = withMarks(sentence, piece, pieces);
    const why =
      typeof made === "string"
        ? made
        : /\d[.,]?$/.test(sentence.slice(0, place.start)) || /^[.,]?\d/.test(sentence.slice(place.end))
          ? "a digit touches it"
          : how.isBare === true && made.unit === "text"
            ? "it is words"
            : null;
    if (why !== null || typeof made === "string")
      found.left.push({ start, end, why: why ?? "", instead: "—" });
    else found.items.push({ ...place, printed: made });
  }
  return found;
}

function withMarks(text: string, { start, end }: Piece, pieces: readonly Piece[]): Place {
  const before = MARKS_BEFORE.exec(text.slice(0, start))?.[0] ?? "";
  // A hyphen between two slots is a range's.
  const isRange = /^[-–]$/.test(before) && pieces.some((one) => one.end === start - 1);
  const isMark = before !== "" && !isRange && !/[\p{L}\d]$/u.test(text.slice(0, start - before.length));
  const behind = MARKS_BEHIND.exec(text.slice(end))?.[0] ?? "";
  return { start: isMark ? start - before.length : start, end: end + behind.length };
}

type Around = Pick<Read, "pieces" | "mentions" | "told"> & { carried: string | null };

/** The plain figures and multiples of a sentence: adopted, no figures at all, or left over. */
function plainIn(words: string, around: Around, desk: Desk): Found {
  const figures = figuresIn(words);
  const found: Found = { items: [], left: [] };
  for (const figure of figures) {
    const one = read(figure, words, around, desk);
    if (one === null) continue;
    if ("why" in one) found.left.push(one);
    else found.items.push(one);
  }
  for (const { start, end, text: keeps, value } of multiplesIn(without(words, figures))) {
    const own = multipleOf(value, boundAt(words, start, end), [...around.told, ...comparedIn(around, desk)]);
    if (own !== null) found.items.push({ start, end, printed: own, keeps });
    else found.left.push({ start, end, why: "no two facts cited here have that ratio" });
  }
  return found;
}

/** @returns `null` for what is no figure: a fact's own time, a number in its name. */
function read(figure: Figure, words: string, around: Around, desk: Desk): Item | Left | null {
  const { start, end, text: keeps } = figure;
  const cited = nearest(figure, around, desk);
  const near = figure.unit === "times" ? [...cited, ...comparedIn(around, desk)] : cited;
  const bound = bounded(figure, near);
  const own = bound ?? adopted(figure, near, words);
  const isBare = own === null || figure.unit === "none";
  if (
    (isBare && isAside(figure, words, around.told)) ||
    isOwnSpan(figure, words, around.told, desk.ledger.facts.values())
  )
    return null;
  if (own !== null) return { start, end, printed: own, ...(bound === null ? {} : { keeps }) };
  const quote = quoted(figure, near);
  if (quote !== null) return { start, end, printed: ofFact(quote), keeps };
  return { start, end, why: whyNot(figure, desk.how.isUncited === true ? [] : near) };
}

/** The facts that a figure may be of: those of the nearest citation behind it first, or those of who was named last. */
function nearest(
  figure: Figure,
  { pieces, mentions, told, carried }: Around,
  { ledger, how }: Desk,
): Source[] {
  if (how.isUncited === true) {
    const named = mentions.findLast(({ end }) => end <= figure.start)?.subject ?? carried;
    return named === null ? [...told] : told.filter(({ about }) => about?.subject === named);
  }
  const group = pieces.find((piece) => piece.kind === "citation" && piece.start >= figure.end);
  const first = group === undefined ? [] : idsOf(group).flatMap((id) => ledger.facts.get(id) ?? []);
  return [...new Set([...first, ...told])];
}

/** What a multiple may be of besides what its sentence cites: the same of the coins that it names ("three times Bitcoin's"). */
function comparedIn({ mentions, told }: Around, { ledger }: Desk): Source[] {
  return [...ledger.facts.values()].filter(
    ({ id, about }) =>
      about !== null &&
      mentions.some(({ subject }) => subject === about.subject) &&
      told.some((one) => one.id !== id && one.about?.kind === about.kind && one.about.since === about.since),
  );
}

/** Changes that a word right before them says the other way round; of a bound, any word of its clause. */
function contraryIn(items: readonly Item[], setting: Setting): Left[] {
  return items.flatMap((item) => {
    const { printed: made, keeps, start, end } = item;
    if (!isDirected(made)) return [];
    const { contrary } = signAt(item, made.value, setting);
    if (contrary === null || (contrary === "far" && keeps === undefined)) return [];
    return [{ start, end, why: `${made.sources[0]?.says ?? ""}: it went the other way` }];
  });
}

function placeOf(text: string, { start, end }: Place): string {
  return text.slice(Math.max(0, start - 30), Math.min(text.length, end + 15, start + 200)).trim();
}

function whyNot(figure: Figure, near: readonly Source[]): string {
  if (near.length === 0) return `“${figure.text}” cites no fact`;
  const said = near.slice(0, 3).map(({ id, says }) => `f${id} is ${says}`);
  return `“${figure.text}” is no cited fact's (${said.join("; ")})`;
}

/** What takes the place of a part of a sentence; told in the order of the text, so that facts are counted in it. */
type Edit = Place & { told: () => string };

/** A sentence with its figures and citations as readers see them. */
function toldIn(sentence: string, { items, left, pieces, setting, isQuoted }: Read, desk: Desk): string {
  const shown = new Set(items.flatMap(({ printed: { sources } }) => sources.map(({ id }) => id)));
  const citations = pieces.flatMap((piece): Edit[] => {
    if (piece.kind === "slot") return [];
    const start = /\s$/.test(sentence.slice(0, piece.start)) ? piece.start - 1 : piece.start;
    const rest = piece.ids.flatMap((id) => (shown.has(id) ? [] : (desk.ledger.facts.get(id) ?? [])));
    return [
      { start, end: piece.end, told: () => rest.map((one) => citationIn(one, isQuoted, desk)).join("") },
    ];
  });
  return edited(sentence, [
    ...items.map((item) => ({ ...item, told: () => itemIn(item, setting, desk) })),
    ...left.map(({ start, end, instead = null }) => ({
      start: instead === null ? end : start,
      end,
      told: () => `${instead ?? ""} [model]`,
    })),
    ...citations,
  ]);
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
