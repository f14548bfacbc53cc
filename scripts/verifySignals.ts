import { hash } from "node:crypto";
import { parseArgs } from "node:util";
import { BaseError, createPublicClient, http, isAddress, isHash, stringToHex, type Address } from "viem";
import * as z from "zod";

/**
 * `npm run verify-signals`: holds a signal record against its hash chain, its own rules, the market and its anchors. It
 * imports nothing of the service that it checks and works everything out anew, so that it can be read on its own.
 */

const USAGE = `Usage: npm run verify-signals -- URL [--candles venue|URL] [--rpc URL --anchor ADDRESS] [--head HASH]

Computes entries and outcomes again from one-minute --candles ("venue": Coinbase's public API), reads from an RPC of Base
what the account of the anchors has sent, and looks for a hash that a card has published as the --head.
Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

// 1. What a record is.

const price = z.number().positive().nullable();
const time = z.iso.datetime().transform((text) => Date.parse(text));
/** A signal as its events tell it, and what follows. A HOLD has no levels. */
const signalShape = z
  .object({
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
    closedAt: time.default(NaN),
    exitPrice: price.default(null),
    pnlPercent: z.number().nullable().default(null),
    gapMinutes: z.number().nonnegative().default(0),
  })
  .transform(({ tp1, sl, ...one }) => {
    const [target, stop, side] = [tp1 ?? NaN, sl ?? NaN, { BUY: 1, SELL: -1, HOLD: 0 }[one.signal]];
    // Where between stop (0) and target (1) a price without direction ends, and what the costs are of that way.
    const chance = Math.abs(one.entry - stop) / Math.abs(target - stop);
    const costs = ((one.costBps / 10_000) * one.entry) / Math.abs(target - stop);
    // A trade's excess over that chance, at least and at most. With gaps it is unknown.
    const known = one.exitPrice === null ? null : (one.exitPrice - stop) / (target - stop) - chance;
    const [low, high] = [known ?? -chance, known ?? 1 - chance];
    const [least, most] = one.gapMinutes > 5 ? [Math.min(0, low), Math.max(0, high)] : [low, high];
    return { ...one, side, target, stop, chance, costs, least, most, net: least - costs };
  });
type Signal = z.output<typeof signalShape>;
export const signalFrom = (told: unknown): Signal => shaped(signalShape, told, "a signal");

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
export type SignalRecord = Awaited<ReturnType<typeof recordFrom>>;
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

/** What the events tell of a token's day, raw and read; `null` if it got no signal. */
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
      story.signal = signalFrom(story.told);
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

const HAIR = 1e-9;

function mayBeIssued({ side, entry, target, stop, tp2, ...one }: Signal): boolean {
  const isTimely = dayOf(one.generatedAt) === one.day && one.expiresAt === one.generatedAt + 6 * HOUR;
  if (!isTimely || Math.abs(one.generatedAt - one.priceObservedAt) > MINUTE) return false;
  if (side === 0) return Number.isNaN(target) && Number.isNaN(stop) && tp2 === null;
  const [reward, risk] = [side * (target - entry), side * (entry - stop)];
  return (
    side * ((tp2 ?? NaN) - target) >= 0 &&
    reward / entry > one.costBps / 10_000 &&
    risk / entry >= 0.0015 - HAIR &&
    reward / risk >= 0.8 - HAIR &&
    one.confidence / 100 >= one.chance + one.costs - HAIR
  );
}

/** The tracker looks every half hour, waits two hours for late candles, and gives up without a price after twelve. */
const SLOWEST = 15 * HOUR;

/** Whether an end is one of this signal's: in its life, at its level, with the result that follows. */
function mayEnd(
  { status, side, entry, exitPrice, pnlPercent, closedAt, ...one }: Signal,
  readAt: number,
): boolean {
  if (status === "PENDING") return readAt - one.generatedAt <= SLOWEST;
  const result = exitPrice === null || side === 0 ? null : side * (exitPrice / entry - 1) * 100;
  if ((result === null ? null : Number(result.toFixed(6)) + 0) !== pnlPercent) return false;
  if (status === "EXPIRED") return closedAt === one.expiresAt;
  const isAtLevel = exitPrice === (status === "WIN" ? one.target : one.stop);
  return isAtLevel && closedAt >= one.generatedAt && closedAt <= one.expiresAt;
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

const resultsOf = (values: readonly number[]) => ({
  totalPnlPercent: sum(values),
  expectancyPercent: ratio(sum(values), values.length),
  profitFactor: ratio(sum(values.filter((one) => one > 0)), -sum(values.filter((one) => one < 0))),
});

function riskOf(results: readonly number[]) {
  if (results.length < 30) return { sharpe: null, sortino: null, maxDrawdownPercent: null };
  const mean = meanOf(results);
  const deviation = Math.sqrt(sum(results.map((one) => (one - mean) ** 2)) / (results.length - 1));
  const downside = Math.sqrt(meanOf(results.map((one) => Math.min(0, one) ** 2)));
  const sums = results.map((_, index) => sum(results.slice(0, index + 1)));
  const falls = sums.map((one, index) => Math.max(0, ...sums.slice(0, index)) - one);
  const sharpe = deviation < HAIR ? null : mean / deviation;
  return { sharpe, sortino: ratio(mean, downside), maxDrawdownPercent: Math.max(0, ...falls) };
}

/** Every figure of a record that follows from its events. */
export function statisticsOf(signals: readonly Signal[]) {
  const ended = signals.filter(({ status }) => status !== "PENDING");
  const trades = ended.filter(({ side }) => side !== 0).toSorted((a, b) => a.closedAt - b.closedAt);
  const count = (wanted: Signal["status"]) => ended.filter(({ status }) => status === wanted).length;
  // BTC and ETH move together, so a day is one observation.
  const names = [...new Set(trades.map(({ day }) => day))];
  const days = names.map((name) => trades.filter(({ day }) => day === name));
  const means = (of: "least" | "most" | "net") => days.map((day) => meanOf(day.map((one) => one[of])));
  const [least, most, net] = [means("least"), means("most"), means("net")];
  const results = trades.flatMap(({ pnlPercent: of, costBps }) => (of === null ? [] : [{ of, costBps }]));
  const afterCosts = results.map(({ of, costBps }) => Number((of - costBps / 100).toFixed(6)));
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
    gaps: trades.filter(({ gapMinutes }) => gapMinutes > 5).length,
    winrate: ratio(100 * count("WIN"), count("WIN") + count("LOSS")),
    trades: results.length,
    beforeCosts: resultsOf(results.map(({ of }) => of)),
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

function checkShown({ signals, stats }: SignalRecord, stories: readonly Story[], found: Findings): void {
  const issued = stories.flatMap(({ signal, ...story }) => (signal === null ? [] : [{ ...story, signal }]));
  const shown = new Map(signals.map((one) => [one.id, one]));
  for (const { name, told } of issued) {
    const due = Object.fromEntries(Object.entries(told).filter(([field]) => !HIDDEN.has(field)));
    found.problems.push(...differences(shown.get(name), due, name));
    shown.delete(name);
  }
  for (const id of shown.keys()) found.problems.push(`${id} is shown, but no event issued it`);
  for (const [scope, told] of Object.entries(stats)) {
    const own = issued.map(({ signal }) => signal).filter(({ token }) => scope === "" || scope === token);
    found.problems.push(...differences(told, statisticsOf(own), `stats of ${scope || "both"}`));
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
function endBy(read: readonly Minute[], { generatedAt: from, expiresAt: to, side, target, stop }: Signal) {
  const minutes = new Map(read.map((one) => [one.openedAt, one]));
  const last = to - (to % MINUTE);
  for (let at = from - (from % MINUTE); side !== 0 && at <= last; at += MINUTE) {
    const one = minutes.get(at);
    if (one === undefined) return null;
    const [worst, best] = side === 1 ? [one.low, one.high] : [one.high, one.low];
    const [against, towards] = at === last ? [one.open, one.open] : [worst, at < from ? one.close : best];
    if (side * (against - stop) <= 0) return { status: "LOSS", price: stop, at: Math.max(at, from) };
    if (side * (towards - target) >= 0)
      return { status: "WIN", price: target, at: at < from ? at + MINUTE : at };
  }
  const close = minutes.get(last - MINUTE)?.close;
  if (close === undefined) return null;
  const levels = side === 0 ? [close] : [target, stop];
  const price = Math.min(Math.max(close, Math.min(...levels)), Math.max(...levels));
  return { status: "EXPIRED", price, at: to };
}

async function checkMarket(stories: readonly Story[], market: Market, found: Findings): Promise<void> {
  for (const { name, signal } of stories) {
    if (signal === null) continue;
    const { entry, token, priceObservedAt: seen, status, exitPrice } = signal;
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
    if (due.status !== status || !isNear || Math.abs(signal.closedAt - due.at) > MINUTE)
      found.problems.push(
        `${name}: by the market's minutes it was ${due.status} at ${due.price}, ${dayOf(due.at)}`,
      );
    if (signal.gapMinutes > 5)
      found.notes.push(`${name} counts as having gaps, but the market has every minute`);
  }
}

// 6. The anchors.

/** A transaction in a block; `minedAt` is epoch ms. */
type Mined = { from: string; nonce: number; input: string; minedAt: number };
/** `mined` is `null` for a hash that is in no block; `count` is how many transactions of an account are in one. */
type Chain = { mined(txHash: string): Promise<Mined | null>; count(address: Address): Promise<number> };
type Anchor = { address: Address; chain: Chain };

async function checkAnchors(record: SignalRecord, stories: Story[], anchor: Anchor, found: Findings) {
  const { address, chain } = anchor;
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
    return [!(signal.closedAt <= at)];
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
      const { from, nonce, input } = sent;
      return { from, nonce: Number(nonce), input, minedAt: 1_000 * Number(timestamp) };
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
export async function recordFrom(read: (path: string) => Promise<unknown>) {
  const get = async <Shape extends z.ZodType>(path: string, shape: Shape) =>
    shaped(shape, await read(path), path);
  const proof = async (after: number) => get(`/signals/proof?after=${after}&limit=500`, proofShape);
  const events: z.output<typeof event>[] = [];
  for (let page = await proof(0); page.events.length > 0; page = await proof(events.length))
    events.push(...page.events);
  const { signals } = await get("/signals/export.json", exportShape);
  const stats: Record<string, unknown> = {};
  for (const token of ["", "BTC", "ETH"])
    stats[token] = (await get(`/mcp/signals/history?token=${token}`, historyShape)).stats;
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
    }
    return minutes;
  };
}

export async function main(args: string[]): Promise<number> {
  const text = { type: "string" } as const;
  const options = { candles: text, rpc: text, anchor: text, head: text };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { rpc, anchor: address, candles } = values;
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Failure(USAGE);
  if ((rpc === undefined) !== (address === undefined))
    throw new Failure("--anchor and --rpc go together: one without the other checks nothing");
  if (address !== undefined && !isAddress(address)) throw new Failure(`${address} is no address`);
  const record = await recordFrom((path) => fetched(source.replace(/\/+$/, "") + path));
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
    console.error(isKnown ? String(error) : error);
    process.exitCode = 2;
  }
}
