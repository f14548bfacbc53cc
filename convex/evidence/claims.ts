import { directionAround, signAround, type Direction } from "./directions";
import type { Figure } from "./figures";
import { HERE, topicsIn, type Topic } from "./meanings";
import type { Mention } from "./names";
import { nounBehind } from "./numbers";
import { windowsIn, type ToldWindow, type Window } from "./windows";
import { lastEnd, whoseFigures, type Sentence, type Whose } from "./whose";

/** What the words around each figure of a sentence claim of it, beside its value and its unit. Pure. */

export type Claim = Whose & {
  /** What the words right around it say that it is; empty where they do not. */
  topics: ReadonlySet<Topic>;
  window: Window | null;
  /** Whether that window is told beside this very figure. */
  isWindowOwn: boolean;
  /** Which way it went, by the words around it. */
  direction: Direction;
  /** On which side of nothing it is, by the words around it. */
  sign: Direction;
  /** What is counted, where it is a bare number. */
  noun: string | null;
  /** Whether its words speak of an earlier moment: "from 96,000". */
  isEarlier: boolean;
  /** The words around it, with the place where it stands. */
  around: string;
  /** Those of them that are of no other figure. */
  near: string;
  /** From its name to the next citation: what else the sentence may be about there. */
  sinceName: string;
};

/** Where another statement begins. */
const BREAK = /[;:]|—|\b(?:while|whereas|but|although|though|whilst|yet)\b/gi;
/** Where what is said behind a figure is no longer of it. */
const AFTER_END = /[,;:]|—|\b(?:and|while|whereas|but|as|with|although|though|on (?=\w+ (?:of|in)))\b/i;
/** What stands right behind a figure and says what it is: "$30bn in 24-hour volume", "0.01 % funding". */
const BEHIND =
  /^\s*\(?(?:deep |wide )?(?:(?:in|of|on|by) (?:(?!(?:heavy|light|thin|thick|strong|weak|brisk|slow|rising|falling|low|lower|high|higher|quiet|active|a|an)\b)[a-z'’-]+ ){0,4}|(?:worth of|as|for) )?(?:(?:the|its|their|total|daily|hourly|weekly|24-hour|perpetual|notional|market|bid|resting|dollar|buy|sell) )*$/i;
/** The words between figures that go on with what was said of the first. */
const GOES_ON =
  /^(?:\s|,|&|\/|\(|\)|[-–]|\b(?:and|or|for|in|of|to|vs\.?|versus|against|with|the|that|respectively|compared)\b|['’]s?\b)*$/i;
const EARLIER =
  /\b(?:from|was|were|stood|began|started|opened|against|than|earlier|previous|previously|then|after|versus|vs|had been)\b/i;

/** "Bitcoin, on strong volume, trades at …": said by the way. */
const ASIDE = /,\s*(?:on|with|amid|despite|after|in)\b[^,]*,/gi;
/** "within 1 % of its price", once the figure is read. */
const WITHIN = /^\s*(?:of|from|around) (?:the |its |[\w$]+['’]s )?(?:current |mid(?:dle)? |market )?price\b/i;
const blank = (text: string) => " ".repeat(text.length);

export function claimsOf(sentence: Sentence): Map<Figure, Claim> {
  const whose = whoseFigures(sentence);
  const windows = windowsIn(sentence.bare);
  const claims = new Map<Figure, Claim>();
  for (const [index, figure] of sentence.figures.entries()) {
    const owner = whose.get(figure) ?? { every: [], mention: null };
    const previous = sentence.figures[index - 1];
    const earlier = previous === undefined ? undefined : claims.get(previous);
    claims.set(figure, { ...owner, ...claimOf(figure, sentence, windows, { previous, earlier }) });
  }
  for (const figure of sentence.figures.toReversed()) shareBack(figure, claims, sentence);
  return claims;
}

/** "Bitcoin $1.93T and Ether $412bn in market cap": what stands behind the last is said of each. */
function shareBack(figure: Figure, claims: Map<Figure, Claim>, { bare, figures, mentions }: Sentence): void {
  const next = figures[figures.indexOf(figure) + 1];
  const [own, other] = [claims.get(figure), next === undefined ? undefined : claims.get(next)];
  if (next === undefined || own === undefined || other === undefined || own.topics.size > 0) return;
  const between = namesOut(bare.slice(figure.end, next.start), figure.end, mentions);
  const isNamed = between !== bare.slice(figure.end, next.start);
  if (isNamed && unitOf(figure) === unitOf(next) && GOES_ON.test(between))
    claims.set(figure, { ...own, topics: other.topics });
}

type Before = { previous: Figure | undefined; earlier: Claim | undefined };

function claimOf(
  figure: Figure,
  sentence: Sentence,
  windows: readonly ToldWindow[],
  before: Before,
): Omit<Claim, keyof Whose> {
  const { bare, figures, mentions, text } = sentence;
  const index = figures.indexOf(figure);
  const next = figures.slice(index + 1).find((one) => !isWhole(figure, one, bare))?.start ?? bare.length;
  const start = figures[index - 1]?.end ?? 0;
  const lead = bare.slice(start, figure.start);
  const after = bare.slice(figure.end, next);
  const ownAfter = after.split(AFTER_END)[0] ?? "";
  const named = mentions.filter(({ end }) => end <= figure.start).at(-1);
  return {
    topics: topicsOf(figure, lead, after, sentence, before),
    ...windowOf(figure, { start, next, ownAfter }, windows, before, bare),
    direction: directionAround(leadSince(text, figure, start), cutAtCitation(text.slice(figure.end, next))),
    sign: signAround(lead + ownAfter),
    noun: figure.kind === "number" && figure.unit === null ? nounBehind(after) : null,
    isEarlier: EARLIER.test(lead),
    around: lead + HERE + after,
    near: lead.slice(index === 0 ? 0 : ownPart(lead)) + HERE + ownAfter,
    sinceName: cutAtCitation(text.slice(named?.end ?? 0)),
  };
}

/** "31 of the 50": what the second is of is said of the first. */
function isWhole(part: Figure, whole: Figure, bare: string): boolean {
  return (
    whole.start >= part.end &&
    /^\s*(?:of|out of|\/)\s*(?:the )?(?:top )?$/i.test(bare.slice(part.end, whole.start))
  );
}

function unitOf(figure: Figure) {
  return figure.kind === "number" ? figure.unit : null;
}

/** The topics whose words stand nearest, behind the figure where they belong to it, else before it. */
function topicsOf(
  figure: Figure,
  lead: string,
  after: string,
  { text, bare, mentions }: Sentence,
  { previous, earlier }: Before,
): ReadonlySet<Topic> {
  const unit = unitOf(figure);
  const behind = topicsBehind(figure, after, mentions);
  if (behind !== null) return behind.topics;
  const isMeasured = previous !== undefined && unitOf(previous) !== null;
  const taken = isMeasured ? (topicsBehind(previous, lead, mentions)?.end ?? 0) : 0;
  const plain = blank(lead.slice(0, taken)) + lead.slice(taken).replace(ASIDE, blank).replace(WITHIN, blank);
  const offset = figure.start - lead.length;
  const told = topicsIn(plain, unit);
  const last = told.at(-1);
  const floor = Math.max(lastEnd(plain, BREAK), lastBareName(plain, offset, mentions));
  const isHead = last !== undefined && /^\s*:\s*$/.test(plain.slice(last.end));
  if (last !== undefined && (isHead || last.start >= floor)) {
    return new Set(
      told.filter(({ end, start }) => end === last.end || start === last.start).map(({ topic }) => topic),
    );
  }
  const goesOn =
    previous !== undefined &&
    unitOf(previous) === unit &&
    GOES_ON.test(namesOut(bare.slice(previous.end, figure.start), previous.end, mentions));
  if (goesOn && earlier !== undefined && earlier.topics.size > 0) return new Set(earlier.topics);
  const head = headOf(bare, figure, mentions);
  if (head.size > 0 || /\b(?:at|near|around|to|from)\s*$|\($/i.test(lead)) return head;
  if (unit !== "usd") return head;
  const own = cutAtCitation(text.slice(figure.end, figure.end + after.length)).split(AFTER_END)[0] ?? "";
  return new Set(topicsIn(own.replace(WITHIN, blank), unit).map(({ topic }) => topic));
}

/** What stands right behind a figure and says what it is. */
function topicsBehind(figure: Figure, after: string, mentions: readonly Mention[]) {
  const told = topicsIn(after.replace(WITHIN, blank), unitOf(figure));
  const [nearest] = told;
  if (nearest === undefined || !BEHIND.test(namesOut(after.slice(0, nearest.start), figure.end, mentions)))
    return null;
  const topics = new Set(told.filter(({ start }) => start === nearest.start).map(({ topic }) => topic));
  return { topics, end: nearest.end };
}

/** "Market value: Bitcoin $1.93T, Ether $412bn": what a list is headed with. */
function headOf(bare: string, figure: Figure, mentions: readonly Mention[]): Set<Topic> {
  const head = /^[^:]{1,40}(?=:)/.exec(bare)?.[0];
  if (head === undefined || mentions.some(({ start }) => start < head.length)) return new Set();
  const told = topicsIn(head, unitOf(figure)).filter(({ end }) => end === head.trimEnd().length);
  return new Set(told.map(({ topic }) => topic));
}

/** The text with the names in it blank. */
function namesOut(text: string, offset: number, mentions: readonly Mention[]): string {
  let bare = text;
  for (const { start, end } of mentions) {
    const [from, to] = [start - offset, end - offset];
    if (from >= 0 && to <= text.length) bare = bare.slice(0, from) + " ".repeat(to - from) + bare.slice(to);
  }
  return bare;
}

/** Where the last name ends that begins a statement of its own: not "of Bitcoin", nor "Bitcoin's". */
function lastBareName(lead: string, offset: number, mentions: readonly Mention[]): number {
  let wasBare = true;
  const bare = mentions.filter(({ start, end }) => {
    const [from, to] = [start - offset, end - offset];
    if (from < 0 || to > lead.length) return false;
    const before = lead.slice(0, from);
    const isListed = !wasBare && /[\w)](?:,| and| or| &)\s*(?:the\s+)?$/i.test(before);
    const isOf = /\b(?:of|in|on|for|across|to)\s+(?:the\s+)?$/i.test(before) || /^['’]/.test(lead.slice(to));
    wasBare = !isListed && !isOf;
    return wasBare;
  });
  const last = bare.at(-1);
  return last === undefined ? 0 : last.end - offset;
}

function windowOf(
  figure: Figure,
  { start, next, ownAfter }: { start: number; next: number; ownAfter: string },
  windows: readonly ToldWindow[],
  { previous, earlier }: Before,
  bare: string,
): Pick<Claim, "window" | "isWindowOwn"> {
  const afterEnd = figure.end + ownAfter.length;
  const behind = windows.find((one) => one.start >= figure.end && one.end <= Math.min(next, afterEnd));
  if (behind !== undefined) return { window: behind.window, isWindowOwn: true };
  // What stood right behind the figure before was said of that one.
  const from =
    previous === undefined ? start : previous.end + ownPart(bare.slice(previous.end, figure.start));
  const lead = windows.filter((one) => one.start >= from && one.end <= figure.start);
  const last = lead.at(-1);
  if (last !== undefined) return { window: last.window, isWindowOwn: true };
  const isOn = previous !== undefined && unitOf(previous) === unitOf(figure);
  const between = bare.slice(previous?.end ?? 0, figure.start);
  const window = isOn && !between.includes(";") ? (earlier?.window ?? null) : null;
  return { window, isWindowOwn: false };
}

function ownPart(between: string): number {
  const own = between.split(AFTER_END)[0] ?? "";
  return own.length === between.length ? 0 : own.length;
}

/** The words since the figure before it, or the citations before it. */
function leadSince(text: string, figure: Figure, start: number): string {
  const lead = text.slice(start, figure.start);
  return lead.slice(lead.lastIndexOf("]") + 1);
}

function cutAtCitation(after: string): string {
  return after.split("[f")[0] ?? "";
}
