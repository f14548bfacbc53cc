import { hash } from "node:crypto";
import { parseArgs } from "node:util";
import { BaseError, createPublicClient, http, isAddress, isHash, stringToHex, type Address } from "viem";
import * as z from "zod";

/**
 * `npm run verify-signals`: holds a signal record against its hash chain, its own rules, the market and its anchors. It
 * imports nothing of the service that it checks and works everything out anew, so that it can be read on its own.
 */

const USAGE = `Usage: npm run verify-signals -- URL [--candles venue|URL] [--rpc URL --anchor ADDRESS] [--head HASH]

  --candles  where one-minute candles are, to compute entries and outcomes again: "venue" is Coinbase's public API
  --rpc      an RPC of Base, such as https://mainnet.base.org, to read what the account of the anchors has sent
  --head     the chain's head as it was published on a card, which rules out a rewritten chain

Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

// 1. What a record is.

const price = z.number().positive().nullable();
const time = z.iso.datetime().transform((text) => Date.parse(text));
/** What the events tell of a signal. */
const signalShape = z.object({
  token: z.enum(["BTC", "ETH"]),
  day: z.iso.date(),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().positive(),
  tp1: price,
  tp2: price,
  sl: price,
  confidence: z.number().int().min(0).max(100),
  costBps: z.number().nonnegative(),
  generatedAt: time,
  expiresAt: time,
  priceSource: z.string(),
  priceObservedAt: time,
  status: z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]),
  closedAt: time.optional(),
  exitPrice: price.optional(),
  pnlPercent: z.number().nullable().optional(),
  gapMinutes: z.number().nonnegative().optional(),
});
export type Signal = z.output<typeof signalShape>;

const event = z.object({
  sequence: z.int().positive(),
  kind: z.enum(["issued", "closed", "none"]),
  content: z.looseObject({ token: z.string(), day: z.iso.date() }),
  contentHash: z.string(),
  previousHash: z.string(),
  hash: z.string(),
  anchors: z.array(z.object({ address: z.string(), txHashes: z.array(z.string()) })),
});
const shownShape = z.looseObject({ id: z.string() });
export type SignalRecord = {
  events: z.output<typeof event>[];
  /** The hash of the chain's head, as the deployment says. */
  head: string | undefined;
  /** Every signal as the deployment shows it, and its statistics of each token and of both. */
  signals: z.output<typeof shownShape>[];
  stats: Record<string, unknown>;
  readAt: number;
};
export type Findings = { problems: string[]; notes: string[]; unchecked: string[] };

// 2. The chain.

/** SHA-256 of a flat object as JSON with its keys sorted (RFC 8785). */
function hashOf(fields: Record<string, unknown>): string {
  const keys = Object.keys(fields).toSorted();
  const members = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return hash("sha256", `{${members.join(",")}}`, "hex");
}

function checkChain({ events, head }: SignalRecord, published: string | undefined, found: Findings): void {
  let last = "0".repeat(64);
  for (const { sequence, kind, content, contentHash, previousHash, hash: own } of events) {
    const isHashed = hashOf(content) === contentHash;
    const isLinked = hashOf({ sequence, kind, contentHash, previousHash }) === own;
    if (!isHashed || !isLinked || events[sequence - 1]?.hash !== own || previousHash !== last)
      found.problems.push(`event ${sequence} is not what was hashed, or does not follow the one before it`);
    last = own;
  }
  if (events.length > 0 && head !== last) found.problems.push("the head is not the last event");
  if (published === undefined)
    found.unchecked.push("whether the whole chain was rewritten: name a --head from a card");
  else if (!events.some((one) => one.hash === published))
    found.problems.push(`no event has the published hash ${published}: history was rewritten`);
}

// 3. The rules: what may be issued, how it may end, and one story for each token and day.

/** What the events tell of a token's day: raw, and read; none if it got no signal. */
type Story = { name: string; sequence: number; told: Record<string, unknown>; signal: Signal | null };

function storiesOf({ events, readAt }: SignalRecord, { problems }: Findings): Story[] {
  const stories = new Map<string, Story>();
  for (const { sequence, kind, content } of events) {
    const name = `${content.token}-${content.day}`;
    const story = stories.get(name);
    if (kind !== "closed" && story === undefined) {
      const told = { ...content, status: kind === "none" ? "none" : "PENDING" };
      stories.set(name, { name, sequence, told, signal: null });
    } else if (kind === "closed" && story?.told["status"] === "PENDING") Object.assign(story.told, content);
    else problems.push(`event ${sequence}: ${name} had been told before, or was never issued`);
  }
  for (const story of stories.values())
    if (story.told["status"] !== "none") {
      story.signal = shaped(signalShape, story.told, story.name);
      if (!mayBeIssued(story.signal)) problems.push(`${story.name} breaks the rules of issue`);
      if (!mayEnd(story.signal, readAt)) problems.push(`${story.name} cannot have ended like this`);
    }
  // The days up to the last one are over, or told by its first event.
  const days = events.map(({ content }) => Date.parse(content.day));
  for (let day = Math.min(...days); day < Math.max(...days); day += DAY)
    for (const name of [`BTC-${dayOf(day)}`, `ETH-${dayOf(day)}`])
      if (!stories.has(name)) problems.push(`${name} has no event: a day was left out`);
  return [...stories.values()];
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

type Position = { side: 1 | -1; entry: number; tp1: number; sl: number };

function positionOf({ signal, entry, tp1, sl }: Signal): Position | null {
  if (signal === "HOLD" || tp1 === null || sl === null) return null;
  return { side: signal === "BUY" ? 1 : -1, entry, tp1, sl };
}

/** Where between stop (0) and target (1) a price without direction ends, and what the costs are of that way. */
const chanceOf = ({ entry, tp1, sl }: Position) => Math.abs(entry - sl) / Math.abs(tp1 - sl);
const costShareOf = ({ entry, tp1, sl }: Position, bps: number) =>
  ((bps / 10_000) * entry) / Math.abs(tp1 - sl);

const HAIR = 1e-9;

function mayBeIssued(one: Signal): boolean {
  const { tp2, costBps, generatedAt: at } = one;
  const isTimely = dayOf(at) === one.day && one.expiresAt === at + 6 * HOUR;
  if (!isTimely || Math.abs(at - one.priceObservedAt) > MINUTE) return false;
  const position = positionOf(one);
  if (position === null) return one.signal === "HOLD" && one.tp1 === null && tp2 === null && one.sl === null;
  const { side, entry, tp1, sl } = position;
  const [reward, risk] = [side * (tp1 - entry), side * (entry - sl)];
  return (
    side * ((tp2 ?? NaN) - tp1) >= 0 &&
    reward / entry > costBps / 10_000 &&
    risk / entry >= 0.0015 - HAIR &&
    reward / risk >= 0.8 - HAIR &&
    one.confidence / 100 >= chanceOf(position) + costShareOf(position, costBps) - HAIR
  );
}

/** The tracker looks every half hour, waits two hours for late candles, and gives up without a price after twelve. */
const SLOWEST = 15 * HOUR;

/** Whether an end is one of this signal's: in its life, at its level, with the result that follows. */
function mayEnd({ status, signal, entry, ...one }: Signal, readAt: number): boolean {
  const { generatedAt, expiresAt, closedAt = NaN, exitPrice = null, pnlPercent = null } = one;
  if (status === "PENDING") return readAt - generatedAt <= SLOWEST;
  const change = exitPrice === null || signal === "HOLD" ? null : 100 * (exitPrice / entry - 1);
  const result = change === null ? null : Number((signal === "BUY" ? change : -change).toFixed(6)) + 0;
  if (result !== pnlPercent) return false;
  if (status === "EXPIRED") return closedAt === expiresAt;
  const level = status === "WIN" ? one.tp1 : one.sl;
  return closedAt >= generatedAt && closedAt <= expiresAt && exitPrice === level && level !== null;
}

// 4. The record: the same figures, from the events alone.

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
const meanOf = (values: readonly number[]) => sum(values) / values.length;
const ratio = (over: number, under: number) => (under === 0 ? null : over / under);

/** A day's excess is never below: reward to risk is at least 0.8, and the target lies beyond the costs. */
const [LEAST, LEAST_NET] = [-(5 / 9) - 1e-6, -1 - 1e-6];

/** Wealth of a bet on days above `m` (below it with `sign` -1): Waudby-Smith and Ramdas, JRSS B 86, 2024. */
function wealth(days: readonly number[], m: number, floor: number, sign = 1): number {
  const worst = sign === 1 ? m - floor : 1 - m;
  const stakes = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2].map((most) => Math.min(most, 0.7 / worst));
  return meanOf(stakes.map((stake) => Math.exp(sum(days.map((x) => Math.log1p(stake * sign * (x - m)))))));
}

/** The mean nearest to the middle that the days rule out, in points. */
function bound(days: readonly number[], sign: 1 | -1): number {
  let [out, within] = [sign === 1 ? LEAST : 1, days.length === 0 ? 0 : meanOf(days)];
  if (wealth(days, out, LEAST, sign) < 20) return 100 * out;
  for (let step = 0; step < 50; step++) {
    const middle = (out + within) / 2;
    if (wealth(days, middle, LEAST, sign) >= 20) out = middle;
    else within = middle;
  }
  return 100 * within;
}

function resultsOf(values: readonly number[]) {
  const [gains, falls] = [values.filter((one) => one > 0), values.filter((one) => one < 0)];
  return {
    totalPnlPercent: sum(values),
    expectancyPercent: ratio(sum(values), values.length),
    profitFactor: ratio(sum(gains), -sum(falls)),
  };
}

function riskOf(results: readonly number[]) {
  if (results.length < 30) return { sharpe: null, sortino: null, maxDrawdownPercent: null };
  const mean = meanOf(results);
  const deviation = Math.sqrt(sum(results.map((one) => (one - mean) ** 2)) / (results.length - 1));
  const downside = Math.sqrt(meanOf(results.map((one) => Math.min(0, one) ** 2)));
  const sums = results.map((_, index) => sum(results.slice(0, index + 1)));
  const falls = sums.map((one, index) => Math.max(0, ...sums.slice(0, index)) - one);
  const maxDrawdownPercent = Math.max(0, ...falls);
  return {
    sharpe: deviation < HAIR ? null : mean / deviation,
    sortino: ratio(mean, downside),
    maxDrawdownPercent,
  };
}

/** A trade's excess over the chance of its levels: at least, at most, and at least after costs. With gaps it is unknown. */
function excessOf({ exitPrice = null, gapMinutes = 0, costBps }: Signal, position: Position) {
  const { tp1, sl } = position;
  const chance = chanceOf(position);
  const known = exitPrice === null ? null : (exitPrice - sl) / (tp1 - sl) - chance;
  const [low, high] = [known ?? -chance, known ?? 1 - chance];
  const [least, most] = gapMinutes > 5 ? [Math.min(0, low), Math.max(0, high)] : [low, high];
  return { least, most, net: least - costShareOf(position, costBps) };
}

/** Every figure of a record that follows from its events. */
export function statisticsOf(signals: readonly Signal[]) {
  const ended = signals.filter(({ status }) => status !== "PENDING");
  const trades = ended.flatMap((one) => {
    const position = positionOf(one);
    return position === null ? [] : [{ ...one, ...excessOf(one, position) }];
  });
  const count = (wanted: Signal["status"]) => ended.filter(({ status }) => status === wanted).length;
  // BTC and ETH move together, so a day is one observation.
  const days = [...new Set(trades.map(({ day }) => day))].map((day) =>
    trades.filter((one) => one.day === day),
  );
  const means = (of: "least" | "most" | "net") => days.map((day) => meanOf(day.map((one) => one[of])));
  const [least, most, net] = [means("least"), means("most"), means("net")];
  const results = trades
    .toSorted((a, b) => (a.closedAt ?? 0) - (b.closedAt ?? 0))
    .flatMap(({ pnlPercent, costBps }) => (pnlPercent == null ? [] : [{ gross: pnlPercent, costBps }]));
  const afterCosts = results.map(({ gross, costBps }) => Number((gross - costBps / 100).toFixed(6)));
  const held = ["BTC", "ETH"].flatMap((token) => {
    const own = ended.filter((one) => one.token === token).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const [first, last] = [own[0], own.at(-1)];
    return first && last ? [100 * ((last.exitPrice ?? last.entry) / first.entry - 1)] : [];
  });
  const isWorse = wealth(most, 0, LEAST, -1) >= 20;
  const judged = isWorse ? "worse than chance" : "not told from chance";
  const verdict = wealth(net, 0, LEAST_NET) >= 20 ? "better than chance" : judged;
  return {
    n: ended.length,
    wins: count("WIN"),
    losses: count("LOSS"),
    expired: count("EXPIRED"),
    holds: ended.length - trades.length,
    gaps: trades.filter(({ gapMinutes = 0 }) => gapMinutes > 5).length,
    winrate: ratio(100 * count("WIN"), count("WIN") + count("LOSS")),
    trades: results.length,
    beforeCosts: resultsOf(results.map(({ gross }) => gross)),
    afterCosts: resultsOf(afterCosts),
    buyAndHoldPercent: ratio(sum(held), held.length),
    risk: riskOf(afterCosts),
    edge: {
      days: days.length,
      excessPoints: ratio(100 * sum(least), days.length),
      afterCostsPoints: ratio(100 * sum(net), days.length),
      lowPoints: bound(least, 1),
      highPoints: bound(most, -1),
      verdict: trades.length < 30 ? "no record yet" : verdict,
    },
    reliability: { bins: [0, 20, 40, 60, 80].map((from) => binOf(trades, from)) },
  };
}

/** How many of the signals stated at so much confidence were decided, and won. */
function binOf(trades: readonly Signal[], from: number) {
  const own = trades.filter(({ confidence }) => Math.min(80, confidence - (confidence % 20)) === from);
  const won = own.filter(({ status }) => status === "WIN").length;
  const n = own.filter(({ status }) => status !== "EXPIRED").length;
  return { from, n, winrate: ratio(100 * won, n) };
}

/** What is told otherwise than it is due, but for rounding. Fields that are not due are not looked at. */
export function differences(told: unknown, due: unknown, path: string): string[] {
  if (typeof due === "object" && due !== null) {
    const shown = new Map<string, unknown>(Object.entries(typeof told === "object" ? (told ?? {}) : {}));
    return Object.entries(due).flatMap(([key, value]) =>
      differences(shown.get(key), value, `${path}.${key}`),
    );
  }
  const isNumber = typeof due === "number" && typeof told === "number";
  const isSame = isNumber ? Math.abs(told - due) <= 1e-6 * Math.max(1, Math.abs(due)) : told === due;
  return isSame ? [] : [`${path} is shown as ${String(told)}, it is ${String(due)}`];
}

/** What events tell and signals do not show. */
const HIDDEN = new Set(["day", "costBps", "priceSource", "priceObservedAt"]);

function checkShown(
  { signals, stats }: SignalRecord,
  stories: readonly Story[],
  { problems }: Findings,
): void {
  const issued = stories.flatMap(({ signal, ...story }) => (signal === null ? [] : [{ ...story, signal }]));
  for (const { id } of signals)
    if (!issued.some(({ name }) => name === id)) problems.push(`${id} is shown, but no event issued it`);
  for (const { name, told } of issued) {
    const due = Object.fromEntries(Object.entries(told).filter(([field]) => !HIDDEN.has(field)));
    problems.push(
      ...differences(
        signals.find(({ id }) => id === name),
        due,
        name,
      ),
    );
  }
  for (const [scope, told] of Object.entries(stats)) {
    const own = issued.map(({ signal }) => signal).filter(({ token }) => scope === "" || scope === token);
    problems.push(...differences(told, statisticsOf(own), `stats of ${scope || "both"}`));
  }
}

// 5. The market.

type Minute = { openedAt: number; open: number; high: number; low: number; close: number };
/** Minutes of a token that open in [from, to], epoch ms. @throws Failure */
export type Market = (token: string, from: number, to: number) => Promise<Minute[]>;

/**
 * The first level touched decides, the stop where one minute holds both. Of the minute of issue its close counts and how
 * far it went against the position; of the minute of expiry only the open. `null` where minutes are missing that decide.
 */
function endBy(read: readonly Minute[], signal: Signal) {
  const { generatedAt: from, expiresAt: to } = signal;
  const minutes = new Map(read.map((one) => [one.openedAt, one]));
  const position = positionOf(signal);
  const last = to - (to % MINUTE);
  for (let at = from - (from % MINUTE); position !== null && at <= last; at += MINUTE) {
    const one = minutes.get(at);
    if (one === undefined) return null;
    const { side, sl, tp1 } = position;
    const [worst, best] = side === 1 ? [one.low, one.high] : [one.high, one.low];
    const [against, towards] = at === last ? [one.open, one.open] : [worst, at < from ? one.close : best];
    if (side * (against - sl) <= 0) return { status: "LOSS", price: sl, at: Math.max(at, from) };
    if (side * (towards - tp1) >= 0) return { status: "WIN", price: tp1, at: at < from ? at + MINUTE : at };
  }
  const close = minutes.get(last - MINUTE)?.close;
  if (close === undefined) return null;
  const levels = position === null ? [close] : [position.tp1, position.sl];
  return {
    status: "EXPIRED",
    price: Math.min(Math.max(close, Math.min(...levels)), Math.max(...levels)),
    at: to,
  };
}

async function checkMarket(stories: readonly Story[], market: Market, found: Findings): Promise<void> {
  for (const { name, signal } of stories) {
    if (signal === null) continue;
    const { entry, token, priceObservedAt: seen, status, closedAt = NaN, exitPrice, gapMinutes = 0 } = signal;
    const minutes = await market(token, seen - 2 * MINUTE, signal.expiresAt);
    const around = minutes.filter(({ openedAt }) => Math.abs(openedAt + MINUTE / 2 - seen) <= 1.5 * MINUTE);
    const hair = entry * (signal.priceSource === "coinbase" ? 0.0005 : 0.002);
    const low = Math.min(...around.map((one) => one.low)) - hair;
    const high = Math.max(...around.map((one) => one.high)) + hair;
    const due = endBy(minutes, signal);
    if (around.length === 0 || (status !== "PENDING" && due === null))
      found.unchecked.push(`${name}: the market's minutes have gaps`);
    if (around.length > 0 && (entry < low || entry > high))
      found.problems.push(`${name} was entered at ${entry}; the market stood between ${low} and ${high}`);
    if (status === "PENDING" || due === null) continue;
    const isNear = Math.abs((exitPrice ?? Infinity) - due.price) <= 0.0005 * entry;
    if (due.status !== status || !isNear || Math.abs(closedAt - due.at) > MINUTE)
      found.problems.push(
        `${name}: by the market's minutes it was ${due.status} at ${due.price}, ${dayOf(due.at)}`,
      );
    if (gapMinutes > 5) found.notes.push(`${name} counts as having gaps, but the market has every minute`);
  }
}

// 6. The anchors.

/** A transaction in a block; `minedAt` is epoch ms. */
type Mined = { from: string; nonce: number; input: string; minedAt: number };
/** `mined` is `null` for a hash that is in no block; `count` is how many transactions of an account are in one. */
type Chain = { mined(txHash: string): Promise<Mined | null>; count(address: Address): Promise<number> };
type Anchor = { address: Address; chain: Chain };

async function checkAnchors(
  record: SignalRecord,
  stories: Story[],
  { address, chain }: Anchor,
  found: Findings,
) {
  const isOwn = (one: { address: string }) => one.address.toLowerCase() === address.toLowerCase();
  const fixed: { sequence: number; minedAt: number }[] = [];
  const nonces = new Set<number>();
  for (const { sequence, hash: own, anchors } of record.events)
    for (const txHash of anchors.filter(isOwn).flatMap(({ txHashes }) => txHashes)) {
      const mined = await chain.mined(txHash);
      if (mined === null || !isOwn({ address: mined.from })) continue;
      nonces.add(mined.nonce);
      if (mined.input === stringToHex(`signal record ${sequence} ${own}`))
        fixed.push({ sequence, minedAt: mined.minedAt });
      else if (mined.input === "0x") found.notes.push(`${txHash} holds no anchor: it took the place of one`);
      else found.problems.push(`${txHash} does not hold event ${sequence}: history was rewritten`);
    }
  const count = await chain.count(address);
  if (count !== nonces.size)
    found.problems.push(`${address} has sent ${count} transactions, and the record shows ${nonces.size}`);
  const anchored = stories.flatMap(({ name, sequence, signal }) => {
    const at = Math.min(...fixed.filter((one) => one.sequence >= sequence).map((one) => one.minedAt));
    if (signal === null || !Number.isFinite(at)) return [];
    if (signal.generatedAt > at + MINUTE) found.problems.push(`${name} is from after its anchor`);
    return [(signal.closedAt ?? Infinity) > at];
  });
  const early = anchored.filter(Boolean).length;
  found.notes.push(`${early} of ${anchored.length} anchored signals were anchored before their outcome`);
}

function chainAt(url: string): Chain {
  const client = createPublicClient({ transport: http(url) });
  return {
    mined: async (hash) => {
      if (!isHash(hash)) return null;
      const sent = await client.request({ method: "eth_getTransactionByHash", params: [hash] });
      if (sent?.blockHash == null) return null;
      const { timestamp } = await client.getBlock({ blockHash: sent.blockHash });
      return {
        from: sent.from,
        nonce: Number(sent.nonce),
        input: sent.input,
        minedAt: 1_000 * Number(timestamp),
      };
    },
    count: async (address) => {
      if ((await client.getChainId()) !== 8453) throw new Failure(`${url} does not serve Base`);
      return client.getTransactionCount({ address });
    },
  };
}

// 7. All of it, reading and reporting.

type Means = { head?: string | undefined; market?: Market | undefined; anchor?: Anchor | undefined };

/** Checks a record with what is at hand, and says what it could not check. @throws Failure */
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

/** A reason for the person who asked. */
class Failure extends Error {}

async function fetched(url: string): Promise<unknown> {
  // Coinbase answers only requests with a user agent.
  const init = { headers: { "User-Agent": "verify-signals" }, signal: AbortSignal.timeout(30_000) };
  const response = await fetch(url, init);
  if (!response.ok) throw new Failure(`${url} answers with status ${response.status}`);
  return response.json();
}

function shaped<Shape extends z.ZodType>(shape: Shape, value: unknown, where: string): z.output<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  throw new Failure(`${where} is not as expected: ${z.prettifyError(result.error)}`);
}

const proofShape = z.object({ events: z.array(event), head: z.object({ hash: z.string() }).nullable() });
const exportShape = z.object({ signals: z.array(shownShape) });
const historyShape = z.object({ stats: z.unknown() });

/** @param read One answer of the deployment, by its path. */
export async function recordFrom(read: (path: string) => Promise<unknown>): Promise<SignalRecord> {
  const proof = async (after: number) => {
    const path = `/signals/proof?after=${after}&limit=500`;
    return shaped(proofShape, await read(path), path);
  };
  const events: SignalRecord["events"] = [];
  for (let page = await proof(0); page.events.length > 0; page = await proof(events.length))
    events.push(...page.events);
  const { signals } = shaped(exportShape, await read("/signals/export.json"), "/signals/export.json");
  const stats: SignalRecord["stats"] = {};
  for (const token of ["", "BTC", "ETH"])
    stats[token] = shaped(
      historyShape,
      await read(`/mcp/signals/history?token=${token}`),
      "the history",
    ).stats;
  const head = (await proof(events.length)).head?.hash;
  return { events, head, signals, stats, readAt: Date.now() };
}

const VENUE = "https://api.exchange.coinbase.com";
const row = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown());

/** A venue's minutes by an API like Coinbase's, 300 at a time. */
function venueMarket(base: string): Market {
  return async (token, from, to) => {
    const minutes: Minute[] = [];
    for (let first = from - (from % MINUTE); first <= to; first += 300 * MINUTE) {
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

const text = { type: "string" } as const;

export async function main(args: string[]): Promise<number> {
  const options = { candles: text, rpc: text, anchor: text, head: text, help: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { rpc, anchor: address, candles } = values;
  const [source] = positionals;
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  if (source === undefined || positionals.length > 1) throw new Failure("Name one service by its URL");
  if ((rpc === undefined) !== (address === undefined))
    throw new Failure("--anchor and --rpc go together: one without the other checks nothing");
  if (address !== undefined && !isAddress(address)) throw new Failure(`${address} is no address`);
  const base = source.replace(/\/+$/, "");
  const record = await recordFrom((path) => fetched(base + path));
  const { problems, notes, unchecked } = await verify(record, {
    head: values.head?.toLowerCase(),
    market: candles === undefined ? undefined : venueMarket(candles === "venue" ? VENUE : candles),
    anchor: rpc === undefined || address === undefined ? undefined : { address, chain: chainAt(rpc) },
  });
  const size = `${record.events.length} events, head ${record.head ?? "none"}`;
  if (problems.length === 0) console.log(`✓ The record holds, as far as it was checked: ${size}`);
  else console.log(["✗ The record does not hold:", ...problems].join("\n  - "));
  for (const note of notes) console.log(`  Note: ${note}`);
  if (unchecked.length > 0) console.log(["Not checked:", ...unchecked].join("\n  - "));
  return problems.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith("verifySignals.ts") === true) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    const isKnown = [Failure, TypeError, SyntaxError, BaseError].some((one) => error instanceof one);
    console.error(isKnown ? `${String(error)}. --help says how it is used.` : error);
    process.exitCode = 2;
  }
}
