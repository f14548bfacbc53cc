import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as z from "zod";

/**
 * `npm run verify-signals`: holds a signal record against its hash chain, its own rules, the market and its anchors.
 *
 * This file stands alone. It imports nothing of the service that it checks and works everything out anew, so that it can be
 * read on its own and believed: what a record is (1), its chain (2), the rules of issue (3), how a trade ends (4), statistics
 * (5), the daily signals (6), the shadow signals (7), people's signals (8), the market (9), the anchors (10), reading and
 * reporting (11).
 */

const USAGE = `Usage: npm run verify-signals -- URL|FILE [--candles venue|URL|FILE] [--rpc URL --anchor ADDRESS]
                                 [--head HASH] [--save FILE] [--json]

  --candles WHAT    candles of one minute, to compute entries and outcomes again: "venue" asks Coinbase's public API, a URL
                    names an API with the same answers, a FILE holds {"BTC": [[opened at, open, high, low, close], …], …}, epoch ms
  --rpc URL         an RPC of Base, such as https://mainnet.base.org: reads the anchors
  --anchor ADDRESS  the account of the anchors, as a card or the page names it; all its transactions are read
  --head HASH       the chain's head as it was published on a card, which rules out a rewritten chain
  --save FILE       saves what was read, so that it can be checked again without the deployment
  --json            for programs: holds, problems, notes, unchecked, events, signals, head

Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// 1. What a record is.

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const price = z.number().nullable();
const side = z.enum(["BUY", "SELL"]);
const status = z.enum(["WIN", "LOSS", "EXPIRED"]);
const link = { sequence: z.int().positive(), contentHash: hash, previousHash: hash, hash };
const headShape = z.object({ sequence: z.int().positive(), hash }).nullable();

const issue = {
  ...{
    token: z.string(),
    model: z.string().nullable(),
    promptVersion: z.string(),
    costBps: z.number().nonnegative(),
  },
  ...{
    signal: z.enum(["BUY", "SELL", "HOLD"]),
    entry: z.number().positive(),
    tp1: price,
    tp2: price,
    sl: price,
  },
  ...{ confidence: z.number(), calibratedConfidence: z.number() },
  ...{ calibrationMethod: z.string(), calibrationOutcomes: z.int().nonnegative() },
  ...{ generatedAt: z.iso.datetime(), expiresAt: z.iso.datetime() },
  ...{ priceSource: z.string(), priceObservedAt: z.iso.datetime() },
};
const ending = {
  ...{ token: z.string(), status, closedAt: z.iso.datetime(), exitPrice: price, pnlPercent: price },
  ...{
    gapMinutes: z.number().nonnegative(),
    decidedBy: z.string().nullable(),
    inDoubt: z.boolean().optional(),
  },
};
const ofDay = {
  ...{ token: z.enum(["BTC", "ETH"]), day: z.iso.date(), model: z.string().nullable() },
  ...{ promptVersion: z.string(), refusedDays: z.int(), gapMinutes: z.number().nonnegative() },
};
const ofHour = { arm: z.string(), hour: z.iso.datetime() };
const at = z.iso.datetime();

const issuedShape = z.looseObject({
  ...{ ...issue, ...ofDay, timeframe: z.string(), reasoning: z.string() },
  ...{ coin: side.nullable(), momentum: side.nullable(), volatility: z.number().nullable().optional() },
});
const closedShape = z.looseObject({ ...ending, ...ofDay });
const comparedShape = z.looseObject({
  ...{ ...ofDay, mirrorStatus: status, mirrorExitPrice: price, mirrorInDoubt: z.boolean().optional() },
  ...{ holdExitPrice: price, decidedBy: z.string().nullable() },
});
const promotedShape = z.looseObject({
  ...{ arm: z.string(), model: z.string(), promptVersion: z.string(), previousModel: z.string(), at },
  ...{ previousPromptVersion: z.string(), eValue: z.number(), days: z.int(), needed: z.number() },
  forced: z.string().nullable(),
});

const event = z.discriminatedUnion("kind", [
  z.object({ ...link, kind: z.literal("issued"), content: issuedShape }),
  z.object({ ...link, kind: z.literal("closed"), content: closedShape }),
  z.object({ ...link, kind: z.literal("compared"), content: comparedShape }),
  z.object({ ...link, kind: z.literal("refused"), content: z.looseObject({ ...ofDay, at }) }),
  z.object({ ...link, kind: z.literal("promoted"), content: promotedShape }),
  z.object({
    ...{ ...link, kind: z.literal("shadow") },
    content: z.looseObject({ shadowSequence: z.int().positive(), shadowHash: hash, at }),
  }),
  z.object({
    ...{ ...link, kind: z.literal("people") },
    content: z.looseObject({ peopleSequence: z.int().positive(), peopleHash: hash, at }),
  }),
  z.object({
    ...{ ...link, kind: z.literal("changed") },
    content: z.looseObject({ model: z.string(), promptVersion: z.string(), costBps: z.number(), at }),
  }),
  z.object({ ...link, kind: z.literal("restored"), content: z.looseObject({ reason: z.string(), at }) }),
]);
const shadowEvent = z.discriminatedUnion("kind", [
  z.object({ ...link, kind: z.literal("issued"), content: z.looseObject({ ...issue, ...ofHour }) }),
  z.object({ ...link, kind: z.literal("closed"), content: z.looseObject({ ...ending, ...ofHour }) }),
  z.object({
    ...{ ...link, kind: z.literal("missed") },
    content: z.looseObject({ ...ofHour, token: z.string(), at }),
  }),
]);
const ofArm = { arm: z.string() };
const personEvent = z.discriminatedUnion("kind", [
  z.object({
    ...{ ...link, kind: z.literal("begun") },
    content: z.looseObject({ ...ofArm, number: z.int().positive(), at }),
  }),
  z.object({ ...link, kind: z.literal("issued"), content: issuedShape.extend(ofArm) }),
  z.object({ ...link, kind: z.literal("closed"), content: closedShape.extend(ofArm) }),
  z.object({ ...link, kind: z.literal("compared"), content: comparedShape.extend(ofArm) }),
]);
/** A part of a record, as a deployment shows it. */
const cutShape = z.looseObject({ cut: z.string(), n: z.int() });
const peopleRecord = z.object({
  ...{ events: z.array(personEvent), head: headShape },
  /** What the deployment shows of each arm. */
  stats: z.record(z.string(), z.unknown()),
  cuts: z.record(z.string(), z.array(cutShape)).optional(),
});
const shadowRecord = z.object({
  ...{ writer: z.string(), events: z.array(shadowEvent), head: headShape },
  arms: z.array(z.looseObject({ arm: z.string() })),
});
const anchor = z.object({ nonce: z.int().nonnegative(), txHashes: z.array(z.string()) });
const account = z.object({ address: z.string(), anchors: z.array(anchor) });

const recordShape = z.object({
  ...{ events: z.array(event), head: headShape },
  signals: z.array(z.looseObject({ token: z.string(), generatedAt: z.iso.datetime() })),
  /** What the deployment shows of all this. */
  stats: z.object({ BTC: z.unknown(), ETH: z.unknown(), ALL: z.unknown() }).optional(),
  cuts: z.array(cutShape).optional(),
  /** Where it says that it was anchored. */
  anchors: z.array(account).optional(),
  shadow: shadowRecord.optional(),
  people: peopleRecord.optional(),
  /** When it was read, epoch ms. */
  readAt: z.number().optional(),
});
type SignalRecord = z.output<typeof recordShape>;
type Event = z.output<typeof event>;
type ShadowEvent = z.output<typeof shadowEvent>;
type PersonEvent = z.output<typeof personEvent>;
type Issued = z.output<typeof issuedShape>;
type Closed = z.output<typeof closedShape>;
type Compared = z.output<typeof comparedShape>;
type Status = z.output<typeof status>;
type Head = z.output<typeof headShape>;
type DayEventOfPerson = Exclude<PersonEvent, { kind: "begun" }>;

function isOfDay<One extends Event | PersonEvent>(
  one: One,
): one is Extract<One, { content: { day: string } }> {
  return "day" in one.content;
}

// 2. The chain: each event carries the hash of its content and of the event before it.

const GENESIS = "0".repeat(64);

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** JSON of a flat object with its keys sorted and no white space, hashed. */
function hashOf(fields: Record<string, unknown>): string {
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return sha256(`{${members.join(",")}}`);
}

type Linked = { sequence: number; kind: string; content: object } & Record<
  "contentHash" | "previousHash" | "hash",
  string
>;

function chainProblems<One extends Linked>(
  events: readonly One[],
  head: Head,
  nameOf: (one: One) => string,
): string[] {
  const problems: string[] = [];
  let [sequence, previous] = [0, GENESIS];
  for (const one of events) {
    sequence += 1;
    const { kind, contentHash, previousHash } = one;
    const name = nameOf(one);
    if (one.sequence !== sequence)
      problems.push(`${name} stands where event ${sequence} belongs: events were removed, moved or added`);
    if (contentHash !== hashOf({ ...one.content }))
      problems.push(`${name}: its content is not what was hashed, it was changed afterwards`);
    else if (one.hash !== hashOf({ sequence: one.sequence, kind, contentHash, previousHash }))
      problems.push(`${name}: its hash is not that of its links, one of them was changed`);
    if (previousHash !== previous)
      problems.push(`${name} does not follow the event before it: the chain was broken there`);
    [sequence, previous] = [one.sequence, one.hash];
  }
  const last = events.at(-1);
  if (last?.sequence !== head?.sequence || last?.hash !== head?.hash)
    problems.push(
      `The chain ends with ${headWords(last)}, but the head is ${headWords(head)}: events are missing at the end`,
    );
  return problems;
}

function headWords(head: { sequence: number; hash: string } | null | undefined): string {
  return head === null || head === undefined ? "nothing" : `event ${head.sequence}, ${head.hash}`;
}

// 3. The rules of issue.

const LIFETIME_MS = 6 * HOUR;
/** Clocks differ a little. */
const SKEW_MS = MINUTE;
/** No trade is entered at a price that is older than this. */
const PRICE_AGE_MS = 30_000;
const MIN_STOP = 0.0015;
const MIN_REWARD_TO_RISK = 0.8;
/** Tolerance for the rounding of ratios of decimals. */
const HAIR = 1e-9;

type Levels = Pick<Issued, "signal" | "entry" | "tp1" | "tp2" | "sl">;
type Position = { signal: "BUY" | "SELL"; entry: number; tp1: number; sl: number };

function positionOf({ signal, entry, tp1, sl }: Omit<Levels, "tp2">): Position | null {
  return signal === "HOLD" || tp1 === null || sl === null ? null : { signal, entry, tp1, sl };
}

function mirrored({ signal, entry, tp1, sl }: Position): Position {
  const other = signal === "BUY" ? "SELL" : "BUY";
  return { signal: other, entry, tp1: entry - (tp1 - entry), sl: entry + (entry - sl) };
}

function ruleProblems(
  one: Levels & { confidence: number; costBps: number } & Record<
      "generatedAt" | "expiresAt" | "priceSource" | "priceObservedAt",
      string
    >,
): string[] {
  const { signal, entry, tp1, tp2, sl, costBps, generatedAt, expiresAt, priceObservedAt } = one;
  const problems: string[] = [];
  if (!Number.isInteger(one.confidence) || one.confidence < 0 || one.confidence > 100)
    problems.push("confidence must be a whole number from 0 to 100");
  const sign = signal === "SELL" ? -1 : 1;
  if (signal === "HOLD") {
    if (tp1 !== null || tp2 !== null || sl !== null) problems.push("a HOLD has no levels and no controls");
  } else if (tp1 === null || tp2 === null || sl === null) {
    problems.push(`a ${signal} must have tp1, tp2 and sl`);
  } else if (
    !(sign * sl < sign * entry && sign * entry < sign * tp1 && sign * tp1 <= sign * tp2 && sl > 0 && tp2 > 0)
  ) {
    problems.push(
      `the levels of a ${signal} must satisfy its order: sl ${sl}, entry ${entry}, tp1 ${tp1}, tp2 ${tp2}`,
    );
  } else {
    const [reward, risk] = [Math.abs(tp1 - entry), Math.abs(entry - sl)];
    if (!(reward / entry > costBps / 10_000 + HAIR))
      problems.push(`tp1 ${tp1} must lie more than the costs away`);
    if (!(risk / entry >= MIN_STOP - HAIR))
      problems.push(`sl ${sl} must be at least ${MIN_STOP * 100} % away`);
    if (!(reward / risk >= MIN_REWARD_TO_RISK - HAIR))
      problems.push(`tp1 ${tp1} must be at least ${MIN_REWARD_TO_RISK} times as far as sl ${sl}`);
  }
  if (one.priceSource === "llm") problems.push("its price is the model's own word");
  if (Date.parse(expiresAt) - Date.parse(generatedAt) !== LIFETIME_MS)
    problems.push(`it was issued at ${generatedAt} and cannot expire at ${expiresAt}`);
  const age = Date.parse(generatedAt) - Date.parse(priceObservedAt);
  if (age < -SKEW_MS)
    problems.push(`it was issued at ${generatedAt}, before its price was seen at ${priceObservedAt}`);
  if (age > PRICE_AGE_MS) problems.push(`its price was ${Math.round(age / 1_000)} s old when it was issued`);
  return problems;
}

/** In percent to six decimals and before costs; `null` for HOLD, which takes no position. */
function pnlOf(signal: Levels["signal"], entry: number, exit: number | null): number | null {
  if (signal === "HOLD" || exit === null) return null;
  const change = (exit / entry - 1) * 100;
  return Number((signal === "BUY" ? change : -change).toFixed(6)) + 0;
}

function net(pnl: number | null, costBps: number): number | null {
  return pnl === null ? null : Number((pnl - costBps / 100).toFixed(6)) + 0;
}

/** What is wrong with the recorded end of a signal, whatever the market did. */
function endProblems(
  one: Levels & Record<"generatedAt" | "expiresAt", string>,
  end: {
    status: Status;
    exitPrice: number | null;
    pnlPercent: number | null;
    closedAt: string;
    decidedBy: string | null;
  },
): string[] {
  const { closedAt, exitPrice } = end;
  const problems = levelEndProblems(one, end.status, exitPrice);
  const due = pnlOf(one.signal, one.entry, exitPrice);
  if (end.pnlPercent !== due) problems.push(`its PnL is ${due} %, not ${end.pnlPercent} %`);
  const [closed, issued, expires] = [closedAt, one.generatedAt, one.expiresAt].map((time) =>
    Date.parse(time),
  );
  if (closed === undefined || issued === undefined || expires === undefined) return problems;
  if (closed < issued) problems.push(`it was closed at ${closedAt}, before it was issued`);
  if (closed > expires) problems.push(`it was closed at ${closedAt}, after its expiry`);
  if (end.status === "EXPIRED" && closed !== expires)
    problems.push(`it expires at ${one.expiresAt}, not at ${closedAt}`);
  if ((end.decidedBy === null) !== (exitPrice === null))
    problems.push("what decided it does not fit its price");
  return problems;
}

function levelEndProblems(
  { signal, tp1, sl }: Pick<Levels, "signal" | "tp1" | "sl">,
  end: Status,
  exit: number | null,
) {
  if (end !== "EXPIRED") {
    const level = end === "WIN" ? tp1 : sl;
    return level === null || exit !== level ? [`a ${end} ends at ${level}, not at ${exit}`] : [];
  }
  if (signal === "HOLD" || exit === null || tp1 === null || sl === null) return [];
  const isBetween = exit >= Math.min(tp1, sl) && exit <= Math.max(tp1, sl);
  return isBetween ? [] : [`it expired at ${exit}, beyond its levels`];
}

// 4. How a trade ends by the market's minutes.

/** A minute's candle. `openedAt` is epoch ms. */
export type Minute = { openedAt: number; open: number; high: number; low: number; close: number };
type Life = { from: number; to: number };
type End = { status: Status; exitPrice: number; closedAt: number; inDoubt: boolean };

/**
 * The first level touched decides, the stop where one minute holds both. Of the minute of issue its close counts and how
 * far it went against the position; of the minute of expiry only the open.
 * @returns `null` where minutes are missing that may decide.
 */
function endBy(
  minutes: ReadonlyMap<number, Minute>,
  { from, to }: Life,
  position: Position | null,
): End | null {
  const first = Math.floor(from / MINUTE) * MINUTE;
  const isBuy = position?.signal === "BUY";
  for (let openedAt = first; openedAt <= to && position !== null; openedAt += MINUTE) {
    const one = minutes.get(openedAt);
    if (one === undefined) {
      if (openedAt + MINUTE <= to) return null;
      continue;
    }
    const isOfIssue = openedAt < from;
    let { high, low } = one;
    if (openedAt + MINUTE > to) [high, low] = isOfIssue ? [NaN, NaN] : [one.open, one.open];
    else if (isOfIssue && isBuy) high = one.close;
    else if (isOfIssue) low = one.close;
    const isStopped = isBuy ? low <= position.sl : high >= position.sl;
    const isWon = isBuy ? high >= position.tp1 : low <= position.tp1;
    const closedAt = Math.max(openedAt, from);
    if (isStopped) return { status: "LOSS", exitPrice: position.sl, closedAt, inDoubt: isWon || isOfIssue };
    if (isWon) {
      return {
        status: "WIN",
        exitPrice: position.tp1,
        closedAt: isOfIssue ? openedAt + MINUTE : openedAt,
        inDoubt: false,
      };
    }
  }
  const last = minutes.get(Math.floor(to / MINUTE) * MINUTE - MINUTE);
  if (last === undefined) return null;
  const exitPrice =
    position === null
      ? last.close
      : Math.min(
          Math.max(last.close, Math.min(position.sl, position.tp1)),
          Math.max(position.sl, position.tp1),
        );
  return { status: "EXPIRED", exitPrice, closedAt: to, inDoubt: false };
}

// 5. Statistics: what trades come to against chance, and what betting on it has made.

type Ended = {
  position: Position;
  exitPrice: number | null;
  gapMinutes: number;
  inDoubt?: boolean | undefined;
  costBps: number;
};

/** With more minutes than this without a candle, an outcome is unknown. */
const MAX_GAP_MINUTES = 5;

function chanceOf({ entry, tp1, sl }: Position): number {
  return Math.abs(entry - sl) / Math.abs(tp1 - sl);
}

/** Score minus chance: its lowest and highest possible value, and the lowest after costs. */
function excessOf({ position, exitPrice, gapMinutes, inDoubt, costBps }: Ended) {
  const { tp1, sl } = position;
  const chance = chanceOf(position);
  const excess = exitPrice === null ? -chance : (exitPrice - sl) / (tp1 - sl) - chance;
  const isDark = gapMinutes > MAX_GAP_MINUTES;
  const least = isDark ? Math.min(0, excess) : excess;
  const isUnknown = exitPrice === null || inDoubt === true;
  const most = isUnknown ? 1 - chance : isDark ? Math.max(0, excess) : excess;
  return { least, most, net: least - breakEvenOf(position, costBps) };
}

/** The costs as a share of the way from stop to target. */
function breakEvenOf({ entry, tp1, sl }: Position, costBps: number): number {
  return ((costBps / 10_000) * entry) / Math.abs(tp1 - sl);
}

/** The number of days, and the sums of the first four powers of their results. */
type Blocks = readonly [n: number, a: number, b: number, c: number, d: number];
const NONE: Blocks = [0, 0, 0, 0, 0];

function withDay([n, a, b, c, d]: Blocks, x: number): Blocks {
  return [n + 1, a + x, b + x ** 2, c + x ** 3, d + x ** 4];
}

/** The lowest possible excess of a day, before costs and after them. */
const LEAST = -(5 / 9) - 1e-6;
const LEAST_NET = -1 - 1e-6;
/** The shares that are staked, and the largest loss in a day: for days, and for differences of two. */
type Terms = { stakes: readonly number[]; boldest: number };
const TERMS: Terms = { stakes: [0.1, 0.2, 0.3, 0.4, 0.8, 1.2], boldest: 0.7 };
const OF_DIFFERENCES: Terms = { stakes: [0.17, 0.42, 0.7, 1.1, 1.6], boldest: 0.9 };
/** A difference of two excesses, scaled to lie within what an excess may be. */
const SCALE = 5 / 9 / (1 + 5 / 9);
/** From this wealth on, chance is ruled out. */
const DECISIVE = 20;
const GREATEST_E = 1e12;

/**
 * The logarithm of the least wealth of a gambler who began with 1 and staked on days above the mean `m`, or (-1) below it:
 * log(1 + u) is at least u - u²/2 + u³/3 - u⁴ h, with h = ∫₀¹ s³ / (1 - w s) ds where no u is below -w.
 */
function logWealth(
  [n, a, b, c, d]: Blocks,
  m: number,
  { sign, worst, terms: { stakes, boldest } }: { sign: 1 | -1; worst: number; terms: Terms },
): number {
  const first = sign * (a - n * m);
  const second = b - 2 * m * a + n * m ** 2;
  const third = sign * (c - 3 * m * b + 3 * m ** 2 * a - n * m ** 3);
  const fourth = d - 4 * m * c + 6 * m ** 2 * b - 4 * m ** 3 * a + n * m ** 4;
  const each = stakes.map((most) => {
    const stake = Math.min(most, boldest / worst);
    const w = stake * worst;
    let h = (-Math.log1p(-w) - w - w ** 2 / 2 - w ** 3 / 3) / w ** 4;
    // For a small w the closed form loses its digits.
    if (w < 0.05) h = [12, 11, 10, 9, 8, 7, 6, 5, 4].reduce((sum, k) => sum * w + 1 / k, 0);
    return Math.exp(
      stake * first - (stake ** 2 * second) / 2 + (stake ** 3 * third) / 3 - stake ** 4 * fourth * h,
    );
  });
  return Math.log(each.reduce((sum, one) => sum + one, 0) / stakes.length);
}

function eValueOf(blocks: Blocks, floor = LEAST, terms = TERMS): number {
  return Math.min(Math.exp(logWealth(blocks, 0, { sign: 1, worst: -floor, terms })), GREATEST_E);
}

/** The boundary between a mean that is ruled out and one that is not. */
function boundary(isRuledOut: (m: number) => boolean, outside: number, inside: number): number {
  if (!isRuledOut(outside)) return outside;
  let [out, within] = [outside, inside];
  for (let step = 0; step < 60; step++) {
    const middle = (out + within) / 2;
    if (isRuledOut(middle)) out = middle;
    else within = middle;
  }
  return within;
}

function meanOf([n, a]: Blocks): number {
  return n === 0 ? 0 : a / n;
}

type Days = { least: Blocks; most: Blocks; net: Blocks };
const NO_DAYS: Days = { least: NONE, most: NONE, net: NONE };

function withTrades(days: Days, trades: readonly Ended[], places: number): Days {
  const all = trades.map(excessOf);
  const mean = (of: keyof Days) => all.reduce((sum, one) => sum + one[of], 0) / places;
  return {
    least: withDay(days.least, mean("least")),
    most: withDay(days.most, mean("most")),
    net: withDay(days.net, mean("net")),
  };
}

type Pair = Pick<Days, "least" | "most">;

/** @param unit What a whole excess is worth. */
function boundsOf({ least, most }: Pair, terms = TERMS, unit = 1) {
  const limit = Math.log(DECISIVE);
  const below = (m: number) => logWealth(least, m, { sign: 1, worst: m - LEAST, terms }) >= limit;
  const above = (m: number) => logWealth(most, m, { sign: -1, worst: 1 - m, terms }) >= limit;
  const low = boundary(below, LEAST, meanOf(least));
  const high = boundary(above, 1, meanOf(most));
  return {
    days: least[0],
    excessPoints: least[0] === 0 ? null : 100 * unit * meanOf(least),
    ...{ lowPoints: 100 * unit * low, highPoints: 100 * unit * high },
  };
}

function differenceOf(pair: Pair) {
  const eValue = eValueOf(pair.least, LEAST, OF_DIFFERENCES);
  return { ...boundsOf(pair, OF_DIFFERENCES, 1 / SCALE), eValue };
}

/** Adds a day of trades against others; its sum is divided by the number of places. */
function withPairs({ least, most }: Pair, pairs: readonly (readonly [Ended, Ended])[], places: number): Pair {
  const both = pairs.map(([one, other]) => ({ one: excessOf(one), other: excessOf(other) }));
  const mean = (of: (pair: (typeof both)[number]) => number) => (SCALE * sum(both.map(of))) / places;
  const [worst, best] = [
    mean(({ one, other }) => one.least - other.most),
    mean(({ one, other }) => one.most - other.least),
  ];
  return { least: withDay(least, worst), most: withDay(most, best) };
}

/** With fewer results than this there is no record yet. */
const RECORD_FROM = 30;

function edgeOf(days: Days, results: number) {
  const eValue = eValueOf(days.least);
  const bounds = boundsOf(days);
  const afterCosts = {
    excessPoints: days.net[0] === 0 ? null : 100 * meanOf(days.net),
    eValue: eValueOf(days.net, LEAST_NET),
  };
  const verdict =
    results < RECORD_FROM
      ? "no record yet"
      : eValue >= DECISIVE
        ? afterCosts.eValue >= DECISIVE
          ? "better than chance"
          : "better before costs"
        : bounds.highPoints < 0
          ? "worse than chance"
          : "not told from chance";
  return { ...bounds, eValue, afterCosts, verdict };
}

function ratio(over: number, under: number): number | null {
  return under === 0 || !Number.isFinite(over / under) ? null : over / under;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A closed signal of any desk. */
type Past = Pick<Calibrated, "signal" | "entry" | "tp1" | "sl" | "confidence" | "calibratedConfidence"> &
  Pick<Issued, "costBps" | "generatedAt"> &
  Pick<Closed, "status" | "pnlPercent" | "exitPrice" | "gapMinutes" | "inDoubt" | "closedAt">;

function resultsOf(values: readonly number[]) {
  const [gains, losses] = [values.filter((one) => one > 0), values.filter((one) => one < 0)];
  return {
    ...{ totalPnlPercent: sum(values), expectancyPercent: ratio(sum(values), values.length) },
    bestPnlPercent: values.length === 0 ? null : Math.max(...values),
    worstPnlPercent: values.length === 0 ? null : Math.min(...values),
    profitFactor: ratio(sum(gains), -sum(losses)),
  };
}

function riskOf(values: readonly { result: number; closedAt: string }[]) {
  const n = values.length;
  if (n < RECORD_FROM) return { n, sharpe: null, sortino: null, maxDrawdown: null };
  const results = values.map(({ result }) => result);
  const mean = sum(results) / n;
  let [total, peak] = [0, 0];
  let peakAt: string | null = null;
  let maxDrawdown: { percent: number; peakAt: string | null; troughAt: string } | null = null;
  for (const { result, closedAt } of values) {
    total += result;
    if (peak - total > (maxDrawdown?.percent ?? 0))
      maxDrawdown = { percent: peak - total, peakAt, troughAt: closedAt };
    if (total > peak) [peak, peakAt] = [total, closedAt];
  }
  return {
    n,
    sharpe: ratio(mean, Math.sqrt(sum(results.map((one) => (one - mean) ** 2)) / (n - 1))),
    sortino: ratio(mean, Math.sqrt(sum(results.map((one) => Math.min(0, one) ** 2)) / n)),
    maxDrawdown,
  };
}

function calibrationOf(decided: readonly Past[]) {
  const stated = ({ confidence }: Past) => confidence;
  const calibrated = ({ calibratedConfidence }: Past) => calibratedConfidence;
  const won = ({ status: end }: Past) => (end === "WIN" ? 1 : 0);
  const squares = (of: (one: Past) => number) => sum(decided.map((one) => (of(one) / 100 - won(one)) ** 2));
  const n = decided.length;
  const levels = sum(decided.map((one) => (chanceIn(one) - won(one)) ** 2));
  /** The mean logarithm of the probability that was given to what happened, each at least half a percent. */
  const score = (of: (one: Past) => number) => {
    const given = (one: Past) => (won(one) === 1 ? of(one) : 100 - of(one));
    return ratio(sum(decided.map((one) => Math.log(Math.min(99.5, Math.max(0.5, given(one))) / 100))), n);
  };
  const skill = (of: (one: Past) => number) => (n < RECORD_FROM ? null : ratio(levels - squares(of), levels));
  return {
    n,
    ...{ skill: skill(stated), calibratedSkill: skill(calibrated) },
    ...{ brier: ratio(squares(stated), n), calibratedBrier: ratio(squares(calibrated), n) },
    logScore: {
      ...{ n, stated: score(stated), calibrated: score(calibrated) },
      chance: score((one) => 100 * chanceIn(one)),
    },
    bins: Array.from({ length: 10 }, (_, bin) => {
      const own = decided.filter(({ confidence }) => Math.min(9, Math.floor(confidence / 10)) === bin);
      return {
        ...{ from: bin * 10, to: (bin + 1) * 10, n: own.length },
        meanConfidence: ratio(sum(own.map(({ confidence }) => confidence)), own.length),
        winrate: ratio(100 * sum(own.map(won)), own.length),
      };
    }),
  };
}

function chanceIn(one: Omit<Levels, "tp2">): number {
  const position = positionOf(one);
  return position === null ? 0.5 : chanceOf(position);
}

type Outcome = { confidence: number; chance: number; won: number };

/**
 * A stated confidence calibrated by the outcomes before it, in percent: a logistic fit with the chance as offset and
 * a penalty on both coefficients.
 */
function calibratedBy(past: readonly Outcome[], confidence: number, chance: number): number {
  const n = past.length;
  if (n < RECORD_FROM)
    return (100 * (sum(past.map(({ won }) => won)) + RECORD_FROM * chance)) / (n + RECORD_FROM);
  const logOdds = (percent: number) => {
    const p = Math.min(99.5, Math.max(0.5, percent)) / 100;
    return Math.log(p / (1 - p));
  };
  const logistic = (z: number) => 1 / (1 + Math.exp(-z));
  const learned = past.map((one) => {
    const offset = logOdds(Math.round(100 * one.chance));
    return { offset, x: logOdds(one.confidence) - offset, won: one.won };
  });
  const penalty = RECORD_FROM / 4;
  let [a, b] = [0, 0];
  for (let step = 0; step < 50; step++) {
    const ps = learned.map(({ offset, x }) => logistic(offset + a * x + b));
    const over = (of: (one: (typeof learned)[number], p: number) => number) =>
      sum(learned.map((one, at) => of(one, ps[at] ?? NaN)));
    const ga = over(({ won, x }, p) => (won - p) * x) - penalty * a;
    const gb = over(({ won }, p) => won - p) - penalty * b;
    const haa = over(({ x }, p) => p * (1 - p) * x * x) + penalty;
    const hab = over(({ x }, p) => p * (1 - p) * x);
    const hbb = over((_one, p) => p * (1 - p)) + penalty;
    const determinant = haa * hbb - hab * hab;
    const [da, db] = [(hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant];
    [a, b] = [a + da, b + db];
    if (Math.abs(da) + Math.abs(db) < 1e-12) break;
  }
  const offset = logOdds(100 * chance);
  return 100 * logistic(offset + a * (logOdds(confidence) - offset) + b);
}

/** Calibrated confidences are rounded to a tenth. */
const TENTH = 0.1001;

type Calibrated = Pick<
  Issued,
  | "signal"
  | "entry"
  | "tp1"
  | "sl"
  | "confidence"
  | "calibratedConfidence"
  | "calibrationMethod"
  | "calibrationOutcomes"
>;

/** Checks calibrated confidences against the earlier outcomes of the same writer, and counts those of earlier methods. */
function calibrationFindings<One extends { kind: string; content: object }>(
  events: readonly One[],
  writtenBy: (one: One) => { issued: Calibrated; writer: string } | undefined,
  nameOf_: (one: One) => string,
): { problems: string[]; others: number } {
  const found: { problems: string[]; others: number } = { problems: [], others: 0 };
  const writers = new Map<string, Outcome[]>();
  for (const one of events) {
    const written = writtenBy(one);
    if (written === undefined) continue;
    const past = writers.get(written.writer) ?? [];
    writers.set(written.writer, past);
    const { confidence, calibratedConfidence, calibrationMethod, calibrationOutcomes: n } = written.issued;
    const chance = chanceIn(written.issued);
    const end = one.kind === "closed" && "status" in one.content ? one.content.status : null;
    if (end === "WIN" || end === "LOSS") past.push({ confidence, chance, won: end === "WIN" ? 1 : 0 });
    if (one.kind !== "issued") continue;
    if (calibrationMethod !== "shrinkage" && calibrationMethod !== "offset") {
      found.others += 1;
    } else if (n > past.length) {
      found.problems.push(
        `${nameOf_(one)}: it was calibrated by ${n} outcomes, and ${past.length} had been told`,
      );
    } else {
      const due = calibratedBy(past.slice(past.length - n), confidence, chance);
      if (Math.abs(due - calibratedConfidence) > TENTH)
        found.problems.push(
          `${nameOf_(one)}: its confidence is calibrated as ${calibratedConfidence}, its outcomes make it ${due.toFixed(1)}`,
        );
    }
  }
  return found;
}

function streaksOf(decided: readonly Past[]) {
  const longest = { WIN: 0, LOSS: 0 };
  type Streak = { outcome: "WIN" | "LOSS"; length: number };
  const [first] = decided;
  let current: Streak | null =
    first === undefined || first.status === "EXPIRED" ? null : { outcome: first.status, length: 0 };
  for (const { status: outcome } of decided) {
    if (outcome === "EXPIRED") continue;
    current = { outcome, length: current?.outcome === outcome ? current.length + 1 : 1 };
    longest[outcome] = Math.max(longest[outcome], current.length);
  }
  return { current, longestWins: longest.WIN, longestLosses: longest.LOSS };
}

/** A trade with its controls. */
type Trade = Ended & { coin: "BUY" | "SELL"; momentum: "BUY" | "SELL" | null; compared: Compared };

const ARMS = ["model", "coin", "momentum", "alwaysLong"] as const;

/** The trade as the model, a coin, the last day's direction and always long made it. */
function armTrades(trade: Trade): Record<(typeof ARMS)[number], Ended | null> {
  const { position, costBps, compared } = trade;
  const other = {
    ...{ position: mirrored(position), exitPrice: compared.mirrorExitPrice, costBps },
    ...{ gapMinutes: compared.gapMinutes, inDoubt: compared.mirrorInDoubt },
  };
  const of = (one: "BUY" | "SELL") => (one === position.signal ? trade : other);
  const momentum = trade.momentum === null ? null : of(trade.momentum);
  return { model: trade, coin: of(trade.coin), momentum, alwaysLong: of("BUY") };
}

function armPnl({ position, exitPrice }: Ended): number | null {
  return pnlOf(position.signal, position.entry, exitPrice);
}

function averagesOf(results: readonly { pnl: number | null; costBps: number }[]) {
  const priced = results.flatMap(({ pnl, costBps }) => (pnl === null ? [] : [{ pnl, costBps }]));
  const before = sum(priced.map(({ pnl }) => pnl));
  return {
    trades: priced.length,
    averageBeforeCostsPercent: ratio(before, priced.length),
    averageAfterCostsPercent: ratio(before - sum(priced.map(({ costBps }) => costBps / 100)), priced.length),
  };
}

/**
 * @param days The trades of each day that is over.
 * @param places What a day's sum is divided by; the number of its trades by default.
 */
function statisticsOf(past: readonly Past[], refused: number, days: readonly Trade[][], places?: number) {
  const count = (end: Status) => past.filter((one) => one.status === end && one.signal !== "HOLD").length;
  const trades = past.filter(({ signal }) => signal !== "HOLD");
  const priced = trades.flatMap((one) => (one.pnlPercent === null ? [] : [{ ...one, pnl: one.pnlPercent }]));
  const decided = trades.filter(({ status: end }) => end !== "EXPIRED");
  const dark = trades.filter(({ gapMinutes }) => gapMinutes > MAX_GAP_MINUTES);
  const after = priced.map(({ pnl, costBps, closedAt }) => ({ result: net(pnl, costBps) ?? 0, closedAt }));
  const pnls = (end: Status) => priced.filter((one) => one.status === end).map(({ pnl }) => pnl);
  const arms = days.map((day) => day.map(armTrades));
  const armOf = (arm: (typeof ARMS)[number]) => {
    const own = arms.map((day) => day.flatMap((one) => one[arm] ?? []));
    const sums = own
      .filter(({ length }) => length > 0)
      .reduce((all, day) => withTrades(all, day, places ?? day.length), NO_DAYS);
    const averages = averagesOf(own.flat().map((one) => ({ pnl: armPnl(one), costBps: one.costBps })));
    return { averages, sums };
  };
  const shown = (arm: (typeof ARMS)[number]) => ({ ...armOf(arm).averages, ...boundsOf(armOf(arm).sums) });
  const model = armOf("model");
  const pairedWith = (rival: "coin" | "alwaysLong") =>
    differenceOf(
      days
        .filter(({ length }) => length > 0)
        .reduce((all: Pair, day) => {
          const pairs = day.flatMap((trade): (readonly [Ended, Ended])[] => {
            const { model: own, [rival]: other } = armTrades(trade);
            const isSame = own === null || other === null || own.position.signal === other.position.signal;
            return isSame ? [] : [[own, other]];
          });
          return withPairs(all, pairs, places ?? day.length);
        }, NO_DAYS),
    );
  const edge = { trades: model.averages.trades, ...edgeOf(model.sums, priced.length) };
  const costs = sum(priced.map(({ pnl }) => pnl)) - sum(after.map(({ result }) => result));
  const openHours = sum(trades.map((one) => (Date.parse(one.closedAt) - Date.parse(one.generatedAt)) / HOUR));
  const buyAndHold = days.flat().map(({ position, compared, costBps }) => {
    return { pnl: pnlOf("BUY", position.entry, compared.holdExitPrice), costBps };
  });
  return {
    summary: summaryOf(edge.verdict, model.averages, armOf("coin").averages),
    ...{ n: past.length, wins: count("WIN"), losses: count("LOSS") },
    ...{ expired: past.length - decided.length, holds: past.length - trades.length, refusedDays: refused },
    gaps: {
      trades: dark.length,
      minutes: sum(trades.map(({ gapMinutes }) => gapMinutes)),
      sharePercent: ratio(100 * dark.length, trades.length),
    },
    edge,
    paired: { coin: pairedWith("coin"), alwaysLong: pairedWith("alwaysLong") },
    costsPercent: costs,
    exposure: { hours: openHours, averageHours: ratio(openHours, trades.length) },
    controls: {
      ...{ model: shown("model"), coin: shown("coin"), momentum: shown("momentum") },
      ...{ alwaysLong: shown("alwaysLong"), buyAndHold: averagesOf(buyAndHold) },
    },
    winrate: ratio(100 * count("WIN"), decided.length),
    trades: priced.length,
    beforeCosts: resultsOf(priced.map(({ pnl }) => pnl)),
    afterCosts: resultsOf(after.map(({ result }) => result)),
    averageWinPercent: ratio(sum(pnls("WIN")), count("WIN")),
    averageLossPercent: ratio(sum(pnls("LOSS")), count("LOSS")),
    ...{ risk: riskOf(after), streaks: streaksOf(decided), calibration: calibrationOf(decided) },
  };
}

const VERDICTS: Record<string, string> = {
  "no record yet": "Too early to call it anything",
  "better than chance": "Better than chance, after costs too",
  "better before costs": "Better than chance, but not by what it costs",
  "worse than chance": "Worse than chance",
  "not told from chance": "Too early to call it skill",
};
type Averages = ReturnType<typeof averagesOf>;

function summaryOf(verdict: string, model: Averages, coin: Averages): string {
  if (model.trades === 0) return "No day of trades is over yet.";
  const after = ({ trades, averageAfterCostsPercent }: Averages) => {
    const value = trades * (averageAfterCostsPercent ?? 0);
    const shown = Math.abs(value).toFixed(2);
    return shown === "0.00" ? "0.00 %" : `${value > 0 ? "+" : "−"}${shown} %`;
  };
  const n = `${model.trades} ${model.trades === 1 ? "trade" : "trades"}`;
  return `${n}: ${after(model)} after costs; a coin flip ${after(coin)}. ${VERDICTS[verdict] ?? ""}.`;
}

/** The paths at which two values differ; numbers that agree to six digits do not differ. */
function differences(told: unknown, due: unknown, path = ""): string[] {
  if (typeof told === "number" && typeof due === "number") {
    return Math.abs(told - due) <= 1e-6 * Math.max(1, Math.abs(due)) ? [] : [path];
  }
  if (!isObject(told) || !isObject(due)) return told === due ? [] : [path];
  const keys = new Set([...Object.keys(told), ...Object.keys(due)]);
  return [...keys].flatMap((key) =>
    differences(Reflect.get(told, key), Reflect.get(due, key), path === "" ? key : `${path}.${key}`),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

// 6. The daily signals.

/** What the events say of one signal. */
type Story = { issued?: Issued; closed?: Closed; compared?: Compared };
const TOKENS = ["BTC", "ETH"] as const;

function keyOf({ token, day }: { token: string; day: string }): string {
  return `${token} ${day}`;
}

function nameOf(one: Event): string {
  return `Event ${one.sequence} (${isOfDay(one) ? `${one.kind} ${keyOf(one.content)}` : one.kind})`;
}

/** What cannot be true in a record, whatever the market did; empty if everything fits together. */
export function problemsOfRecord(record: unknown, published?: string): string[] {
  const { events, head, signals, stats, cuts } = readRecord(record, "the record");
  const isKnown = published === undefined || events.some((one) => one.hash === published);
  return [
    ...chainProblems(events, head, nameOf),
    ...(isKnown
      ? []
      : [`The published head ${published} is not part of this chain: the events up to it were rewritten`]),
    ...storyProblems(events),
    ...dailyCalibrations(events).problems,
    ...shownProblems(events, signals),
    ...statisticsProblems(events, stats),
    ...cutFindings(events, cuts).problems.map((cut) => `The part “${cut}” does not follow from the events`),
  ];
}

function dailyCalibrations(events: readonly Event[]) {
  const stories = storiesOf(events);
  const writtenBy = (one: Event) => {
    const issued = isOfDay(one) ? stories.get(keyOf(one.content))?.issued : undefined;
    return issued === undefined ? undefined : { issued, writer: `${issued.model}@${issued.promptVersion}` };
  };
  return calibrationFindings(events, writtenBy, nameOf);
}

function shadowCalibrations(events: readonly ShadowEvent[]) {
  const shadows = shadowsIn(events);
  const writtenBy = (one: ShadowEvent) => {
    const issued = shadows.get(slotOf(one.content))?.issued;
    return issued === undefined ? undefined : { issued, writer: issued.arm };
  };
  return calibrationFindings(events, writtenBy, shadowName);
}

/**
 * Every signal must be issued once and by the rules, closed once and compared once; a change of its writer must be
 * recorded before.
 */
function storyProblems(events: readonly Event[]): string[] {
  const problems: string[] = [];
  const stories = new Map<string, Story>();
  const seen = new Set<string>();
  const refused = new Map<string, number>();
  let latest = -Infinity;
  let previous = GENESIS;
  let writer: z.output<typeof promotedShape> | null = null;
  let [last, isAnnounced, isChanged]: [Issued | null, boolean, boolean] = [null, false, false];
  for (const one of events) {
    const say = (found: readonly string[]) =>
      problems.push(...found.map((word) => `${nameOf(one)}: ${word}`));
    const before = previous;
    previous = one.hash;
    if (one.kind === "promoted") {
      say(promotionProblems(one.content, writer));
      writer = one.content;
      isAnnounced = true;
    }
    if (one.kind === "changed") isChanged = true;
    if (!isOfDay(one)) continue;
    const key = keyOf(one.content);
    const { token, refusedDays, promptVersion } = one.content;
    if (seen.has(`${one.kind} ${key}`)) say(["it had been told before"]);
    seen.add(`${one.kind} ${key}`);
    if (one.kind === "refused") refused.set(token, (refused.get(token) ?? 0) + 1);
    if (refusedDays !== (refused.get(token) ?? 0))
      say([`it tells of ${refusedDays} refused days, the events of ${refused.get(token) ?? 0}`]);
    const isNew = one.kind === "issued" || one.kind === "refused";
    if (isNew && writer !== null && !isChanged && promptVersion !== writer.promptVersion)
      say([`it was asked with ${promptVersion}, not with ${writer.promptVersion}, which had been promoted`]);
    const signal = stories.get(key)?.issued;
    if (one.kind === "issued") {
      const issuedAt = Date.parse(one.content.generatedAt);
      if (issuedAt < latest) problems.push(`${nameOf(one)} is older than an event before it`);
      latest = Math.max(latest, issuedAt);
      say(issueProblems(one.content, before));
      const { model, costBps } = one.content;
      const isOther = last !== null && (last.model !== model || last.promptVersion !== promptVersion);
      if (!isChanged && ((isOther && !isAnnounced) || (last !== null && last.costBps !== costBps)))
        say(["another model, prompt or cost than the signal's before it, and no event tells of the change"]);
      [last, isAnnounced, isChanged] = [one.content, false, false];
      stories.set(key, { issued: one.content });
    } else if (one.kind === "refused") {
      if (signal !== undefined) say(["on this day a signal was issued"]);
    } else {
      say(outcomeProblems(one, signal));
      if (one.kind === "compared" && signal?.signal === "HOLD") say(["a HOLD has no controls"]);
    }
  }
  return problems;
}

/** What is wrong with the end of a signal, or with its comparison, by its issue. */
function outcomeProblems(
  one: Extract<Event | PersonEvent, { kind: "closed" | "compared" }>,
  signal: Issued | undefined,
): string[] {
  if (signal === undefined) return ["this signal had not been issued before"];
  if (one.kind === "closed") return endProblems(signal, one.content);
  const position = positionOf(signal);
  const { mirrorStatus, mirrorExitPrice } = one.content;
  return position === null ? [] : levelEndProblems(mirrored(position), mirrorStatus, mirrorExitPrice);
}

function issueProblems(signal: Issued, previousHash: string): string[] {
  const { token, day, generatedAt, coin, momentum } = signal;
  const problems = ruleProblems(signal);
  if (signal.signal === "HOLD" && (coin !== null || momentum !== null))
    problems.push("a HOLD has no levels and no controls");
  const due = Number.parseInt(sha256(`${previousHash} ${token} ${day}`).slice(0, 1), 16) < 8 ? "BUY" : "SELL";
  if (signal.signal !== "HOLD" && coin !== due)
    problems.push(`its coin is told as ${coin}, the hash before it says otherwise`);
  if (day !== generatedAt.slice(0, 10)) problems.push(`it was issued at ${generatedAt}, not on its day`);
  return problems;
}

/** What is wrong with a promotion: its arm must have been shown to be better, or a reason must be given. */
function promotionProblems(
  promoted: z.output<typeof promotedShape>,
  writer: z.output<typeof promotedShape> | null,
): string[] {
  const { arm, model, promptVersion, previousModel, previousPromptVersion, eValue, needed, forced } =
    promoted;
  const problems: string[] = [];
  if (needed < DECISIVE) problems.push(`it needed an e-value of ${needed}, below ${DECISIVE}`);
  if (eValue < needed && forced === null)
    problems.push(`its e-value of ${eValue} is below the ${needed} needed, and no reason is given`);
  if (arm !== `${model}@${promptVersion}`) problems.push("its model and prompt are not those of its name");
  if (writer !== null && (writer.model !== previousModel || writer.promptVersion !== previousPromptVersion))
    problems.push(`${previousModel}@${previousPromptVersion} did not write the signals before it`);
  return problems;
}

function storiesOf(events: readonly (Event | DayEventOfPerson)[]): Map<string, Story> {
  const stories = new Map<string, Story>();
  for (const one of events) {
    if (one.kind === "issued" || one.kind === "closed" || one.kind === "compared") {
      const key = keyOf(one.content);
      stories.set(key, { ...stories.get(key), [one.kind]: one.content });
    }
  }
  return stories;
}

function tradeOf({ issued, closed, compared }: Story): Trade | null {
  const position = issued === undefined ? null : positionOf(issued);
  if (issued === undefined || closed === undefined || compared === undefined || position === null)
    return null;
  const { coin, momentum, costBps } = issued;
  const { exitPrice, gapMinutes, inDoubt } = closed;
  return coin === null
    ? null
    : { position, coin, momentum, costBps, exitPrice, gapMinutes, inDoubt, compared };
}

/** Checks the signals that callers are shown against the events. */
function shownProblems(events: readonly Event[], signals: SignalRecord["signals"]): string[] {
  const problems: string[] = [];
  const stories = storiesOf(events);
  const shown = new Set<string>();
  for (const signal of signals) {
    const key = keyOf({ token: signal.token, day: signal.generatedAt.slice(0, 10) });
    if (shown.has(key)) problems.push(`The signal ${key} is shown twice`);
    shown.add(key);
    const story = stories.get(key);
    if (story?.issued === undefined) {
      problems.push(`The signal ${key} is shown, but no event issued it`);
      continue;
    }
    for (const [field, due] of Object.entries(viewOf(story.issued, story))) {
      const given: unknown = Reflect.get(signal, field) ?? null;
      if (differences(given, due).length === 0) continue;
      const says = `${field} is shown as ${JSON.stringify(given)}, its events say ${JSON.stringify(due)}`;
      problems.push(
        `The signal ${key}: ${field === "controls" ? "its controls are not those of its events" : says}`,
      );
    }
  }
  for (const key of stories.keys())
    if (!shown.has(key)) problems.push(`The signal ${key} was issued, but is not shown`);
  return problems;
}

/** A signal as its events describe it; `null` for what they do not hold. */
function viewOf(issued: Issued, { closed, ...story }: Story): Record<string, unknown> {
  const { token, timeframe, signal, entry, tp1, tp2, sl, confidence, calibratedConfidence, reasoning } =
    issued;
  const { generatedAt, expiresAt, model, promptVersion, costBps } = issued;
  const position = positionOf(issued);
  const points = (share: number) => Number((100 * share).toFixed(6));
  const trade = tradeOf({ issued, ...(closed === undefined ? {} : { closed }), ...story });
  return {
    ...{ token, timeframe, signal, entry, tp1, tp2, sl, confidence, reasoning },
    calibratedConfidence: issued.calibrationOutcomes < RECORD_FROM ? null : calibratedConfidence,
    ...{ generatedAt, expiresAt, model, promptVersion, costPercent: costBps / 100 },
    chancePercent: position === null ? null : points(chanceOf(position)),
    breakEvenPercent: position === null ? null : points(chanceOf(position) + breakEvenOf(position, costBps)),
    ...{ status: closed?.status ?? "PENDING", closedAt: closed?.closedAt ?? null },
    ...{ decidedBy: closed?.decidedBy ?? null, exitPrice: closed?.exitPrice ?? null },
    ...{
      pnlPercent: closed?.pnlPercent ?? null,
      afterCostsPercent: net(closed?.pnlPercent ?? null, costBps),
    },
    ...(closed === undefined ? {} : { gapMinutes: closed.gapMinutes }),
    excessPoints:
      closed === undefined || position === null
        ? null
        : points(excessOf({ position, ...closed, costBps }).least),
    controls: trade === null ? null : controlsOf(trade),
  };
}

function controlsOf(trade: Trade) {
  const arms = armTrades(trade);
  const { costBps, position } = trade;
  const shown = (one: Ended | null) => {
    if (one === null) return null;
    const pnlPercent = armPnl(one);
    return { signal: one.position.signal, pnlPercent, afterCostsPercent: net(pnlPercent, costBps) };
  };
  const pnlOfHolding = pnlOf("BUY", position.entry, trade.compared.holdExitPrice);
  return {
    ...{ coin: shown(arms.coin), momentum: shown(arms.momentum), alwaysLong: shown(arms.alwaysLong) },
    buyAndHold: { signal: "BUY", pnlPercent: pnlOfHolding, afterCostsPercent: net(pnlOfHolding, costBps) },
  };
}

/** Checks the statistics that callers are shown against those of the events. */
function statisticsProblems(events: readonly Event[], stats: SignalRecord["stats"]): string[] {
  if (stats === undefined) return [];
  return (["BTC", "ETH", "ALL"] as const).flatMap((scope) => {
    const due = statisticsIn(events, scope);
    const isWhole = scoredIn(stats[scope]) >= due.calibration.logScore.n;
    const wrong = differences(stats[scope], due).filter(
      (path) => isWhole || !/^(?:paired|exposure|calibration\.logScore)\./.test(path),
    );
    if (wrong.length === 0) return [];
    return [
      `The statistics shown for ${scope} do not follow from the events: ${wrong.slice(0, 3).join(", ")}`,
    ];
  });
}

/** The number of trades for which a deployment has logarithmic scores: those since it keeps them. */
function scoredIn(stats: unknown): number {
  const parsed = z
    .object({ calibration: z.object({ logScore: z.object({ n: z.number() }) }) })
    .safeParse(stats);
  return parsed.success ? parsed.data.calibration.logScore.n : 0;
}

/**
 * @param scope All signals, those of a token, or a part of them.
 * @param isCounted Which days of a person's arm count; a day of the daily signals counts when each token has its end.
 */
function statisticsIn(
  events: readonly (Event | DayEventOfPerson)[],
  scope: "BTC" | "ETH" | "ALL" | ((issued: Issued) => boolean),
  isCounted?: (day: string) => boolean,
) {
  const stories = storiesOf(events);
  const isOf = ({ token }: { token: string }) =>
    typeof scope === "function" || scope === "ALL" || token === scope;
  const isIn = (issued: Issued) => isOf(issued) && (typeof scope !== "function" || scope(issued));
  const past = events.flatMap((one): Past[] => {
    const issued = isOfDay(one) ? stories.get(keyOf(one.content))?.issued : undefined;
    if (one.kind !== "closed" || issued === undefined || !isIn(issued)) return [];
    return [{ ...issued, ...one.content, signal: issued.signal }];
  });
  const refusals = events.flatMap((one) => (one.kind === "refused" ? [one.content] : []));
  const refused = new Set(refusals.map(keyOf));
  const isOver = (key: string) => {
    const { issued, closed, compared } = stories.get(key) ?? {};
    return (
      refused.has(key) || (closed !== undefined && (issued?.signal === "HOLD" || compared !== undefined))
    );
  };
  const isWhole = (key: string) => isOver(key) || (isCounted !== undefined && !stories.has(key));
  const days = [...new Set(events.flatMap((one) => (isOfDay(one) ? [one.content.day] : [])))];
  const counted = days
    .filter((day) => (isCounted?.(day) ?? true) && TOKENS.every((token) => isWhole(keyOf({ token, day }))))
    .map((day) =>
      TOKENS.flatMap((token) => {
        const story = stories.get(keyOf({ token, day })) ?? {};
        return story.issued !== undefined && isIn(story.issued) ? (tradeOf(story) ?? []) : [];
      }),
    );
  const places = isCounted === undefined ? undefined : TOKENS.length;
  return statisticsOf(past, refusals.filter(isOf).length, counted, places);
}

/** Bands of the price's volatility, percent a year. */
const REGIMES: Record<string, (volatility: number) => boolean> = {
  calm: (volatility) => volatility < 35,
  usual: (volatility) => volatility >= 35 && volatility < 65,
  wild: (volatility) => volatility >= 65,
};

/**
 * Whether a signal belongs to a part of a record: of a side, of a band of volatility, or of one model with one
 * prompt.
 */
function isInCut(cut: string): (issued: Issued) => boolean {
  if (cut === "BUY" || cut === "SELL") return ({ signal }) => signal === cut;
  const isRegime = REGIMES[cut];
  return isRegime === undefined
    ? ({ model, promptVersion }) => `${model}@${promptVersion}` === cut
    : ({ volatility }) => typeof volatility === "number" && isRegime(volatility);
}

/** Checks the parts that are shown: which do not follow from the events, and which cover fewer or other signals. */
function cutFindings(
  events: readonly (Event | DayEventOfPerson)[],
  cuts: readonly z.output<typeof cutShape>[] = [],
  isCounted?: (day: string) => boolean,
): { problems: string[]; later: string[] } {
  const found: { problems: string[]; later: string[] } = { problems: [], later: [] };
  const isTold = events.every(({ kind, content }) => kind !== "issued" || "volatility" in content);
  for (const { cut, ...shown } of cuts) {
    const isRegime = Object.hasOwn(REGIMES, cut);
    const { afterCosts, ...told } = statisticsIn(events, isInCut(cut), isCounted);
    const { n, wins, losses, expired, trades, edge } = told;
    const averageAfterCostsPercent = afterCosts.expectancyPercent;
    const due = { n, wins, losses, expired, trades, edge, averageAfterCostsPercent };
    const wrong = differences(shown, due).filter(
      (path) => isCounted === undefined || path !== "edge.verdict",
    );
    if (wrong.length === 0) continue;
    // A deployment shows parts since it keeps them, and not all events have the volatility.
    const isLater = shown.n < n || (isRegime && !isTold);
    (isLater ? found.later : found.problems).push(cut);
  }
  return found;
}

/** A signal is closed by then even if nobody could price it: 12 hours after its issue, and a margin. */
const CLOSED_AFTER_MS = 15 * HOUR;
/** A day's signals are issued, or given up, by then. */
const ISSUED_AFTER_MS = 10 * HOUR;
/** How often a record may be set back to a backup. */
const RESTORES_A_YEAR = 2;

/** What a record leaves out: days, ends, and what was lost when it was set back. */
function absenceProblems(events: readonly Event[], now: number): string[] {
  const problems: string[] = [];
  const stories = storiesOf(events);
  for (const [key, { issued, closed, compared }] of stories) {
    if (issued === undefined || now < Date.parse(issued.generatedAt) + CLOSED_AFTER_MS) continue;
    if (closed === undefined)
      problems.push(`The signal ${key} was never closed: it was issued at ${issued.generatedAt}`);
    else if (issued.signal !== "HOLD" && compared === undefined)
      problems.push(`The signal ${key} was never compared with its controls`);
  }
  const days = events.flatMap((one) => (isOfDay(one) ? [one.content] : []));
  const known = new Set(days.map(keyOf));
  const first = days.map(({ day }) => day).toSorted()[0];
  if (first !== undefined) {
    for (let start = Date.parse(first); start + ISSUED_AFTER_MS <= now; start += DAY) {
      for (const token of TOKENS) {
        const key = keyOf({ token, day: new Date(start).toISOString().slice(0, 10) });
        if (!known.has(key))
          problems.push(`Nothing is told of ${key}: a day has a signal, or an event that it got none`);
      }
    }
  }
  const restores = restoresIn(events);
  if (
    restores.some(({ at: time }, index) => {
      const before = restores[index - RESTORES_A_YEAR];
      return before !== undefined && time - before.at < 365 * DAY;
    })
  ) {
    problems.push(`The record was set back ${restores.length} times: more often than backups are needed`);
  }
  return problems;
}

/** When the record was set back to a backup. */
function restoresIn(events: readonly Event[]) {
  return events.flatMap((one) =>
    one.kind === "restored" ? [{ at: Date.parse(one.content.at), reason: one.content.reason }] : [],
  );
}

// 7. The shadow signals.

/** Issued before 17:00 UTC: ended before the next day's begin. Three tokens an hour. */
const COUNTED_MS = 17 * HOUR;
const SLOTS = 17 * 3;
/** A tick counts one day, so this many finished days may be missing from the figures. */
const LATE_DAYS = 3;

type ShadowIssued = Extract<ShadowEvent, { kind: "issued" }>["content"];
type ShadowClosed = Extract<ShadowEvent, { kind: "closed" }>["content"];
type Shadow = { issued: ShadowIssued; closed?: ShadowClosed };

function slotOf({ arm, token, hour }: { arm: string; token: string; hour: string }): string {
  return `${arm} ${token} ${hour}`;
}

function shadowName({ sequence, kind, content }: ShadowEvent): string {
  return `event ${sequence} (${kind} ${slotOf(content)})`;
}

/** What is wrong with the shadow signals and their figures; empty if everything fits together. */
export function problemsOfShadows(shadow: unknown, main: unknown): string[] {
  const { events, head, arms, writer } = shadowRecord.parse(shadow);
  const record = z.array(event).parse(main);
  return [
    ...chainProblems(events, head, shadowName),
    ...record.flatMap((one) => {
      if (one.kind !== "shadow" || events[one.content.shadowSequence - 1]?.hash === one.content.shadowHash)
        return [];
      return [
        `Event ${one.sequence} of the record fixed their event ${one.content.shadowSequence}, which has another hash now`,
      ];
    }),
    ...shadowStoryProblems(events),
    ...shadowCalibrations(events).problems,
    ...figureProblems(events, arms, writer),
    ...evidenceProblems(events, record),
  ].map((problem) => `Shadow signals: ${problem}`);
}

function shadowsIn(events: readonly ShadowEvent[]): Map<string, Shadow> {
  const shadows = new Map<string, Shadow>();
  for (const one of events) {
    const slot = slotOf(one.content);
    if (one.kind === "issued") shadows.set(slot, { issued: one.content });
    const begun = shadows.get(slot);
    if (one.kind === "closed" && begun !== undefined) shadows.set(slot, { ...begun, closed: one.content });
  }
  return shadows;
}

function shadowStoryProblems(events: readonly ShadowEvent[]): string[] {
  const problems: string[] = [];
  const issued = new Map<string, ShadowIssued>();
  const seen = new Set<string>();
  for (const one of events) {
    const say = (found: readonly string[]) =>
      problems.push(...found.map((word) => `${shadowName(one)}: ${word}`));
    const slot = slotOf(one.content);
    const what = `${one.kind === "closed" ? "closed" : "opened"} ${slot}`;
    if (seen.has(what)) say(["it had been told before"]);
    seen.add(what);
    if (one.kind === "issued") {
      const { arm, hour, promptVersion, generatedAt } = one.content;
      issued.set(slot, one.content);
      say(ruleProblems(one.content));
      if (!arm.endsWith(`@${promptVersion}`)) say([`it was asked with ${promptVersion}`]);
      if (generatedAt.slice(0, 13) !== hour.slice(0, 13))
        say([`it was issued at ${generatedAt}, not in its hour`]);
    } else if (one.kind === "closed") {
      const signal = issued.get(slot);
      say(
        signal === undefined ? ["this signal had not been issued before"] : endProblems(signal, one.content),
      );
    }
  }
  return problems;
}

/** The days in order, with the results of each arm, up to the first day with an open signal in its counted hours. */
function shadowDays(shadows: readonly Shadow[]): { day: number; arms: Map<string, Map<string, Ended>> }[] {
  const days = new Map<number, Shadow[]>();
  for (const one of shadows) {
    const hour = Date.parse(one.issued.hour);
    const day = hour - (hour % DAY);
    days.set(day, [...(days.get(day) ?? []), ...(hour - day < COUNTED_MS ? [one] : [])]);
  }
  const counted: { day: number; arms: Map<string, Map<string, Ended>> }[] = [];
  for (const [day, all] of [...days].toSorted(([one], [other]) => one - other)) {
    if (all.some(({ closed }) => closed === undefined)) break;
    const arms = new Map<string, Map<string, Ended>>();
    for (const { issued, closed } of all) {
      const own = arms.get(issued.arm) ?? new Map<string, Ended>();
      arms.set(issued.arm, own);
      const position = positionOf(issued);
      const { costBps, hour, token } = issued;
      if (closed === undefined) continue;
      const { exitPrice, gapMinutes, inDoubt } = closed;
      // Without a position it is an answer that gains and loses nothing.
      const none: Position = { signal: "BUY", entry: 1, tp1: 2, sl: 0 };
      const ended = { costBps, exitPrice, gapMinutes, inDoubt, position: position ?? none };
      own.set(`${hour} ${token}`, position === null ? { ...ended, ...FLAT } : ended);
    }
    counted.push({ day, arms });
  }
  return counted;
}
/** Ends where it began, at no cost. */
const FLAT = { costBps: 0, exitPrice: 1, gapMinutes: 0, inDoubt: false };

/** What one arm has shown against another on these days. */
function pairOf(days: ReturnType<typeof shadowDays>, arm: string, other: string) {
  let shown: Pair = { least: NONE, most: NONE };
  for (const { arms } of days) {
    const [own, theirs] = [arms.get(arm), arms.get(other)];
    if (own === undefined || theirs === undefined) continue;
    const pairs = [...own].flatMap(([slot, one]) => {
      const against = theirs.get(slot);
      return against === undefined ? [] : [[one, against] as const];
    });
    shown = withPairs(shown, pairs, SLOTS);
  }
  return shown;
}

/** Checks the figures of every arm against its events. */
function figureProblems(
  events: readonly ShadowEvent[],
  arms: z.output<typeof shadowRecord>["arms"],
  writer: string,
): string[] {
  const shadows = shadowsIn(events);
  const days = shadowDays([...shadows.values()]);
  const wrong = (late: number) =>
    arms.filter(
      (arm) =>
        differences(
          shownOf(arm),
          figuresOf(arm.arm, { events, shadows, days: days.slice(0, days.length - late), writer }),
        ).length > 0,
    );
  const tries = Array.from({ length: Math.min(LATE_DAYS, days.length) + 1 }, (_, late) => wrong(late));
  const best = tries.toSorted((one, other) => one.length - other.length)[0] ?? [];
  return best.map(({ arm }) => `the figures shown for ${arm} do not follow from its events`);
}

const FIGURES = [
  ...["n", "holds", "wins", "losses", "expired", "missed", "excessPoints", "averageBeforeCostsPercent"],
  ...["averageAfterCostsPercent", "edge", "calibration"],
];

function shownOf(arm: Record<string, unknown>) {
  const { needed: _, ...pair } = { ...(isObject(arm["againstWriter"]) ? arm["againstWriter"] : {}) } as {
    needed?: unknown;
  };
  const against = arm["againstWriter"] === null ? null : pair;
  return { ...Object.fromEntries(FIGURES.map((name) => [name, arm[name]])), against };
}

function figuresOf(
  arm: string,
  {
    events,
    shadows,
    days,
    writer,
  }: {
    events: readonly ShadowEvent[];
    shadows: ReadonlyMap<string, Shadow>;
    days: ReturnType<typeof shadowDays>;
    writer: string;
  },
) {
  const past = events.flatMap((one): Past[] => {
    const issued = shadows.get(slotOf(one.content))?.issued;
    if (one.kind !== "closed" || one.content.arm !== arm || issued === undefined) return [];
    return [{ ...issued, ...one.content, signal: issued.signal }];
  });
  const statistics = statisticsOf(past, 0, []);
  const trades = past.flatMap((one) => {
    const position = positionOf(one);
    return position === null ? [] : [{ ...one, position }];
  });
  const own = days.flatMap(({ arms }) => arms.get(arm) ?? []).map((day) => [...day.values()]);
  const sums = own
    .filter(({ length }) => length > 0)
    .reduce((all, day) => withTrades(all, day, SLOTS), NO_DAYS);
  const pair = pairOf(days, arm, writer);
  const { brier, calibratedBrier } = statistics.calibration;
  return {
    ...{ n: statistics.n, holds: statistics.holds, wins: statistics.wins, losses: statistics.losses },
    expired: statistics.expired - statistics.holds,
    missed: events.filter((one) => one.kind === "missed" && one.content.arm === arm).length,
    excessPoints: ratio(100 * sum(trades.map((one) => excessOf(one).least)), trades.length),
    averageBeforeCostsPercent: statistics.beforeCosts.expectancyPercent,
    averageAfterCostsPercent: statistics.afterCosts.expectancyPercent,
    edge: edgeOf(sums, statistics.trades),
    calibration: { n: statistics.calibration.n, brier, calibratedBrier },
    against: arm === writer || pair.least[0] === 0 ? null : { ...differenceOf(pair), writer },
  };
}

/** Checks that promotions rest on what the arms had shown by then. */
function evidenceProblems(events: readonly ShadowEvent[], main: readonly Event[]): string[] {
  const days = shadowDays([...shadowsIn(events).values()]);
  return main.flatMap((one) => {
    if (one.kind !== "promoted") return [];
    const { arm, previousModel, previousPromptVersion, eValue, at: time } = one.content;
    const against = `${previousModel}@${previousPromptVersion}`;
    const before = days.filter(({ day }) => day + DAY <= Date.parse(time));
    const both = before.filter(({ arms }) => arms.has(arm) && arms.has(against)).slice(0, one.content.days);
    const { least } = pairOf(both, arm, against);
    const due = eValueOf(least, LEAST, OF_DIFFERENCES);
    // Earlier versions used the smaller stakes of days for differences, too.
    const isDue = [due, eValueOf(least)].some((value) => differences(eValue, value).length === 0);
    const problems: string[] = [];
    if (both.length !== one.content.days || !isDue)
      problems.push(
        `${arm} was promoted with an e-value of ${eValue} over ${one.content.days} days; its signals against ${against} say ${due.toFixed(4)} over ${both.length}`,
      );
    // If several arms are compared, one of them seems good sooner. Days after its last one may not have been counted yet.
    const until = both.at(-1)?.day ?? -Infinity;
    const rivals = new Set(
      before.flatMap(({ day, arms }) => (day <= until && arms.has(against) ? [...arms.keys()] : [])),
    );
    const needed = DECISIVE * Math.max(1, rivals.size - 1);
    if (one.content.needed < needed)
      problems.push(`${arm} was promoted as if ${one.content.needed} were needed; ${needed} were`);
    return problems;
  });
}

// 8. People's signals: the same events, of an arm that a person has begun.

function personName(one: PersonEvent): string {
  const key = one.kind === "begun" ? "" : ` ${keyOf(one.content)}`;
  return `Event ${one.sequence} of people's chain (${one.kind} ${one.content.arm}${key})`;
}

/** The events of each arm's signals, in order. */
function byArm(events: readonly PersonEvent[]): Map<string, DayEventOfPerson[]> {
  const arms = new Map<string, DayEventOfPerson[]>();
  for (const one of events) {
    const before = arms.get(one.content.arm) ?? [];
    arms.set(one.content.arm, one.kind === "begun" ? before : [...before, one]);
  }
  return arms;
}

function problemsOfPeople(
  people: z.output<typeof peopleRecord>,
  main: readonly Event[],
  now: number,
): string[] {
  const { events, head, stats, cuts = {} } = people;
  const problems = [...chainProblems(events, head, personName), ...personStoryProblems(events, now)];
  for (const one of main) {
    if (one.kind !== "people") continue;
    const { peopleSequence, peopleHash } = one.content;
    if (events[peopleSequence - 1]?.hash !== peopleHash)
      problems.push(`${nameOf(one)} holds another hash than event ${peopleSequence} of people's chain`);
  }
  for (const [arm, own] of byArm(events)) {
    const shown = stats[arm];
    // A tick counts the days that are over, and it may not have counted the last ones yet.
    const isShown = Array.from({ length: LATE_DAYS + 1 }).some((_, late) => {
      const isCounted = (day: string) => Date.parse(day) + (late + 1) * DAY <= now;
      const due = statisticsIn(own, "ALL", isCounted);
      // The threshold for "better" grows with the number of arms of an owner, which is not public.
      const isSame = differences(shown, due).every((path) => path === "edge.verdict" || path === "summary");
      return isSame && cutFindings(own, cuts[arm], isCounted).problems.length === 0;
    });
    if (!isShown) problems.push(`The statistics shown for ${arm} do not follow from its events`);
  }
  return problems;
}

function personStoryProblems(events: readonly PersonEvent[], now: number): string[] {
  const problems: string[] = [];
  const begun = new Set<string>();
  const stories = new Map<string, Story>();
  let previous = GENESIS;
  for (const one of events) {
    const say = (found: readonly string[]) =>
      problems.push(...found.map((word) => `${personName(one)}: ${word}`));
    const before = previous;
    previous = one.hash;
    const { arm } = one.content;
    if (one.kind === "begun") {
      if (begun.has(arm)) say(["this arm had been begun before"]);
      begun.add(arm);
      continue;
    }
    if (!begun.has(arm)) say(["no event began its arm"]);
    const key = `${arm} ${keyOf(one.content)}`;
    const story = stories.get(key) ?? {};
    if (story[one.kind] !== undefined) say(["it had been told before"]);
    stories.set(key, { ...story, [one.kind]: one.content });
    say(one.kind === "issued" ? issueProblems(one.content, before) : outcomeProblems(one, story.issued));
  }
  for (const [key, { issued, closed, compared }] of stories) {
    if (issued === undefined || now < Date.parse(issued.generatedAt) + CLOSED_AFTER_MS) continue;
    if (closed === undefined || compared === undefined)
      problems.push(
        `The signal ${key} was never closed and compared: it was issued at ${issued.generatedAt}`,
      );
  }
  return problems;
}

// 9. The market.

/** Minutes of a token that open in [from, to], epoch ms. @throws Unreadable */
export type Market = (token: string, from: number, to: number) => Promise<Minute[]>;

type Bet = {
  name: string;
  issued: Issued | ShadowIssued;
  closed: Closed | ShadowClosed | undefined;
  compared: Compared | undefined;
};
/** The largest distance of a measured price from the minute's range: of the same venue, and of another. */
const OWN_VENUE = 0.0005;
const OTHER_VENUE = 0.002;
/** The largest distance of an exit from the minute's close. */
const CLOSE_HAIR = 0.0005;

type Seen = {
  problems: string[];
  checked: number;
  unseen: string[];
  /**
   * Signals with recorded gaps although the market has every minute: late candles, or a loss that was meant to count
   * as chance.
   */
  gapless: string[];
};

/** Works entries and ends out again from the market's minutes. */
async function marketFindings(bets: readonly Bet[], market: Market): Promise<Seen> {
  const found: Seen = { problems: [], checked: 0, unseen: [], gapless: [] };
  for (const bet of bets) {
    const [from, to] = [Date.parse(bet.issued.generatedAt), Date.parse(bet.issued.expiresAt)];
    const seenAt = Date.parse(bet.issued.priceObservedAt);
    const candles = await market(bet.issued.token, Math.min(from, seenAt) - 2 * MINUTE, to);
    const minutes = new Map(candles.map((one) => [one.openedAt, one]));
    const say = (problem: string | null) => {
      if (problem !== null) found.problems.push(`${bet.name}: ${problem}`);
    };
    const around = [-1, 0, 1].flatMap(
      (n) => minutes.get(Math.floor(seenAt / MINUTE) * MINUTE + n * MINUTE) ?? [],
    );
    const isEntrySeen = around.length > 0;
    if (isEntrySeen) say(entryProblem(bet.issued, around));
    const position = positionOf(bet.issued);
    const end = endBy(minutes, { from, to }, position);
    const holding = endBy(minutes, { from, to }, null);
    if (bet.closed !== undefined && end !== null) {
      say(differenceFrom(end, bet.closed, bet.issued.entry));
      if (bet.closed.gapMinutes > MAX_GAP_MINUTES) found.gapless.push(bet.name);
    }
    if (bet.compared !== undefined && position !== null) {
      const mirror = endBy(minutes, { from, to }, mirrored(position));
      const {
        mirrorStatus: status_,
        mirrorExitPrice: exitPrice,
        mirrorInDoubt: inDoubt,
        holdExitPrice,
      } = bet.compared;
      const other =
        mirror === null
          ? null
          : differenceFrom(mirror, { status: status_, exitPrice, inDoubt }, bet.issued.entry);
      say(other === null ? null : `the trade the other way round: ${other}`);
      if (holding !== null && !isNear(holdExitPrice, holding.exitPrice, bet.issued.entry))
        say(`at its expiry the market stood at ${holding.exitPrice}, not at ${holdExitPrice}`);
    }
    const isWhole =
      isEntrySeen &&
      (bet.closed === undefined || end !== null) &&
      (bet.compared === undefined || holding !== null);
    if (isWhole) found.checked += 1;
    else found.unseen.push(bet.name);
  }
  return found;
}

function entryProblem(
  { entry, priceSource, priceObservedAt }: Bet["issued"],
  around: readonly Minute[],
): string | null {
  const hair = entry * (priceSource === "coinbase" ? OWN_VENUE : OTHER_VENUE);
  const low = Math.min(...around.map((one) => one.low));
  const high = Math.max(...around.map((one) => one.high));
  if (entry >= low - hair && entry <= high + hair) return null;
  return `it was entered at ${entry}; at ${priceObservedAt} the market stood between ${low} and ${high}`;
}

function isNear(told: number | null, due: number, entry: number): boolean {
  return told !== null && Math.abs(told - due) <= CLOSE_HAIR * entry;
}

function differenceFrom(
  due: End,
  told: { status: Status; exitPrice: number | null; inDoubt?: boolean | undefined; closedAt?: string },
  entry: number,
): string | null {
  const { status: end, exitPrice, closedAt, inDoubt } = told;
  if (end !== due.status) return `the market's minutes say ${due.status}, not ${end}`;
  if (!isNear(exitPrice, due.exitPrice, entry))
    return `by the market's minutes it ended at ${due.exitPrice}, not at ${exitPrice}`;
  if (closedAt !== undefined && Math.abs(Date.parse(closedAt) - due.closedAt) > MINUTE)
    return `by the market's minutes it ended at ${new Date(due.closedAt).toISOString()}, not at ${closedAt}`;
  if (inDoubt !== undefined && inDoubt !== due.inDoubt)
    return `the order of its touches is told as ${inDoubt ? "unknown" : "known"}, the market's minutes say otherwise`;
  return null;
}

function betsOf({ events, shadow, people }: Pick<SignalRecord, "events" | "shadow" | "people">): Bet[] {
  const daily = [...storiesOf(events)].flatMap(([key, { issued, closed, compared }]): Bet[] =>
    issued === undefined ? [] : [{ name: `The signal ${key}`, issued, closed, compared }],
  );
  const shadows = [...shadowsIn(shadow?.events ?? [])].map(([slot, { issued, closed }]): Bet => {
    return { name: `The shadow signal ${slot}`, issued, closed, compared: undefined };
  });
  const own = [...byArm(people?.events ?? [])].flatMap(([arm, told]) =>
    [...storiesOf(told)].flatMap(([key, { issued, closed, compared }]): Bet[] =>
      issued === undefined ? [] : [{ name: `The signal ${key} of ${arm}`, issued, closed, compared }],
    ),
  );
  return [...daily, ...shadows, ...own];
}

// 10. The anchors.

type Mined = { hash: string; from: string; nonce: number; data: string; succeeded: boolean; minedAt: Date };

export interface ChainReader {
  /** `null` for a hash that is in no block. */
  mined(txHash: string): Promise<Mined | null>;
  /** The mined transaction of an account with a nonce; `null` if it cannot be found. */
  sent(address: string, nonce: number): Promise<Mined | null>;
  /** How many transactions of an account are mined. */
  count(address: string): Promise<number>;
}

export type AnchorFindings = {
  problems: string[];
  /** What is worth knowing and no alarm. */
  notes: string[];
  unchecked: string[];
  /** Events that cannot have been rewritten since, oldest first. */
  fixed: { sequence: number; since: Date }[];
};

/** This share and number of signals may be anchored after their outcome: a node may fail once in a while. */
const BEHIND_SHARE = 0.1;
const BEHIND_FEW = 2;

/**
 * Checks a record's events against what Base holds of them. Only the chain counts: what a deployment says of its anchors
 * only tells where to look first.
 */
export async function anchorFindings(
  record: unknown,
  addresses: readonly string[],
  chain: ChainReader,
): Promise<AnchorFindings> {
  const read = readRecord(record, "the record");
  const { events, anchors = [] } = read;
  const found: AnchorFindings = { problems: [], notes: [], unchecked: [], fixed: [] };
  const restores = restoresIn(events);
  let lost = 0;
  for (const address of addresses) {
    const shown = anchors.find((one) => one.address.toLowerCase() === address.toLowerCase())?.anchors ?? [];
    // Asked first: what is mined between two questions is only late.
    const count = await chain.count(address);
    let kept = 0;
    for (let nonce = 0; nonce < count; nonce++) {
      const name = `The transaction with nonce ${nonce} of ${address}`;
      const hashes = shown.find((one) => one.nonce === nonce)?.txHashes ?? [];
      const mined = await firstMined(hashes, address, nonce, chain);
      // The record has lost what was sent between a backup and the return to it.
      const isHidden = read.anchors !== undefined && (hashes.length === 0 || mined === null);
      if (isHidden && restores.length === 0)
        found.problems.push(`${name} was mined, and the record does not show it`);
      if (mined === null) {
        found.unchecked.push(`${name}, which the RPC does not find`);
        continue;
      }
      if (mined.nonce !== nonce || mined.from.toLowerCase() !== address.toLowerCase()) {
        found.problems.push(`${name} is told to be one of somebody else's`);
        continue;
      }
      const head = mined.succeeded ? textOf(mined.data) : null;
      const since = mined.minedAt;
      if (head === null) found.notes.push(`${name} was mined and holds nothing`);
      else if (events[head.sequence - 1]?.hash === head.hash) {
        found.fixed.push({ sequence: head.sequence, since });
        kept = Math.max(kept, head.sequence);
      } else if (head.sequence > kept && isLost(since.getTime(), restores)) lost += 1;
      else
        found.problems.push(
          `${name} holds ${head.hash} for event ${head.sequence} since ${since.toISOString()}, this record has ${events[head.sequence - 1]?.hash ?? "no such event"}: history was rewritten`,
        );
    }
    const late = shown.filter(({ nonce }) => nonce >= count).length;
    if (late > 0) found.notes.push(`${late} anchors of ${address} are in no block yet`);
    if (count === 0) found.notes.push(`${address} has sent nothing yet`);
  }
  for (const { at: time, reason } of restores)
    found.notes.push(
      `The record was set back at ${new Date(time).toISOString()} (${reason}): ${lost} anchors are of events that it no longer has`,
    );
  found.fixed.sort((one, other) => one.since.getTime() - other.since.getTime());
  datingFindings(read, found);
  return found;
}

async function firstMined(hashes: readonly string[], address: string, nonce: number, chain: ChainReader) {
  for (const txHash of hashes) {
    const mined = await chain.mined(txHash);
    if (mined !== null) return mined;
  }
  return chain.sent(address, nonce);
}

/** The greatest age of a backup when a record is set back to it. */
const BACKUP_MS = 14 * DAY;

/** Whether an anchor may belong to events between a backup and the return to it. */
function isLost(minedAt: number, restores: ReturnType<typeof restoresIn>): boolean {
  return restores.some((one) => minedAt >= one.at - BACKUP_MS && minedAt <= one.at + SKEW_MS);
}

const TEXT = /^signal record ([1-9]\d{0,15}) ([0-9a-f]{64})$/;

function textOf(data: string): { sequence: number; hash: string } | null {
  const [, sequence, hashed] = TEXT.exec(Buffer.from(data.replace(/^0x/, ""), "hex").toString("utf8")) ?? [];
  return sequence === undefined || hashed === undefined ? null : { sequence: Number(sequence), hash: hashed };
}

/**
 * Checks the times of signals against block times: none may be issued after its anchor, and few may have ended before
 * it.
 */
function datingFindings({ events, people }: SignalRecord, found: AnchorFindings): void {
  const fixedAt = (event: number) =>
    found.fixed.find(({ sequence }) => sequence >= event)?.since.getTime() ?? Infinity;
  const { closed, behind } = datedIn(events, nameOf, (one) => fixedAt(one.sequence), found.problems);
  const words = `${behind} of ${closed} closed signals were in no anchor before their outcome`;
  if (behind > BEHIND_FEW && behind > BEHIND_SHARE * closed)
    found.problems.push(`${words}: they may have been written when it was known`);
  else if (behind > 0) found.notes.push(words);
  // People's signals are dated by the event that contains the head of their chain, up to an hour later: some may have ended by then.
  const holders = events.filter((one) => one.kind === "people");
  const heldAt = ({ sequence }: PersonEvent) =>
    fixedAt(holders.find(({ content }) => content.peopleSequence >= sequence)?.sequence ?? Infinity);
  for (const [arm, own] of byArm(people?.events ?? [])) {
    const dated = datedIn(own, personName, heldAt, found.problems);
    if (dated.behind > 0)
      found.notes.push(
        `${dated.behind} of ${dated.closed} closed signals of ${arm} were in no anchor before their outcome`,
      );
  }
}

/**
 * Counts the signals that have ended, and those of them that ended before they were anchored. Reports those that were
 * issued after their anchor.
 */
function datedIn<One extends Event | DayEventOfPerson>(
  events: readonly One[],
  name: (one: One) => string,
  fixedAt: (one: One) => number,
  problems: string[],
): { closed: number; behind: number } {
  const stories = storiesOf(events);
  let [closed, behind] = [0, 0];
  for (const one of events) {
    if (one.kind !== "issued") continue;
    const { generatedAt } = one.content;
    const fixed = fixedAt(one);
    if (Date.parse(generatedAt) > fixed + SKEW_MS)
      problems.push(
        `${name(one)}: it tells ${generatedAt}, and was anchored before that, at ${new Date(fixed).toISOString()}`,
      );
    const closedAt = stories.get(keyOf(one.content))?.closed?.closedAt;
    if (closedAt === undefined) continue;
    closed += 1;
    if (fixed > Date.parse(closedAt)) behind += 1;
  }
  return { closed, behind };
}

const BASE = 8453;
const quantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(Number);
const transaction = z.object({ hash: z.string(), from: z.string(), nonce: quantity, input: z.string() });
const inBlock = transaction.extend({ blockNumber: z.string().nullable() });
const block = z.object({ timestamp: quantity });
const answer = z.object({ result: z.unknown(), error: z.object({ message: z.string() }).optional() });

/** Reads Base from an RPC. @throws Unreadable when it does not answer, or serves another chain. */
export async function chainReader(url: string): Promise<ChainReader> {
  const ask = async <Shape extends z.ZodType>(method: string, params: unknown[], shape: Shape) => {
    try {
      const { result, error } = answer.parse(
        await fetched(url, {
          method: "POST",
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        }),
      );
      if (error !== undefined) throw new Unreadable(error.message);
      return shape.parse(result);
    } catch (error) {
      throw new Unreadable(`The chain RPC: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  if ((await ask("eth_chainId", [], quantity)) !== BASE)
    throw new Unreadable("The chain RPC does not serve Base");
  const countAt = (address: string, at_: string) => ask("eth_getTransactionCount", [address, at_], quantity);
  const minedOf = async (sent: z.output<typeof transaction>, number: string): Promise<Mined | null> => {
    const receipt = z.object({ status: quantity }).nullable();
    const done = await ask("eth_getTransactionReceipt", [sent.hash], receipt);
    if (done === null) return null;
    const { timestamp } = await ask("eth_getBlockByNumber", [number, false], block);
    const { hash: hash_, from, nonce, input: data } = sent;
    return {
      hash: hash_,
      from,
      nonce,
      data,
      succeeded: done.status === 1,
      minedAt: new Date(timestamp * 1_000),
    };
  };
  return {
    mined: async (txHash) => {
      const found = await ask("eth_getTransactionByHash", [txHash], inBlock.nullable());
      return found === null || found.blockNumber === null ? null : minedOf(found, found.blockNumber);
    },
    sent: async (address, nonce) => {
      // The first block after which the account had sent more than this.
      let [low, high] = [0, await ask("eth_blockNumber", [], quantity)];
      try {
        while (low < high) {
          const middle = Math.floor((low + high) / 2);
          if ((await countAt(address, `0x${middle.toString(16)}`)) > nonce) high = middle;
          else low = middle + 1;
        }
      } catch {
        // A node without the past cannot tell.
        return null;
      }
      const number = `0x${low.toString(16)}`;
      const { transactions } = await ask(
        "eth_getBlockByNumber",
        [number, true],
        z.object({ transactions: z.array(transaction) }),
      );
      const own = transactions.find(
        (one) => one.from.toLowerCase() === address.toLowerCase() && one.nonce === nonce,
      );
      return own === undefined ? null : minedOf(own, number);
    },
    count: (address) => countAt(address, "latest"),
  };
}

// 11. Reading and reporting.

/** The reason why a record could not be checked. */
class Unreadable extends Error {}
/** The command was called in a wrong way. */
class Misuse extends Error {}

const TIMEOUT_MS = 30_000;

async function fetched(url: string, init: RequestInit = {}): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    // Coinbase answers only requests with a user agent.
    const headers = { "Content-Type": "application/json", "User-Agent": "verify-signals" };
    response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch {
    throw new Unreadable(`${url} cannot be reached`);
  }
  if (!response.ok) throw new Unreadable(`${url} answered with status ${response.status}`);
  return jsonOf(text, url);
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable(`${where} holds no JSON`);
  }
}

/** @throws Unreadable */
function shaped<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  where: string,
  what: string,
): z.output<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  throw new Unreadable(`${where} is no ${what}: ${first?.path.join(".") ?? ""} ${first?.message ?? ""}`);
}

function readRecord(value: unknown, where: string): SignalRecord {
  return shaped(recordShape, value, where, "signal record");
}

async function fileOf(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new Unreadable(`${path} cannot be read`);
  }
  return jsonOf(text, path);
}

const EVENTS_PER_PAGE = 500;
const SIGNALS_PER_PAGE = 100;
/** A signal may be issued or closed while the record is read: then it is read again. */
const READINGS = 5;

const page = z.looseObject({ events: z.array(event), head: headShape });
const shadowPage = z.looseObject({ events: z.array(shadowEvent), head: headShape });
const peoplePage = z.looseObject({ events: z.array(personEvent), head: headShape });
const recordPage = z.looseObject({ stats: z.unknown(), cuts: z.array(cutShape) });
const anchorPage = z.object({ addresses: z.array(z.string()), anchors: z.array(anchor) });
const historyPage = z.object({ signals: recordShape.shape.signals, stats: z.unknown() });

async function fromDeployment(address: string): Promise<SignalRecord> {
  const base = address.replace(/\/+$/, "");
  const read = async <Shape extends z.ZodType>(path: string, shape: Shape) =>
    shaped(shape, await fetched(base + path), base + path, "signal record");
  /** Reads events that are served by their sequence, page by page. */
  const all = async <One extends { sequence: number }>(
    path: string,
    shape: z.ZodType<{ events: One[]; head: Head }>,
  ): Promise<{ events: One[]; last: { events: One[]; head: Head } }> => {
    const events: One[] = [];
    for (;;) {
      const after = events.at(-1)?.sequence ?? 0;
      const last = await read(`${path}?after=${after}&limit=${EVENTS_PER_PAGE}`, shape);
      events.push(...last.events);
      const reached = events.at(-1)?.sequence ?? 0;
      if (reached <= after || reached >= (last.head?.sequence ?? 0)) return { events, last };
    }
  };
  const signalsOf = async (token: string) => {
    const signals: SignalRecord["signals"] = [];
    for (;;) {
      const last = signals.at(-1)?.generatedAt;
      const before = last === undefined ? "" : `&before=${encodeURIComponent(last)}`;
      const path = `/mcp/signals/history?token=${token}&limit=${SIGNALS_PER_PAGE}${before}`;
      const one = await read(path, historyPage);
      signals.push(...one.signals);
      if (one.signals.length < SIGNALS_PER_PAGE || signals.at(-1)?.generatedAt === last)
        return { signals, stats: one.stats };
    }
  };
  const anchorsOf = async (): Promise<SignalRecord["anchors"]> => {
    const { addresses } = await read("/signals/anchors?limit=1", anchorPage);
    return Promise.all(
      addresses.map(async (one) => {
        const anchors: z.output<typeof anchor>[] = [];
        for (;;) {
          const from = (anchors.at(-1)?.nonce ?? -1) + 1;
          const path = `/signals/anchors?address=${one}&from=${from}&limit=${EVENTS_PER_PAGE}`;
          const next = (await read(path, anchorPage)).anchors;
          anchors.push(...next.filter(({ nonce }) => nonce >= from));
          if (next.length < EVENTS_PER_PAGE) return { address: one, anchors };
        }
      }),
    );
  };
  for (let reading = 1; reading <= READINGS; reading++) {
    const { events, last } = await all("/signals/proof", page);
    const [btc, eth] = [await signalsOf("BTC"), await signalsOf("ETH")];
    const both = await read("/mcp/signals/history?limit=1", historyPage);
    const shadows = await all("/signals/shadow", shadowPage);
    const { events: told, last: end } = await all("/records/proof", peoplePage);
    const own: [string, z.output<typeof recordPage>][] = [];
    for (const arm of byArm(told).keys()) own.push([arm, await read(`/record/${arm}`, recordPage)]);
    const stats = Object.fromEntries(own.map(([arm, shown]) => [arm, shown.stats]));
    const cuts = Object.fromEntries(own.map(([arm, shown]) => [arm, shown.cuts]));
    const { cuts: parts } = await read("/record", recordPage);
    const anchors = await anchorsOf();
    const { head } = last;
    if ((await read("/signals/proof?limit=1", page)).head?.hash !== head?.hash) continue;
    const { time } = await read("/health", z.looseObject({ time: z.iso.datetime() }));
    const record = {
      ...{ events, head, signals: [...btc.signals, ...eth.signals], anchors },
      stats: { BTC: btc.stats, ETH: eth.stats, ALL: both.stats },
      cuts: parts,
      shadow: { ...shadows.last, events: shadows.events },
      people: { events: told, head: end.head, stats, cuts },
      // The clock of a faster stack is ahead. One that claims to be behind is not believed.
      readAt: Math.max(Date.now(), Date.parse(time)),
    };
    return readRecord(record, base);
  }
  throw new Unreadable(`The record changed during each of ${READINGS} readings: try again`);
}

const COINBASE = "https://api.exchange.coinbase.com";
/** The number of minutes in one answer, aligned so that neighbours share them; with a pause, as the venue asks. */
const PER_ANSWER = 300;
const PAUSE_MS = 150;
const rows = z.array(z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown()));

/** A venue's minutes by its public API. */
export function venueMarket(base: string): Market {
  const known = new Map<string, Promise<Minute[]>>();
  const part = async (token: string, first: number): Promise<Minute[]> => {
    const [start, end] = [first, first + (PER_ANSWER - 1) * MINUTE].map((time) =>
      new Date(time).toISOString(),
    );
    const url = `${base}/products/${token}-USD/candles?granularity=60&start=${start}&end=${end}`;
    const candles = shaped(rows, await fetched(url), url, "list of candles");
    if (base === COINBASE) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return candles.map(([time, low, high, open, close]) => ({
      openedAt: time * 1_000,
      open,
      high,
      low,
      close,
    }));
  };
  return async (token, from, to) => {
    const size = PER_ANSWER * MINUTE;
    const parts: Minute[] = [];
    for (let first = Math.floor(from / size) * size; first <= to; first += size) {
      const key = `${token} ${first}`;
      const asked = known.get(key) ?? part(token, first);
      known.set(key, asked);
      parts.push(...(await asked));
    }
    return parts;
  };
}

const candleFile = z.record(z.string(), rows);

function fileMarket(value: unknown, path: string): Market {
  const candles = shaped(candleFile, value, path, "file of candles");
  const minutes = Object.entries(candles).map(([token, all]): [string, Minute[]] => [
    token,
    all.map(([openedAt, open, high, low, close]) => ({ openedAt, open, high, low, close })),
  ]);
  const byToken = new Map(minutes);
  return (token, from, to) =>
    Promise.resolve(
      (byToken.get(token) ?? []).filter(({ openedAt }) => openedAt >= from - MINUTE && openedAt <= to),
    );
}

type Means = {
  head?: string | undefined;
  market?: Market | undefined;
  chain?: ChainReader | undefined;
  anchor?: string | undefined;
};
export type Findings = {
  problems: string[];
  notes: string[];
  /** What was not checked. */
  unchecked: string[];
  fixed: AnchorFindings["fixed"];
};

/** Everything that is wrong with a record, and what was not checked. @throws Unreadable */
export async function verify(
  record: unknown,
  { head, market, chain, anchor: named }: Means,
): Promise<Findings> {
  const read = readRecord(record, "the record");
  const { events, shadow, people, anchors = [], readAt = Date.now() } = read;
  const found: Findings = { problems: [], notes: [], unchecked: [], fixed: [] };
  found.problems.push(...problemsOfRecord(read, head), ...absenceProblems(events, readAt));
  if (shadow !== undefined) found.problems.push(...problemsOfShadows(shadow, events));
  if (people !== undefined) found.problems.push(...problemsOfPeople(people, events, readAt));
  else if (events.some(({ kind }) => kind === "people"))
    found.unchecked.push("people's signals: the record does not hold them");
  if (shadow === undefined && events.some((one) => one.kind === "promoted" && one.content.forced === null))
    found.problems.push("A promotion rests on shadow signals, and none are shown");
  if (
    read.stats !== undefined &&
    scoredIn(read.stats.ALL) < statisticsIn(events, "ALL").calibration.logScore.n
  )
    found.unchecked.push("pairs, exposure and logarithmic scores: the deployment began to keep them later");
  if (read.stats === undefined)
    found.unchecked.push("the statistics that are shown: the record does not hold them");
  // A copy can claim to be older than it is; then nobody notices that days are missing.
  if (Date.now() - readAt > DAY)
    found.unchecked.push(
      `what came after ${new Date(readAt).toISOString()}: that is when it says it was read`,
    );
  const later = cutFindings(events, read.cuts).later;
  if (read.cuts === undefined) found.unchecked.push("the parts of the record: the record does not hold them");
  else if (later.length > 0)
    found.unchecked.push(`the parts ${later.join(", ")}: the deployment began to keep them later`);
  else if (read.cuts.some(({ cut }) => Object.hasOwn(REGIMES, cut)))
    found.unchecked.push(
      "how far the price had moved before each issue: its parts are by what the events tell",
    );
  const others = dailyCalibrations(events).others + shadowCalibrations(shadow?.events ?? []).others;
  if (others > 0)
    found.unchecked.push(`${others} calibrated confidences: they were made as earlier versions did`);
  if (events.some(({ kind }) => kind === "shadow") && shadow === undefined)
    found.unchecked.push("the shadow signals: the record does not hold them");
  if (market === undefined) {
    found.unchecked.push("entries and outcomes against the market: --candles reads its minutes");
  } else {
    const { problems, checked, unseen, gapless } = await marketFindings(betsOf(read), market);
    found.problems.push(...problems);
    if (gapless.length > 0)
      found.notes.push(
        `${gapless.length} signals tell gaps of which the market has every minute now, and count at most as chance and no worse: ${gapless.slice(0, 3).join(", ")}`,
      );
    found.notes.push(`${checked} entries and outcomes are those of the market's minutes`);
    if (unseen.length > 0)
      found.unchecked.push(
        `${unseen.length} signals, of which the market's minutes are not whole: ${unseen.slice(0, 3).join(", ")}`,
      );
  }
  if (chain === undefined) {
    found.unchecked.push("when all this was written: --rpc and --anchor read the anchors from Base");
  } else {
    const addresses = named === undefined ? anchors.map(({ address }) => address) : [named];
    if (named === undefined)
      found.unchecked.push(
        "whether these are all of its anchors: --anchor names the account, from a card or the page",
      );
    const findings = await anchorFindings(read, addresses, chain);
    found.problems.push(...findings.problems);
    found.notes.push(...findings.notes);
    found.unchecked.push(...findings.unchecked);
    found.fixed.push(...findings.fixed);
  }
  if (head === undefined && found.fixed.length === 0)
    found.unchecked.push("whether the whole chain was rewritten: --head holds it against a hash from a card");
  found.unchecked.push("which model wrote a signal, and who was sent it: nobody sees that from outside");
  return found;
}

function report(
  { events, signals, shadow, head }: SignalRecord,
  { problems, notes, unchecked, fixed }: Findings,
): void {
  if (problems.length > 0) {
    console.log(`✗ The record does not hold (${problems.length} found):`);
    for (const problem of problems) console.log(`  - ${problem}`);
  } else {
    console.log(
      `✓ The record holds, as far as it was checked: ${events.length} events, ${signals.length} signals.`,
    );
    console.log(
      "  Its chain, its rules, and every figure shown follow from its events, and every day has one.",
    );
    if (shadow !== undefined)
      console.log(
        `  So do the ${shadow.events.length} events and the figures of ${shadow.arms.length} shadow arms.`,
      );
    if (head !== null) console.log(`  Head: event ${head.sequence}, ${head.hash}`);
  }
  for (const note of notes) console.log(`  Note: ${note}.`);
  const [first, last] = [fixed[0], fixed.at(-1)];
  if (first !== undefined && last !== undefined) {
    console.log(
      `  Events 1 to ${first.sequence} cannot have been rewritten since ${first.since.toISOString()},`,
    );
    console.log(
      `  events up to ${last.sequence} since ${last.since.toISOString()}; the ${events.length - last.sequence} behind it await an anchor.`,
    );
  }
  console.log("Not checked:");
  for (const what of unchecked) console.log(`  - ${what}`);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...{ candles: { type: "string" }, rpc: { type: "string" }, anchor: { type: "string" } },
      ...{ head: { type: "string" }, save: { type: "string" } },
      ...{ json: { type: "boolean" }, help: { type: "boolean" } },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Misuse("Name one service or file");
  const isAddress = (text: string) => /^https?:\/\//.test(text);
  const record = isAddress(source) ? await fromDeployment(source) : readRecord(await fileOf(source), source);
  if (values.save !== undefined) await writeFile(values.save, `${JSON.stringify(record, null, 2)}\n`);
  const { candles, rpc } = values;
  const market =
    candles === undefined
      ? undefined
      : candles === "venue" || isAddress(candles)
        ? venueMarket(candles === "venue" ? COINBASE : candles.replace(/\/+$/, ""))
        : fileMarket(await fileOf(candles), candles);
  const chain = rpc === undefined ? undefined : await chainReader(rpc);
  const found = await verify(record, {
    head: values.head?.toLowerCase(),
    market,
    chain,
    anchor: values.anchor,
  });
  if (values.json === true) {
    const { events, signals, head } = record;
    const counts = { events: events.length, signals: signals.length, head };
    console.log(JSON.stringify({ holds: found.problems.length === 0, ...found, ...counts }, null, 2));
  } else report(record, found);
  return found.problems.length === 0 ? 0 : 1;
}

/** One line if the caller can correct it, otherwise the whole error. */
function complaintOf(error: unknown): unknown {
  const isFlag =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  if (error instanceof Misuse || (isFlag && error instanceof Error))
    return `${error.message.replace(/\. To specify a positional argument [^]*$/, "")}. --help says how it is used.`;
  return error instanceof Unreadable ? error.message : error;
}

if (process.argv[1]?.endsWith("verifySignals.ts") === true) {
  try {
    process.exitCode = await main();
  } catch (error) {
    console.error(complaintOf(error));
    process.exitCode = 2;
  }
}
