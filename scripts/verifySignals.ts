import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { BaseError, createClient, http, isAddress, isHash, TransactionNotFoundError } from "viem";
import { getBlock, getChainId, getTransaction, getTransactionCount } from "viem/actions";
import * as z from "zod";

/**
 * `npm run verify-signals`: holds a signal record against its hash chain, its own rules, the market and its anchors. It
 * imports nothing of the service that it checks and works everything out anew, so that it can be read on its own.
 */

const USAGE = `Usage: npm run verify-signals -- URL [--candles venue|URL] [--rpc URL --anchor ADDRESS]
                                 [--head HASH] [--json]

  --candles WHAT    one-minute candles, to compute entries and outcomes again: "venue" asks Coinbase's public API, a URL names
                    an API with the same answers
  --rpc URL         an RPC of Base, such as https://mainnet.base.org, to read what --anchor has sent
  --anchor ADDRESS  the account of the anchors, as a card or the page names it
  --head HASH       the chain's head as it was published on a card, which rules out a rewritten chain
  --json            for programs: holds, problems, notes, unchecked, events, head

Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

// 1. What a record is.

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const price = z.number().positive().nullable();
const about = { token: z.enum(["BTC", "ETH"]), day: z.iso.date() };
const issuedShape = z.looseObject({
  ...about,
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().positive(),
  tp1: price,
  tp2: price,
  sl: price,
  confidence: z.number(),
  costBps: z.number().nonnegative(),
  generatedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  priceSource: z.string(),
  priceObservedAt: z.iso.datetime(),
});
const closedShape = z.looseObject({
  ...about,
  status: z.enum(["WIN", "LOSS", "EXPIRED"]),
  closedAt: z.iso.datetime(),
  exitPrice: price,
  pnlPercent: z.number().nullable(),
  gapMinutes: z.number().nonnegative(),
});
const link = { sequence: z.int().positive(), contentHash: hash, previousHash: hash, hash };
const event = z.discriminatedUnion("kind", [
  z.object({ ...link, kind: z.literal("issued"), content: issuedShape }),
  z.object({ ...link, kind: z.literal("closed"), content: closedShape }),
  z.object({ ...link, kind: z.literal("none"), content: z.looseObject({ ...about, at: z.iso.datetime() }) }),
]);
const headShape = z.object({ sequence: z.int().positive(), hash }).nullable();
const shownShape = z.looseObject({ id: z.string() });
export type SignalRecord = {
  events: z.output<typeof event>[];
  head: z.output<typeof headShape>;
  /** Every signal as the deployment shows it, and its statistics of each token and of both. */
  signals: z.output<typeof shownShape>[];
  stats: Record<string, unknown>;
  /** By account of the anchor and nonce, the hashes of what it is said to have sent. */
  anchors: Record<string, Record<string, string[]>>;
  readAt: number;
};
type Issued = z.output<typeof issuedShape>;
type Closed = z.output<typeof closedShape>;
/** What the events tell of a token's day. */
type Story = { name: string; sequence: number; issued?: Issued; closed?: Closed; isNone?: true };
export type Findings = { problems: string[]; notes: string[]; unchecked: string[] };

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

// 2. The chain.

/** SHA-256 of a flat object as JSON with its keys sorted (RFC 8785). */
function hashOf(fields: Record<string, unknown>): string {
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return createHash("sha256")
    .update(`{${members.join(",")}}`)
    .digest("hex");
}

function checkChain({ events, head }: SignalRecord, published: string | undefined, found: Findings): void {
  let last = "0".repeat(64);
  for (const [index, { sequence, kind, content, contentHash, previousHash, hash: own }] of events.entries()) {
    const isHashed = hashOf(content) === contentHash;
    const isLinked = hashOf({ sequence, kind, contentHash, previousHash }) === own;
    if (!isHashed || !isLinked || sequence !== index + 1 || previousHash !== last)
      found.problems.push(`event ${index + 1} is not what was hashed, or does not follow the one before it`);
    last = own;
  }
  if (events.length > 0 && head?.hash !== last) found.problems.push("the head is not the last event");
  if (published === undefined)
    found.unchecked.push("whether the whole chain was rewritten: name a --head from a card");
  else if (!events.some((one) => one.hash === published))
    found.problems.push(`no event has the published hash ${published}: history was rewritten`);
}

// 3. The rules: what may be issued, how it may end, and one story for each token and day.

/** The tracker looks every half hour, waits two hours for late candles, and gives up without a price after twelve. */
const SLOWEST = 15 * HOUR;
const HAIR = 1e-9;

type Position = { side: 1 | -1; entry: number; tp1: number; sl: number };

function positionOf({ signal, entry, tp1, sl }: Issued): Position | null {
  return signal === "HOLD" || tp1 === null || sl === null
    ? null
    : { side: signal === "BUY" ? 1 : -1, entry, tp1, sl };
}

const chanceOf = ({ entry, tp1, sl }: Position) => Math.abs(entry - sl) / Math.abs(tp1 - sl);
const costShareOf = ({ entry, tp1, sl }: Position, costBps: number) =>
  ((costBps / 10_000) * entry) / Math.abs(tp1 - sl);

function mayBeIssued(one: Issued): boolean {
  const { signal, entry, tp1, tp2, sl, confidence, costBps, generatedAt } = one;
  const at = Date.parse(generatedAt);
  const isTimely =
    generatedAt.startsWith(one.day) &&
    Date.parse(one.expiresAt) === at + 6 * HOUR &&
    Math.abs(at - Date.parse(one.priceObservedAt)) <= MINUTE;
  const isSure = Number.isInteger(confidence) && confidence >= 0 && confidence <= 100;
  const position = positionOf(one);
  if (!isTimely || !isSure) return false;
  if (position === null) return signal === "HOLD" && tp1 === null && tp2 === null && sl === null;
  const { side } = position;
  const [reward, risk] = [side * (position.tp1 - entry), side * (entry - position.sl)];
  return (
    tp2 !== null &&
    side * (tp2 - position.tp1) >= 0 &&
    reward / entry > costBps / 10_000 &&
    risk / entry >= 0.0015 - HAIR &&
    reward / risk >= 0.8 - HAIR &&
    confidence / 100 >= chanceOf(position) + costShareOf(position, costBps) - HAIR
  );
}

/** Whether an end is one of this signal's: in its life, at its level, with the result that follows. */
function mayEnd(issued: Issued, { status, exitPrice, pnlPercent, closedAt }: Closed): boolean {
  const position = positionOf(issued);
  const [at, from, to] = [Date.parse(closedAt), Date.parse(issued.generatedAt), Date.parse(issued.expiresAt)];
  const change = exitPrice === null || position === null ? null : exitPrice / position.entry - 1;
  const due = change === null ? null : Number(((position?.side ?? 1) * change * 100).toFixed(6)) + 0;
  const isInTime = status === "EXPIRED" ? at === to : at >= from && at <= to;
  const isAtLevel = status === "EXPIRED" || exitPrice === (status === "WIN" ? position?.tp1 : position?.sl);
  return isInTime && isAtLevel && pnlPercent === due;
}

function storiesOf({ events, readAt }: SignalRecord, found: Findings): Story[] {
  const stories = new Map<string, Story>();
  const { problems } = found;
  for (const { sequence, kind, content } of events) {
    const name = `${content.token}-${content.day}`;
    const story = stories.get(name) ?? { name, sequence };
    stories.set(name, story);
    const isTold = kind === "closed" ? story.closed : (story.issued ?? story.isNone);
    if (isTold !== undefined) problems.push(`event ${sequence}: ${name} had been told before`);
    if (kind === "issued") story.issued = content;
    else if (kind === "none") story.isNone = true;
    else if (story.issued === undefined) problems.push(`event ${sequence} closes ${name}, never issued`);
    else story.closed = content;
  }
  for (const { name, issued, closed } of stories.values()) {
    if (issued === undefined) continue;
    if (!mayBeIssued(issued)) problems.push(`${name} breaks the rules of issue`);
    if (closed !== undefined && !mayEnd(issued, closed)) problems.push(`${name} cannot have ended like this`);
    if (closed === undefined && readAt - Date.parse(issued.generatedAt) > SLOWEST)
      problems.push(`${name} was never closed`);
  }
  // A day is decided within the day; one on which nothing ran is told before the next one's first signal.
  const days = events.map(({ content }) => Date.parse(content.day));
  const told = Math.max(...days);
  for (let day = Math.min(...days); day <= Math.max(told, readAt - 2 * DAY); day += DAY)
    for (const token of ["BTC", "ETH"]) {
      const name = `${token}-${new Date(day).toISOString().slice(0, 10)}`;
      const isOpen = day >= told && readAt - day < 2 * DAY;
      if (!stories.has(name) && !isOpen) problems.push(`${name} has no event: a day was left out`);
    }
  return [...stories.values()];
}

// 4. The record: the same figures, from the events alone.

const rounded = (value: number) => Number(value.toFixed(10)) + 0;
const ratio = (over: number, under: number) =>
  under === 0 || !Number.isFinite(over / under) ? null : rounded(over / under);
const meanOf = (values: readonly number[]) => sum(values) / values.length;

/** A day's excess is never below: reward to risk is at least 0.8, and the target lies beyond the costs. */
const [LEAST, LEAST_NET] = [-(5 / 9) - 1e-6, -1 - 1e-6];

/** Wealth of a bet on days above `m` (below it with `sign` -1): Waudby-Smith and Ramdas, JRSS B 86, 2024. */
function wealth(days: readonly number[], m: number, floor: number, sign = 1): number {
  const worst = sign === 1 ? m - floor : 1 - m;
  const stakes = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2].map((most) => Math.min(most, 0.7 / worst));
  return meanOf(stakes.map((stake) => Math.exp(sum(days.map((x) => Math.log1p(stake * sign * (x - m)))))));
}

/** The mean nearest to the middle that the days rule out. */
function bound(days: readonly number[], sign: 1 | -1): number {
  let [out, within] = [sign === 1 ? LEAST : 1, days.length === 0 ? 0 : meanOf(days)];
  if (wealth(days, out, LEAST, sign) < 20) return out;
  for (let step = 0; step < 50; step++) {
    const middle = (out + within) / 2;
    if (wealth(days, middle, LEAST, sign) >= 20) out = middle;
    else within = middle;
  }
  return within;
}

function resultsOf(values: readonly number[]) {
  return {
    totalPnlPercent: rounded(sum(values)),
    expectancyPercent: ratio(sum(values), values.length),
    profitFactor: ratio(sum(values.filter((one) => one > 0)), -sum(values.filter((one) => one < 0))),
  };
}

/** Null below thirty results. */
function riskOf(results: readonly number[]) {
  if (results.length < 30) return { sharpe: null, maxDrawdownPercent: null };
  const squares = results.map((one) => (one - meanOf(results)) ** 2);
  const deviation = Math.sqrt(sum(squares) / (results.length - 1));
  const sums = results.map((_, index) => sum(results.slice(0, index + 1)));
  const falls = sums.map((one, index) => Math.max(0, ...sums.slice(0, index)) - one);
  return {
    sharpe: deviation < 1e-9 ? null : ratio(meanOf(results), deviation),
    maxDrawdownPercent: rounded(Math.max(0, ...falls)),
  };
}

type Ended = Required<Pick<Story, "issued" | "closed">>;

/** A trade's excess over the chance of its levels: at least, at most, and at least after costs. With gaps it is unknown. */
function excessOf({ issued, closed: { exitPrice, gapMinutes } }: Ended) {
  const position = positionOf(issued);
  if (position === null) return [];
  const chance = chanceOf(position);
  const { tp1, sl } = position;
  const known = exitPrice === null ? null : (exitPrice - sl) / (tp1 - sl) - chance;
  const [low, high] = [known ?? -chance, known ?? 1 - chance];
  const [least, most] = gapMinutes > 5 ? [Math.min(0, low), Math.max(0, high)] : [low, high];
  return [{ least, most, net: least - costShareOf(position, issued.costBps) }];
}

/** Every figure of a record that follows from its events. */
export function statisticsOf(stories: readonly Ended[]) {
  const ended = stories.toSorted((a, b) => Date.parse(a.closed.closedAt) - Date.parse(b.closed.closedAt));
  const trades = ended.filter(({ issued }) => positionOf(issued) !== null);
  const count = (wanted: Closed["status"]) => ended.filter(({ closed }) => closed.status === wanted).length;
  const [wins, losses] = [count("WIN"), count("LOSS")];
  // BTC and ETH move together, so a day is one observation.
  const days = [...new Set(trades.map(({ issued }) => issued.day))].map((day) =>
    trades.filter(({ issued }) => issued.day === day).flatMap(excessOf),
  );
  const means = (of: "least" | "most" | "net") => days.map((day) => meanOf(day.map((one) => one[of])));
  const [least, most, net] = [means("least"), means("most"), means("net")];
  const results = trades.flatMap(({ issued, closed: { pnlPercent } }) =>
    pnlPercent === null ? [] : [Number((pnlPercent - issued.costBps / 100).toFixed(6)) + 0],
  );
  const held = ["BTC", "ETH"].flatMap((token) => {
    const own = ended.filter(({ issued }) => issued.token === token).toSorted(byDate);
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    return [100 * ((last.closed.exitPrice ?? last.issued.entry) / first.issued.entry - 1)];
  });
  const isBetter = wealth(net, 0, LEAST_NET) >= 20;
  const isWorse = wealth(most, 0, LEAST, -1) >= 20;
  const judged = isBetter ? "better than chance" : isWorse ? "worse than chance" : "not told from chance";
  return {
    n: ended.length,
    wins,
    losses,
    expired: count("EXPIRED"),
    holds: ended.length - trades.length,
    gaps: trades.filter(({ closed }) => closed.gapMinutes > 5).length,
    winrate: ratio(100 * wins, wins + losses),
    trades: results.length,
    beforeCosts: resultsOf(trades.flatMap(({ closed }) => closed.pnlPercent ?? [])),
    afterCosts: resultsOf(results),
    buyAndHoldPercent: ratio(sum(held), held.length),
    risk: riskOf(results),
    edge: {
      days: least.length,
      excessPoints: ratio(100 * sum(least), least.length),
      lowPoints: rounded(100 * bound(least, 1)),
      highPoints: rounded(100 * bound(most, -1)),
      afterCosts: { excessPoints: ratio(100 * sum(net), net.length) },
      verdict: trades.length < 30 ? "no record yet" : judged,
    },
    reliability: { bins: [0, 20, 40, 60, 80].map((from) => binOf(trades, from)) },
  };
}

/** How many of the signals stated at so much confidence were decided, and won. */
function binOf(trades: readonly Ended[], from: number) {
  const own = trades.filter(
    ({ issued, closed }) =>
      closed.status !== "EXPIRED" && Math.min(80, 20 * Math.floor(issued.confidence / 20)) === from,
  );
  const won = own.filter(({ closed }) => closed.status === "WIN").length;
  return { from, n: own.length, winrate: ratio(100 * won, own.length) };
}

const byDate = (a: Ended, b: Ended) => (a.issued.day < b.issued.day ? -1 : 1);

/** What is told otherwise than it is due. Fields that are not due are not looked at. */
function differences(told: unknown, due: unknown, path: string): string[] {
  if (typeof due === "object" && due !== null) {
    const shown = new Map<string, unknown>(
      typeof told === "object" && told !== null ? Object.entries(told) : [],
    );
    return Object.entries(due).flatMap(([key, value]) =>
      differences(shown.get(key), value, `${path}.${key}`),
    );
  }
  const isSame =
    typeof due === "number" && typeof told === "number"
      ? Math.abs(told - due) <= 1e-6 * Math.max(1, Math.abs(due))
      : told === due;
  return isSame ? [] : [`${path} is shown as ${String(told)}, it is ${String(due)}`];
}

function checkShown({ signals, stats }: SignalRecord, stories: readonly Story[], found: Findings): void {
  const issuedOnes = stories.filter(({ issued }) => issued !== undefined);
  for (const { id } of signals)
    if (!issuedOnes.some(({ name }) => name === id))
      found.problems.push(`${id} is shown, but no event issued it`);
  for (const { name, issued, closed } of issuedOnes) {
    const { signal, entry, tp1, tp2, sl, confidence, generatedAt, expiresAt } = issued ?? {};
    const { status = "PENDING", closedAt, exitPrice, pnlPercent } = closed ?? {};
    const levels = { signal, entry, tp1, tp2, sl, confidence, generatedAt, expiresAt };
    const due = { ...levels, status, closedAt, exitPrice, pnlPercent };
    const shown = signals.find(({ id }) => id === name);
    found.problems.push(...differences(shown, due, name));
  }
  for (const [scope, told] of Object.entries(stats)) {
    const own = stories.flatMap(({ issued, closed }): Ended[] =>
      issued === undefined || closed === undefined || (scope !== "ALL" && issued.token !== scope)
        ? []
        : [{ issued, closed }],
    );
    found.problems.push(...differences(told, statisticsOf(own), `stats of ${scope}`));
  }
}

// 5. The market.

type Minute = { openedAt: number; open: number; high: number; low: number; close: number };
/** Minutes of a token that open in [from, to], epoch ms. @throws Unreadable */
export type Market = (token: string, from: number, to: number) => Promise<Minute[]>;

/**
 * The first level touched decides, the stop where one minute holds both. Of the minute of issue its close counts and how
 * far it went against the position; of the minute of expiry only the open. `null` where minutes are missing that decide.
 */
function endBy(minutes: ReadonlyMap<number, Minute>, from: number, to: number, position: Position | null) {
  const [first, last] = [from, to].map((at) => Math.floor(at / MINUTE) * MINUTE);
  for (let at = first ?? 0; position !== null && at <= to; at += MINUTE) {
    const one = minutes.get(at);
    if (one === undefined && at !== last) return null;
    if (one === undefined) break;
    const { side, sl, tp1 } = position;
    const [worst, best] = side === 1 ? [one.low, one.high] : [one.high, one.low];
    const [against, towards] =
      at === last ? [one.open, one.open] : at < from ? [worst, one.close] : [worst, best];
    if (side * (against - sl) <= 0) return { status: "LOSS", exitPrice: sl, closedAt: Math.max(at, from) };
    if (side * (towards - tp1) >= 0)
      return { status: "WIN", exitPrice: tp1, closedAt: at < from ? at + MINUTE : at };
  }
  const close = minutes.get((last ?? 0) - MINUTE)?.close;
  if (close === undefined) return null;
  const [low = close, high = close] =
    position === null ? [] : [position.sl, position.tp1].toSorted((a, b) => a - b);
  return { status: "EXPIRED", exitPrice: Math.min(Math.max(close, low), high), closedAt: to };
}

async function checkMarket(stories: readonly Story[], market: Market, found: Findings): Promise<void> {
  for (const { name, issued, closed } of stories) {
    if (issued === undefined) continue;
    const { entry, token } = issued;
    const [from, to, seen] = [issued.generatedAt, issued.expiresAt, issued.priceObservedAt].map(Date.parse);
    const read = await market(token, (seen ?? 0) - 2 * MINUTE, to ?? 0);
    const minutes = new Map(read.map((one) => [one.openedAt, one]));
    const at = Math.floor((seen ?? 0) / MINUTE) * MINUTE;
    const around = [at - MINUTE, at, at + MINUTE].flatMap((one) => minutes.get(one) ?? []);
    const hair = entry * (issued.priceSource === "coinbase" ? 0.0005 : 0.002);
    const low = Math.min(...around.map((one) => one.low));
    const high = Math.max(...around.map((one) => one.high));
    if (around.length > 0 && !(entry >= low - hair && entry <= high + hair))
      found.problems.push(`${name} was entered at ${entry}; the market stood between ${low} and ${high}`);
    const due = closed === undefined ? null : endBy(minutes, from ?? 0, to ?? 0, positionOf(issued));
    if (around.length === 0 || (closed !== undefined && due === null))
      found.unchecked.push(`${name}: the market's minutes have gaps`);
    if (closed === undefined || due === null) continue;
    const isSame =
      due.status === closed.status &&
      closed.exitPrice !== null &&
      Math.abs(closed.exitPrice - due.exitPrice) <= 0.0005 * entry &&
      Math.abs(Date.parse(closed.closedAt) - due.closedAt) <= MINUTE;
    const end = `${due.status} at ${due.exitPrice}, ${new Date(due.closedAt).toISOString()}`;
    if (!isSame) found.problems.push(`${name}: by the market's minutes it was ${end}`);
    if (closed.gapMinutes > 5)
      found.notes.push(`${name} counts as having gaps, but the market has every minute`);
  }
}

// 6. The anchors.

type Mined = { from: string; nonce: number; data: string; minedAt: number };
interface ChainReader {
  /** `null` for a hash that is in no block. `minedAt` is epoch ms. */
  mined(txHash: string): Promise<Mined | null>;
  /** How many transactions of an account are mined. */
  count(address: string): Promise<number>;
}
type Anchor = { address: string; chain: ChainReader };

async function checkAnchors(
  { events, anchors }: SignalRecord,
  stories: readonly Story[],
  { address, chain }: Anchor,
  found: Findings,
): Promise<void> {
  const isOwn = (one: string) => one.toLowerCase() === address.toLowerCase();
  const shown = Object.entries(anchors).find(([one]) => isOwn(one))?.[1] ?? {};
  const fixed: { sequence: number; minedAt: number }[] = [];
  const count = await chain.count(address);
  for (let nonce = 0; nonce < count; nonce++) {
    const name = `The transaction with nonce ${nonce} of ${address}`;
    const tries = await Promise.all((shown[nonce] ?? []).map((one) => chain.mined(one)));
    const mined = tries.find((one) => one?.nonce === nonce && isOwn(one.from)) ?? null;
    const text = Buffer.from(mined?.data.slice(2) ?? "", "hex").toString("utf8");
    const [, sequence, head] = /^signal record ([1-9]\d{0,15}) ([0-9a-f]{64})$/.exec(text) ?? [];
    if (mined === null) found.problems.push(`${name} was mined, and the record does not show it`);
    else if (sequence === undefined) found.notes.push(`${name} holds no anchor`);
    else if (events[Number(sequence) - 1]?.hash !== head)
      found.problems.push(`${name} holds ${head} for event ${sequence}: history was rewritten`);
    else fixed.push({ sequence: Number(sequence), minedAt: mined.minedAt });
  }
  const anchored = stories.flatMap(({ name, sequence, issued, closed }) => {
    const at = Math.min(...fixed.filter((one) => one.sequence >= sequence).map((one) => one.minedAt));
    if (issued === undefined || !Number.isFinite(at)) return [];
    if (Date.parse(issued.generatedAt) > at + MINUTE)
      found.problems.push(`${name} says that it was issued after it was anchored`);
    return [closed === undefined || Date.parse(closed.closedAt) > at];
  });
  const early = anchored.filter(Boolean).length;
  found.notes.push(`${early} of ${anchored.length} anchored signals were anchored before their outcome`);
}

function chainReader(url: string): ChainReader {
  const client = createClient({ transport: http(url) });
  return {
    mined: async (txHash) => {
      if (!isHash(txHash)) return null;
      const sent = await getTransaction(client, { hash: txHash }).catch((error: unknown) => {
        if (error instanceof TransactionNotFoundError) return null;
        throw error;
      });
      if (sent?.blockNumber == null) return null;
      const { timestamp } = await getBlock(client, { blockNumber: sent.blockNumber });
      return { from: sent.from, nonce: sent.nonce, data: sent.input, minedAt: 1_000 * Number(timestamp) };
    },
    count: async (address) => {
      if (!isAddress(address, { strict: false })) throw new Misuse(`${address} is no address`);
      if ((await getChainId(client)) !== 8453) throw new Misuse(`${url} does not serve Base`);
      return getTransactionCount(client, { address });
    },
  };
}

// 7. All of it, reading and reporting.

type Means = { head?: string; market?: Market; anchor?: Anchor };

/** Checks a record with what is at hand, and says what it could not check. @throws Unreadable */
export async function verify(record: SignalRecord, { head, market, anchor }: Means = {}): Promise<Findings> {
  const found: Findings = { problems: [], notes: [], unchecked: [] };
  checkChain(record, head, found);
  const stories = storiesOf(record, found);
  checkShown(record, stories, found);
  if (market === undefined) found.unchecked.push("entries and outcomes against the market: --candles venue");
  else await checkMarket(stories, market, found);
  if (anchor === undefined)
    found.unchecked.push("since when the events are fixed: --rpc URL --anchor ADDRESS");
  else await checkAnchors(record, stories, anchor, found);
  return found;
}

class Unreadable extends Error {}
class Misuse extends Error {}

async function fetched(url: string): Promise<unknown> {
  try {
    // Coinbase answers only requests with a user agent.
    const headers = { "User-Agent": "verify-signals" };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.json();
  } catch (error) {
    throw new Unreadable(`${url} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function shaped<Shape extends z.ZodType>(shape: Shape, value: unknown, where: string): z.output<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  throw new Unreadable(`${where} is not as expected: ${z.prettifyError(result.error)}`);
}

const proofPage = z.object({ events: z.array(event), head: headShape });
const anchorPage = z.object({
  addresses: z.array(z.string()),
  anchors: z.array(z.object({ nonce: z.int(), txHashes: z.array(z.string()) })),
});
const exported = z.object({ signals: z.array(shownShape) });

/** @param read One answer of the deployment, by its path. */
export async function recordFrom(
  read: (path: string) => Promise<unknown>,
  now: number,
): Promise<SignalRecord> {
  const page = async <Shape extends z.ZodType>(path: string, shape: Shape) =>
    shaped(shape, await read(path), path);
  const record: SignalRecord = { events: [], head: null, signals: [], stats: {}, anchors: {}, readAt: now };
  for (let size = 500; size === 500;) {
    const { events, head } = await page(`/signals/proof?after=${record.events.length}&limit=500`, proofPage);
    size = events.length;
    record.events.push(...events);
    record.head = head;
  }
  record.signals = (await page("/signals/export.json", exported)).signals;
  for (const scope of ["ALL", "BTC", "ETH"]) {
    const path = `/mcp/signals/history?limit=1${scope === "ALL" ? "" : `&token=${scope}`}`;
    record.stats[scope] = (await page(path, z.object({ stats: z.unknown() }))).stats;
  }
  for (const address of (await page("/signals/anchors?limit=1", anchorPage)).addresses) {
    const tries: Record<string, string[]> = {};
    for (let from = 0, size = 500; size === 500; from += 500) {
      const path = `/signals/anchors?address=${address}&from=${from}&limit=500`;
      const { anchors } = await page(path, anchorPage);
      for (const { nonce, txHashes } of anchors) tries[nonce] = txHashes;
      size = anchors.length;
    }
    record.anchors[address] = tries;
  }
  if ((await page("/signals/proof?limit=1", proofPage)).head?.hash === record.head?.hash) return record;
  throw new Unreadable("A signal was issued or closed while the record was read: try again");
}

const row = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown());

const VENUE = "https://api.exchange.coinbase.com";

/** A venue's minutes by an API like Coinbase's, 300 at a time. */
function venueMarket(base: string): Market {
  return async (token, from, to) => {
    const minutes: Minute[] = [];
    for (let first = Math.floor(from / MINUTE) * MINUTE; first <= to; first += 300 * MINUTE) {
      const [start, end] = [first, first + 299 * MINUTE].map((at) => new Date(at).toISOString());
      const url = `${base}/products/${token}-USD/candles?granularity=60&start=${start}&end=${end}`;
      for (const [at, low, high, open, close] of shaped(z.array(row), await fetched(url), url))
        minutes.push({ openedAt: 1_000 * at, open, high, low, close });
      // As the venue asks.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    return minutes;
  };
}

export async function main(args: readonly string[]): Promise<number> {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = { candles: text, rpc: text, anchor: text, head: text, json: flag, help: flag };
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const { rpc, anchor, candles } = values;
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Misuse("Name one service by its URL");
  if ((rpc === undefined) !== (anchor === undefined))
    throw new Misuse("--anchor and --rpc go together: one without the other checks nothing");
  const base = source.replace(/\/+$/, "");
  const record = await recordFrom((path) => fetched(base + path), Date.now());
  const means: Means = {};
  if (values.head !== undefined) means.head = values.head.toLowerCase();
  if (candles !== undefined) means.market = venueMarket(candles === "venue" ? VENUE : candles);
  if (rpc !== undefined && anchor !== undefined) means.anchor = { address: anchor, chain: chainReader(rpc) };
  const found = await verify(record, means);
  const holds = found.problems.length === 0;
  const { events, head } = record;
  if (values.json === true)
    console.log(JSON.stringify({ holds, ...found, events: events.length, head }, null, 2));
  else {
    console.log(
      holds
        ? `✓ The record holds, as far as it was checked: ${events.length} events, head ${head?.hash ?? "none"}`
        : `✗ The record does not hold (${found.problems.length} found):`,
    );
    for (const problem of found.problems) console.log(`  - ${problem}`);
    for (const note of found.notes) console.log(`  Note: ${note}`);
    if (found.unchecked.length > 0) console.log(["Not checked:", ...found.unchecked].join("\n  - "));
  }
  return holds ? 0 : 1;
}

if (process.argv[1]?.endsWith("verifySignals.ts") === true) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    const isKnown = [Unreadable, Misuse, TypeError, BaseError].some((one) => error instanceof one);
    console.error(isKnown ? `${String(error)}. --help says how it is used.` : error);
    process.exitCode = 2;
  }
}
