import {
  formatAmount,
  getMeasure,
  formatNumeral,
  formatSize,
  getUnit,
  type Fact,
  type FactKind,
  type Source,
} from "./facts";
import { findMentions } from "./mentions";
import { splitLines, normalizeText } from "../lib/text/sentences";
import type { CitationIndex } from "./citations";
import { NAMES, replaceFigures } from "./writtenNumbers";

/**
 * Turns a writer's text into the text for readers. The writer states figures by the numbers of facts: code prints the
 * figure of fact 12 for `{f12}`, the result of an operation for `{f2-f19}`, `{f27/f10}`, `{f10%f11}` and `{f3+f4}`, and a
 * number in brackets for the citation `[f12]`. A figure without a placeholder stays only if a fact that its sentence cites
 * rounds to it; it is then printed from that fact. A sentence with any other figure goes back to the writer, and is dropped
 * if it comes again. Pure.
 */

export type ResolvedText = {
  text: string;
  /** Figures that no fact has, each with its place and the reason. */
  leftovers: string[];
  /** Sentences that were left out. */
  removed: number;
  sentences: number;
};

export type ResolveOptions = {
  /** The facts cited so far, in the order of their numbers; new ones are added. */
  kept?: number[];
  /** A summary or title: without citations. */
  isBare?: boolean;
  /** A text without citations: a figure may be that of any fact about a coin that its sentence names. */
  isUncited?: boolean;
  /** A sentence may only state something about a fact, by its number, and nothing that matches. */
  refused?: RegExp;
  /** The treatment of a sentence with a figure that no fact has: dropped, or its figure marked as the model's. */
  left?: "drop" | "mark";
};

/** Longer sentences, and all sentences after this many, are dropped unread. */
const MOST_CHARS = 1_500;
const MOST_SENTENCES = 1_000;

/**
 * Resolves the placeholders of a text, and checks its other figures.
 * @example
 * // Fact 1: BTC price $97,250.50. The citation becomes number 1.
 * resolveFigures("BTC trades at {f1} [f1].", index).text; // "BTC trades at $97,250.50 [1]."
 */
export function resolveFigures(text: string, index: CitationIndex, how: ResolveOptions = {}): ResolvedText {
  const resolved: ResolvedText = { text: "", leftovers: [], removed: 0, sentences: 0 };
  const kept = how.kept ?? [];
  const before: string[] = [];
  const lines = splitLines(normalizeText(text)).flatMap(({ lead, sentences }) => {
    const resolvedSentences = sentences.flatMap((sentence) => {
      if (resolved.sentences >= MOST_SENTENCES) return [];
      const mentioned = findMentions(sentence, index.names);
      const read = resolveSentence(sentence, { mentioned, before }, index, {
        ...how,
        kept: [...kept],
      });
      before.push(...mentioned);
      const isOut = (read.problems.length > 0 && how.left !== "mark") || !read.isBound;
      resolved.sentences += 1;
      resolved.removed += isOut ? 1 : 0;
      resolved.leftovers.push(...read.problems.map((why) => `at “${sentence.slice(0, 120)}”: ${why}`));
      if (isOut) return [];
      kept.splice(0, Infinity, ...read.kept);
      return [read.text];
    });
    if (sentences.length > 0 && resolvedSentences.length === 0) return [];
    return [
      lead +
        resolvedSentences.reduce(
          (all, one) =>
            all + (all === "" || /[。！？]/u.test(all.slice(-80).split(" ").at(-1) ?? "") ? "" : " ") + one,
          "",
        ),
    ];
  });
  resolved.text = lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return resolved;
}

/**
 * Units that writers add to a placeholder although code prints them: `{f2}%`, `${f1}`, `{f4} billion`. A hyphen may be a
 * range's.
 */
const PLACEHOLDER =
  /(?:(?<![\p{L}\d}\]])(?:US)?[+±~≈$-]{1,3})?\{(?<slot>[^{}\n]{1,80})\}(?: ?(?:%|percent|USD|dollars|bps|gwei|thousand|million|billion|trillion|[TBMKk])(?![\p{L}\d])| (?:out )?of 10\b)*/gu;
/** `[f12]`, `[f1, f2]`; several in a row are one. */
const CITATION =
  /(?: ?\[\s*f\d+(?:\s*[,;+]\s*f?\d+)*\s*\][\s,;]{0,3}(?=\[\s*f)| ?\[\s*f\d+(?:\s*[,;+]\s*f?\d+)*\s*\])+/gi;

/** Words right before a figure that state its direction. */
const DIRECTION =
  /\b(?:(up|rose|rises?|gain(?:ed|s)?|added|adds|climb(?:ed|s)|rall(?:ied|ies)|rise of|gain of)|down|fell|falls?|lost|loses?|slid|slides|drop(?:ped|s)|declin(?:ed|es)|off|shed|loss of|decline of|drop of)(?: (?:by|of|about|some|just|roughly|another|a further|over|nearly|almost))*\s?$/iu;

const parseIds = (text: string): number[] => Array.from(text.matchAll(/\d+/g), ([id]) => Number(id));

/** @param by The subjects that the sentence mentions, and those that the text mentioned before it. */
function resolveSentence(
  sentence: string,
  { mentioned, before }: { mentioned: readonly string[]; before: readonly string[] },
  { facts, free, focus, question }: CitationIndex,
  how: ResolveOptions & { kept: number[] },
) {
  const problems: string[] = [];
  const citations = [...sentence.matchAll(CITATION)].flatMap(([all]) => parseIds(all));
  const slots = [...sentence.matchAll(PLACEHOLDER)].flatMap(({ groups }) => parseIds(groups?.["slot"] ?? ""));
  const ids = [...new Set([...citations, ...slots])];
  problems.push(...ids.flatMap((id) => (facts.has(id) ? [] : [`there is no fact f${id}`])));
  if (sentence.length > MOST_CHARS) problems.push("the sentence is too long");
  const knownSources = ids.flatMap((id) => facts.get(id) ?? []);
  const isAboutSentence = ({ fact }: Source) =>
    (mentioned.length === 0 ? [focus] : mentioned).includes(fact.subject);
  const cited = how.isUncited === true ? [...facts.values()].filter(isAboutSentence) : knownSources;

  const used = new Set<number>();
  const parts: string[] = [];
  // One private character stands for each finished part, so that nothing reads it again.
  const hold = (part: string) => String.fromCharCode(0xe100 + parts.push(part) - 1);
  const bracket = (of: readonly number[]) => {
    if (how.isBare === true || of.length === 0) return "";
    const numbers = of.map((id) => {
      if (!how.kept.includes(id)) how.kept.push(id);
      return how.kept.indexOf(id) + 1;
    });
    return ` [${[...new Set(numbers)].join(", ")}]`;
  };
  const printAmount = (amount: string, of: readonly Source[]) => {
    for (const one of of) used.add(one.id);
    const other = of.find(({ fact }) => isOtherCoin(fact, mentioned, [...before, focus]));
    if (other !== undefined) {
      const { id, says, fact } = other;
      problems.push(`f${id} is ${says}: the sentence does not name ${fact.subject}`);
    }
    return hold(amount + bracket(of.map(({ id }) => id)) + (other === undefined ? "" : " [model]"));
  };
  /** An amount without its sign if the words before it say the direction; they may not say the other one. */
  const printDirected = ({ amount, of }: { amount: string; of: readonly Source[] }, lead: string): string => {
    const found = DIRECTION.exec(lead);
    const [only, ...more] = of;
    if (found === null || only === undefined || more.length > 0 || !/^[+−].*%$/.test(amount)) return amount;
    if ((found[1] !== undefined) === amount.startsWith("+")) return amount.slice(1);
    problems.push(`${only.says}: it moved in the other direction`);
    return amount;
  };
  let remainder = sentence.length > MOST_CHARS ? "…" : sentence;
  remainder = remainder.replace(PLACEHOLDER, (...found) => {
    const inner = String(found[1]);
    const made = printPlaceholder(inner, facts);
    if (made === null) problems.push(`{${inner}} is no slot, or compares what cannot be compared`);
    return made === null
      ? hold("— [model]")
      : printAmount(printDirected(made, remainder.slice(0, Number(found.at(-3)))), made.of);
  });
  remainder = remainder.replace(CITATION, (all) => hold(`\uE002${parseIds(all).join(",")}\uE002`));
  for (const quote of knownSources.flatMap(({ fact: { value } }) => (typeof value === "string" ? value : [])))
    remainder = remainder.replace(/(?<=[“"«„])[^“”"«»„]{8,}(?=[”"»“])/gu, (one) =>
      normalizeText(quote).includes(one) ? hold(one) : one,
    );
  remainder = withQuoted(remainder, question, hold);
  for (const pattern of [free, NAMES]) remainder = remainder.replace(pattern, hold);
  remainder = replaceFigures(remainder, cited, {
    match: (one, lead) => printAmount(printDirected({ amount: printFact(one), of: [one] }, lead), [one]),
    unmatched: (figure) => {
      problems.push(explainMismatch(figure.trim(), knownSources));
      return hold(how.left === "mark" ? `${figure} [model]` : figure);
    },
  });
  const held = /[\uE100-\uF8FF]/g;
  while (remainder.search(held) !== -1)
    remainder = remainder.replace(held, (at) => parts[at.charCodeAt(0) - 0xe100] ?? "");
  const text = remainder
    .replace(/(?<!\s)\s*\uE002([\d,]*)\uE002/g, (_all, of: string) =>
      bracket(parseIds(of).filter((id) => !used.has(id) && facts.has(id))),
    )
    .replace(/(?<! ) +([.,;:!?。，])/g, "$1");
  const isBound = how.refused === undefined || (ids.length > 0 && sentence.search(how.refused) === -1);
  return { text, problems, kept: how.kept, isBound };
}

/** The text with the question held where it stands in quotation marks. */
function withQuoted(text: string, question: string, hold: (part: string) => string): string {
  const at = question === "" ? -1 : text.toLowerCase().indexOf(question.toLowerCase());
  const end = at + question.length;
  if (at < 1 || !/["“„«「]/.test(text.charAt(at - 1)) || !/["”“»」]/.test(text.charAt(end))) return text;
  return text.slice(0, at) + hold(text.slice(at, end)) + withQuoted(text.slice(end), question, hold);
}

/** Whether a sentence names coins, and neither it nor the text before it the one that a figure is of. */
function isOtherCoin({ subject }: Fact, mentioned: readonly string[], before: readonly string[]): boolean {
  if (/^(?:market|Base|news|)$/.test(subject)) return false;
  // A signal of a day is about its coin: `BTC 2026-01-05`.
  const getCoin = (one: string) => one.split(" ")[0];
  const coins = [...mentioned, ...before].map(getCoin);
  return mentioned.some((one) => one !== "Base") && !coins.includes(getCoin(subject));
}

function explainMismatch(figure: string, cited: readonly Source[]): string {
  const [one] = cited;
  if (one === undefined) return `“${figure}” cites no fact`;
  return `“${figure}” does not match a cited fact (${cited
    .slice(0, 3)
    .map(({ id, says }) => `f${id} is ${says}`)
    .join("; ")})`;
}

/** `f12`, or `f2-f19`, `f27/f10`, `f10%f11+f12`, `f3+f4`. */
const EXPRESSION = /^f?(\d{1,4}(?:\+f?\d{1,4})*)(?:([-−–/÷%])f?(\d{1,4}(?:\+f?\d{1,4})*))?$/i;

/** The output of a placeholder, and its facts; `null` for an invalid one. */
function printPlaceholder(
  slot: string,
  facts: ReadonlyMap<number, Source>,
): { amount: string; of: Source[] } | null {
  const [whole, left = "", sign, right = ""] = EXPRESSION.exec(slot.replace(/\s/g, "")) ?? [];
  if (whole === undefined) return null;
  const sides = [left, right].map((side) => parseIds(side).flatMap((id) => facts.get(id) ?? []));
  const of = sides.flat();
  const [first] = of;
  if (first === undefined || of.length !== parseIds(whole).length) return null;
  if (of.length === 1) return { amount: printFact(first), of };
  const amount = computeExpression(sides, sign);
  return amount === null ? null : { amount, of };
}

/** The result of one operation; `null` if the facts' kinds or units do not fit it. */
function computeExpression(sides: readonly (readonly Source[])[], sign: string | undefined): string | null {
  const of = sides.flat().map(({ fact }) => fact);
  const [first] = of;
  if (first === undefined || of.some(({ value }) => typeof value === "string")) return null;
  const [a = 0, b = 0] = sides.map((side) => side.reduce((sum, { fact }) => sum + Number(fact.value), 0));
  const unit = getUnit(first.kind);
  const isOneUnit = of.every(({ kind }) => getUnit(kind) === unit);
  const isAlike = new Set(of.map(getComparableKind)).size === 1;
  // Amounts at one moment or over one time can be added, each once; prices, changes and rates cannot.
  const isAmounts = isOneUnit && /^(?:USD|coins)$/.test(unit) && of.every(({ kind }) => !isPrice(kind));
  const isEachOnce = new Set(sides.flat().map(({ id }) => id)).size === of.length;
  if (sides.some((side) => side.length > 1) && !(isAlike && isAmounts)) return null;
  if (sign === undefined) return isEachOnce ? formatAmount({ ...first, value: a }) : null;
  if (/[-−–]/.test(sign)) {
    if (!isAlike || !isEachOnce) return null;
    // The words around it say which of the two is larger.
    if (unit === "percent") return `${formatSize(Math.abs(a - b)).replace(/\s?%$/, "")} points`;
    return formatAmount({ ...first, value: Math.abs(a - b) });
  }
  if (b === 0 || a / b <= 0 || !(isAlike || isAmounts)) return null;
  if (/[/÷]/.test(sign)) return `${formatNumeral(a / b)}×`;
  return unit === "percent" ? null : formatSize((100 * a) / b);
}

const isPrice = (kind: FactKind): boolean => getMeasure(kind).alike === "price";

/** Facts with the same key can be compared: one kind or family, and amounts of coins only of the same coin. */
const getComparableKind = ({ kind, subject }: Fact): string =>
  `${getMeasure(kind).alike ?? kind} ${getUnit(kind) === "coins" ? subject : ""}`;

/** The printed value of a fact. */
const printFact = ({ fact: { value, ...of } }: Source): string =>
  typeof value === "string" ? quoteStart(value) : formatAmount({ ...of, value });

/** The most words of a quotation. */
const QUOTED_WORDS = 24;

/** The first words of a fact, without cutting a figure. */
function quoteStart(words: string): string {
  const all = words
    .replace(/[[\]{}\n]/g, " ")
    .trim()
    .split(/\s+/);
  const few = all.slice(0, QUOTED_WORDS);
  while (all.length > QUOTED_WORDS && /[\d$€£]/.test(few.at(-1) ?? "")) few.pop();
  return `“${[...few, ...(all.length > QUOTED_WORDS ? ["…"] : [])].join(" ")}”`;
}

const MOST_LISTED = 40;

/** The leftovers, in words for the writer; `null` if there are none. */
export function describeLeftovers(leftovers: readonly string[]): string | null {
  if (leftovers.length === 0) return null;
  const listed = leftovers.slice(0, MOST_LISTED).join("; ");
  return `write every figure as a slot of a given fact, such as {f12}, or leave it out: ${listed}`;
}
