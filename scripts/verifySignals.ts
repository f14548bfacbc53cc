import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as z from "zod";

/**
 * `npm run verify-signals`: holds a signal record against its hash chain, its own rules, the market and its anchors. It
 * imports nothing of the service that it checks and works everything out anew, so that it can be read on its own.
 */

const USAGE = `Usage: npm run verify-signals -- URL|FILE [--candles venue|URL|FILE] [--rpc URL --anchor ADDRESS]
                                 [--head HASH] [--save FILE] [--json]

  --candles WHAT    one-minute candles, to compute entries and outcomes again: "venue" asks Coinbase's public API, a URL names
                    an API with the same answers, a FILE holds {"BTC": [[opened at, open, high, low, close], …], …}, epoch ms
  --rpc URL         an RPC of Base, such as https://mainnet.base.org, to read what --anchor has sent
  --anchor ADDRESS  the account of the anchors, as a card or the page names it
  --head HASH       the chain's head as it was published on a card, which rules out a rewritten chain
  --save FILE       saves what was read, so that it can be checked again without the deployment
  --json            for programs: holds, problems, notes, unchecked, events, head

Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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
const signalShape = z.looseObject({ id: z.string() });
const recordShape = z.object({
  events: z.array(event),
  head: headShape,
  /** Every signal as the deployment shows it, and its statistics of each token and of both. */
  signals: z.array(signalShape),
  stats: z.record(z.string(), z.unknown()),
  /** By nonce, the hashes of what each account of the anchor is said to have sent. */
  anchors: z.record(z.string(), z.record(z.string(), z.array(z.string()))),
  readAt: z.number(),
});
export type SignalRecord = z.output<typeof recordShape>;
type Issued = z.output<typeof issuedShape>;
type Closed = z.output<typeof closedShape>;
type Story = { name: string; issued?: Issued; closed?: Closed; isNone?: true };

// 2. The chain.

const GENESIS = "0".repeat(64);

/** SHA-256 of a flat object as JSON with its keys sorted (RFC 8785). */
function hashOf(fields: Record<string, unknown>): string {
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return createHash("sha256")
    .update(`{${members.join(",")}}`)
    .digest("hex");
}

function chainProblems({ events, head }: SignalRecord, published?: string): string[] {
  const problems = events.flatMap(({ sequence, kind, content, contentHash, previousHash, ...one }, index) => {
    const found: string[] = [];
    if (sequence !== index + 1) found.push(`event ${index + 1} is numbered ${sequence}`);
    if (hashOf(content) !== contentHash) found.push(`event ${sequence}: its content is not what was hashed`);
    if (previousHash !== (events[index - 1]?.hash ?? GENESIS))
      found.push(`event ${sequence} does not follow the event before it`);
    if (hashOf({ sequence, kind, contentHash, previousHash }) !== one.hash)
      found.push(`event ${sequence}: its hash is not that of its links`);
    return found;
  });
  if ((head?.hash ?? null) !== (events.at(-1)?.hash ?? null)) problems.push("the head is not the last event");
  if (published !== undefined && !events.some((one) => one.hash === published))
    problems.push(`no event has the published hash ${published}: history was rewritten`);
  return problems;
}

// 3. The rules: what may be issued, and one story for each token and day.

const LIFETIME = 6 * HOUR;
const HAIR = 1e-9;
/** The tracker looks every half hour, waits two hours for late candles, and gives up without a price after twelve. */
const SLOWEST = 15 * HOUR;
const PRICE_AGE = MINUTE;

type Position = { isBuy: boolean; entry: number; tp1: number; sl: number };

function positionOf({ signal, entry, tp1, sl }: Issued): Position | null {
  return signal === "HOLD" || tp1 === null || sl === null
    ? null
    : { isBuy: signal === "BUY", entry, tp1, sl };
}

const chanceOf = ({ entry, tp1, sl }: Position) => Math.abs(entry - sl) / Math.abs(tp1 - sl);
const costShareOf = ({ entry, tp1, sl }: Position, costBps: number) =>
  ((costBps / 10_000) * entry) / Math.abs(tp1 - sl);

function issueProblems(one: Issued): string[] {
  const { signal, entry, tp1, tp2, sl, confidence, costBps, day } = one;
  const [issued, expires, seen] = [one.generatedAt, one.expiresAt, one.priceObservedAt].map(Date.parse);
  const found: string[] = [];
  if (expires !== (issued ?? 0) + LIFETIME) found.push("it does not expire after six hours");
  if (one.generatedAt.slice(0, 10) !== day) found.push("it was issued on another day");
  if (Math.abs((issued ?? 0) - (seen ?? 0)) > PRICE_AGE)
    found.push("its price is not of the time of its issue");
  if (!Number.isInteger(confidence) || confidence < 0 || confidence > 100) found.push("its confidence");
  const position = positionOf(one);
  if (position === null) {
    if (signal !== "HOLD" || tp1 !== null || tp2 !== null || sl !== null)
      found.push("its levels are not whole");
    return found;
  }
  const side = position.isBuy ? 1 : -1;
  const [reward, risk] = [side * (position.tp1 - entry), side * (entry - position.sl)];
  if (tp2 === null || !(reward > 0 && risk > 0 && side * (tp2 - position.tp1) >= 0))
    found.push("its levels are out of order");
  if (!(reward / entry > costBps / 10_000)) found.push("its target lies within the costs");
  if (!(risk / entry >= 0.0015 - HAIR)) found.push("its stop is nearer than 0.15 %");
  if (!(reward / risk >= 0.8 - HAIR)) found.push("its reward is less than 0.8 of its risk");
  if (confidence / 100 < chanceOf(position) + costShareOf(position, costBps) - HAIR)
    found.push("its confidence is below its own break-even");
  return found;
}

function pnlOf({ signal, entry }: Issued, exit: number | null): number | null {
  if (exit === null || signal === "HOLD") return null;
  return Number(((signal === "BUY" ? 1 : -1) * (exit / entry - 1) * 100).toFixed(6)) + 0;
}

function endProblems(issued: Issued, closed: Closed): string[] {
  const { status, exitPrice, pnlPercent, closedAt } = closed;
  const position = positionOf(issued);
  const found: string[] = [];
  const at = Date.parse(closedAt);
  const [from, to] = [Date.parse(issued.generatedAt), Date.parse(issued.expiresAt)];
  if (at < from || at > to) found.push("it was closed outside of its life");
  if (pnlPercent !== pnlOf(issued, exitPrice))
    found.push(`its result is ${pnlOf(issued, exitPrice)}, not ${pnlPercent}`);
  if (status === "EXPIRED") {
    if (at !== to) found.push("it expired at another time than its own");
    const levels = position === null ? [] : [position.tp1, position.sl];
    if (
      exitPrice !== null &&
      position !== null &&
      (exitPrice < Math.min(...levels) || exitPrice > Math.max(...levels))
    )
      found.push("it expired beyond its levels");
  } else if (exitPrice !== (status === "WIN" ? position?.tp1 : position?.sl))
    found.push(`a ${status} ends at its level`);
  return found;
}

function storiesOf({ events }: SignalRecord): { stories: Map<string, Story>; problems: string[] } {
  const stories = new Map<string, Story>();
  const problems: string[] = [];
  for (const { sequence, kind, content } of events) {
    const name = `${content.token}-${content.day}`;
    const story = stories.get(name) ?? { name };
    stories.set(name, story);
    const isTold =
      kind === "closed" ? story.closed !== undefined : story.issued !== undefined || story.isNone;
    if (isTold === true) problems.push(`event ${sequence}: ${name} had been told before`);
    if (kind === "issued") story.issued = content;
    else if (kind === "none") story.isNone = true;
    else if (story.issued === undefined)
      problems.push(`event ${sequence} closes ${name}, which was not issued`);
    else story.closed = content;
  }
  return { stories, problems };
}

function storyProblems(stories: Map<string, Story>, readAt: number): string[] {
  const days = [...stories.keys()].map((name) => Date.parse(name.slice("BTC-".length)));
  const problems = [...stories.values()].flatMap(({ name, issued, closed }) => {
    if (issued === undefined) return [];
    const found = [...issueProblems(issued), ...(closed === undefined ? [] : endProblems(issued, closed))];
    if (closed === undefined && readAt - Date.parse(issued.generatedAt) > SLOWEST)
      found.push("it was never closed");
    return found.map((one) => `${name}: ${one}`);
  });
  // A day is decided within the day; one on which nothing ran is told before the next one's first signal.
  const told = Math.max(...days);
  for (let day = Math.min(...days); days.length > 0 && day <= Math.max(told, readAt - 2 * DAY); day += DAY)
    for (const token of ["BTC", "ETH"]) {
      const name = `${token}-${new Date(day).toISOString().slice(0, 10)}`;
      const isOpen = day >= told && readAt - day < 2 * DAY;
      if (!stories.has(name) && !isOpen) problems.push(`${name} has no event: a day was left out`);
    }
  return problems;
}

// 4. The record: the same figures, from the events alone.

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
const rounded = (value: number) => Number(value.toFixed(10)) + 0;
const ratio = (over: number, under: number) =>
  under === 0 || !Number.isFinite(over / under) ? null : rounded(over / under);

const LEAST = -(5 / 9) - 1e-6;
const LEAST_NET = -1 - 1e-6;

/** Wealth of a bet on days above `m` (below it with `sign` -1): Waudby-Smith and Ramdas, JRSS B 86, 2024. */
function wealth(days: readonly number[], m: number, floor: number, sign = 1): number {
  const worst = sign === 1 ? m - floor : 1 - m;
  const stakes = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2].map((most) => Math.min(most, 0.7 / worst));
  return (
    sum(stakes.map((stake) => Math.exp(sum(days.map((x) => Math.log1p(stake * sign * (x - m))))))) /
    stakes.length
  );
}

function bound(days: readonly number[], sign: 1 | -1): number {
  let [out, within] = [sign === 1 ? LEAST : 1, days.length === 0 ? 0 : sum(days) / days.length];
  for (let step = 0; step < 50 && wealth(days, out, LEAST, sign) >= 20; step++) {
    const middle = (out + within) / 2;
    if (wealth(days, middle, LEAST, sign) >= 20) out = middle;
    else within = middle;
  }
  return wealth(days, sign === 1 ? LEAST : 1, LEAST, sign) >= 20 ? within : out;
}

function resultsOf(values: readonly number[]) {
  return {
    totalPnlPercent: rounded(sum(values)),
    expectancyPercent: ratio(sum(values), values.length),
    bestPnlPercent: values.length === 0 ? null : Math.max(...values),
    worstPnlPercent: values.length === 0 ? null : Math.min(...values),
    profitFactor: ratio(sum(values.filter((one) => one > 0)), -sum(values.filter((one) => one < 0))),
  };
}

/** Every figure of a record that follows from its events. */
export function statisticsOf(stories: readonly Required<Pick<Story, "issued" | "closed">>[]) {
  const ended = stories.toSorted((a, b) => Date.parse(a.closed.closedAt) - Date.parse(b.closed.closedAt));
  const count = (wanted: Closed["status"]) => ended.filter(({ closed }) => closed.status === wanted).length;
  const trades = ended.flatMap(({ issued, closed }) => {
    const position = positionOf(issued);
    return position === null ? [] : [{ issued, closed, position }];
  });
  const byDay = new Map<string, { least: number; most: number; net: number }[]>();
  for (const { issued, closed, position } of trades) {
    const chance = chanceOf(position);
    const { exitPrice, gapMinutes } = closed;
    const { tp1, sl } = position;
    const known = exitPrice === null ? null : (exitPrice - sl) / (tp1 - sl) - chance;
    const hasGaps = gapMinutes > 5;
    const least = hasGaps ? Math.min(0, known ?? -chance) : (known ?? -chance);
    const most = hasGaps ? Math.max(0, known ?? 1 - chance) : (known ?? 1 - chance);
    const net = least - costShareOf(position, issued.costBps);
    byDay.set(issued.day, [...(byDay.get(issued.day) ?? []), { least, most, net }]);
  }
  const means = (of: "least" | "most" | "net") =>
    [...byDay.values()].map((day) => sum(day.map((one) => one[of])) / day.length);
  const [least, most, net] = [means("least"), means("most"), means("net")];
  const priced = trades.flatMap(({ issued, closed: { pnlPercent } }) =>
    pnlPercent === null
      ? []
      : [{ gross: pnlPercent, net: Number((pnlPercent - issued.costBps / 100).toFixed(6)) + 0 }],
  );
  const results = priced.map((one) => one.net);
  const mean = sum(results) / results.length;
  const deviation = Math.sqrt(sum(results.map((one) => (one - mean) ** 2)) / (results.length - 1));
  let [total, peak, deepest] = [0, 0, 0];
  for (const one of results) {
    total += one;
    peak = Math.max(peak, total);
    deepest = Math.max(deepest, peak - total);
  }
  const isKnown = results.length >= 30;
  const [wins, losses] = [count("WIN"), count("LOSS")];
  const held = ["BTC", "ETH"].flatMap((token) => {
    const own = ended
      .filter(({ issued }) => issued.token === token)
      .toSorted((a, b) => (a.issued.day < b.issued.day ? -1 : 1));
    const [first, last] = [own[0], own.at(-1)];
    return first === undefined || last === undefined
      ? []
      : [100 * ((last.closed.exitPrice ?? last.issued.entry) / first.issued.entry - 1)];
  });
  const decided = trades.filter(({ closed }) => closed.status !== "EXPIRED");
  const eValue = (days: readonly number[], floor: number) => rounded(Math.min(wealth(days, 0, floor), 1e12));
  const isWorse = wealth(most, 0, LEAST, -1) >= 20;
  return {
    n: ended.length,
    wins,
    losses,
    expired: count("EXPIRED"),
    holds: ended.length - trades.length,
    gaps: trades.filter(({ closed }) => closed.gapMinutes > 5).length,
    winrate: ratio(100 * wins, wins + losses),
    trades: results.length,
    beforeCosts: resultsOf(priced.map((one) => one.gross)),
    afterCosts: resultsOf(results),
    buyAndHoldPercent: ratio(sum(held), held.length),
    risk: {
      sharpe: isKnown && deviation >= 1e-9 ? ratio(mean, deviation) : null,
      sortino: isKnown
        ? ratio(mean, Math.sqrt(sum(results.map((one) => Math.min(0, one) ** 2)) / results.length))
        : null,
      maxDrawdownPercent: isKnown ? rounded(deepest) : null,
    },
    edge: {
      days: least.length,
      excessPoints: ratio(100 * sum(least), least.length),
      lowPoints: rounded(100 * bound(least, 1)),
      highPoints: rounded(100 * bound(most, -1)),
      eValue: eValue(least, LEAST),
      afterCosts: { excessPoints: ratio(100 * sum(net), net.length), eValue: eValue(net, LEAST_NET) },
      verdict:
        trades.length < 30
          ? "no record yet"
          : wealth(net, 0, LEAST_NET) >= 20
            ? "better than chance"
            : isWorse
              ? "worse than chance"
              : "not told from chance",
    },
    reliability: {
      bins: [0, 20, 40, 60, 80].map((from) => {
        const own = decided.filter(
          ({ issued }) => Math.min(80, 20 * Math.floor(issued.confidence / 20)) === from,
        );
        const won = own.filter(({ closed }) => closed.status === "WIN").length;
        return {
          from,
          to: from === 80 ? 100 : from + 19,
          n: own.length,
          winrate: ratio(100 * won, own.length),
        };
      }),
    },
  };
}

/** What is told otherwise than it is due. Fields that are not due are not looked at. */
function differences(told: unknown, due: unknown, path: string): string[] {
  if (typeof due === "number" && typeof told === "number")
    return Math.abs(told - due) <= 1e-6 * Math.max(1, Math.abs(due))
      ? []
      : [`${path} is shown as ${told}, it is ${due}`];
  if (typeof due === "object" && due !== null) {
    const shown = new Map<string, unknown>(
      Object.entries(typeof told === "object" && told !== null ? told : {}),
    );
    return Object.entries(due).flatMap(([key, value]) =>
      differences(shown.get(key), value, `${path}.${key}`),
    );
  }
  return told === due ? [] : [`${path} is shown as ${String(told)}, it is ${String(due)}`];
}

function shownProblems({ signals, stats }: SignalRecord, stories: Map<string, Story>): string[] {
  const issued = [...stories.values()].filter((one) => one.issued !== undefined);
  const problems = signals.flatMap(({ id }) =>
    stories.get(id)?.issued === undefined ? [`${id} is shown, but no event issued it`] : [],
  );
  for (const { name, issued: own, closed } of issued) {
    const shown = signals.find(({ id }) => id === name);
    if (shown === undefined) problems.push(`${name} was issued, but is not shown`);
    else {
      const { signal, entry, tp1, tp2, sl, confidence, generatedAt, expiresAt } = own ?? {};
      const { status = "PENDING", closedAt, exitPrice, pnlPercent } = closed ?? {};
      const end = closed === undefined ? { status } : { status, closedAt, exitPrice, pnlPercent };
      const due = { signal, entry, tp1, tp2, sl, confidence, generatedAt, expiresAt, ...end };
      problems.push(...differences(shown, due, name));
    }
  }
  for (const [scope, told] of Object.entries(stats)) {
    const own = issued.flatMap(({ issued: one, closed }) =>
      one === undefined || closed === undefined || (scope !== "ALL" && one.token !== scope)
        ? []
        : [{ issued: one, closed }],
    );
    problems.push(...differences(told, statisticsOf(own), `stats of ${scope}`));
  }
  return problems;
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
  for (
    let openedAt = Math.floor(from / MINUTE) * MINUTE;
    openedAt <= to && position !== null;
    openedAt += MINUTE
  ) {
    const one = minutes.get(openedAt);
    if (one === undefined) {
      if (openedAt + MINUTE <= to) return null;
      continue;
    }
    const isOfIssue = openedAt < from;
    let { high, low } = one;
    if (openedAt + MINUTE > to) [high, low] = [one.open, one.open];
    else if (isOfIssue && position.isBuy) high = one.close;
    else if (isOfIssue) low = one.close;
    const { isBuy, sl, tp1 } = position;
    if (isBuy ? low <= sl : high >= sl)
      return { status: "LOSS", exitPrice: sl, closedAt: Math.max(openedAt, from) };
    if (isBuy ? high >= tp1 : low <= tp1)
      return { status: "WIN", exitPrice: tp1, closedAt: isOfIssue ? openedAt + MINUTE : openedAt };
  }
  const close = minutes.get(Math.floor(to / MINUTE) * MINUTE - MINUTE)?.close;
  if (close === undefined) return null;
  const { tp1 = close, sl = close } = position ?? {};
  return {
    status: "EXPIRED",
    exitPrice: Math.min(Math.max(close, Math.min(sl, tp1)), Math.max(sl, tp1)),
    closedAt: to,
  };
}

async function marketFindings(stories: Map<string, Story>, market: Market): Promise<Findings> {
  const found: Findings = { problems: [], notes: [], unchecked: [] };
  for (const { name, issued, closed } of stories.values()) {
    if (issued === undefined) continue;
    const [from, to, seen] = [issued.generatedAt, issued.expiresAt, issued.priceObservedAt].map((at) =>
      Date.parse(at),
    );
    if (from === undefined || to === undefined || seen === undefined) continue;
    const minutes = new Map(
      (await market(issued.token, seen - 2 * MINUTE, to)).map((one) => [one.openedAt, one]),
    );
    const around = [-1, 0, 1].flatMap((n) => minutes.get((Math.floor(seen / MINUTE) + n) * MINUTE) ?? []);
    const hair = issued.entry * (issued.priceSource === "coinbase" ? 0.0005 : 0.002);
    const [low, high] = [
      Math.min(...around.map((one) => one.low)),
      Math.max(...around.map((one) => one.high)),
    ];
    if (around.length > 0 && !(issued.entry >= low - hair && issued.entry <= high + hair))
      found.problems.push(
        `${name} was entered at ${issued.entry}; the market stood between ${low} and ${high}`,
      );
    const due = closed === undefined ? null : endBy(minutes, from, to, positionOf(issued));
    if (around.length === 0 || (closed !== undefined && due === null))
      found.unchecked.push(`${name}: the market's minutes have gaps`);
    if (closed === undefined || due === null) continue;
    if (due.status !== closed.status)
      found.problems.push(`${name}: the market's minutes say ${due.status}, not ${closed.status}`);
    else if (closed.exitPrice === null || Math.abs(closed.exitPrice - due.exitPrice) > 0.0005 * issued.entry)
      found.problems.push(
        `${name}: by the market's minutes it ended at ${due.exitPrice}, not at ${closed.exitPrice}`,
      );
    else if (Math.abs(Date.parse(closed.closedAt) - due.closedAt) > MINUTE)
      found.problems.push(
        `${name}: by the market's minutes it ended at ${new Date(due.closedAt).toISOString()}`,
      );
    if (closed.gapMinutes > 5)
      found.notes.push(`${name} counts as having gaps, but the market has every minute`);
  }
  return found;
}

// 6. The anchors.

type Mined = { from: string; nonce: number; data: string; minedAt: number };
interface ChainReader {
  /** `null` for a hash that is in no block. `minedAt` is epoch ms. */
  mined(txHash: string): Promise<Mined | null>;
  /** How many transactions of an account are mined. */
  count(address: string): Promise<number>;
}

async function anchorFindings(record: SignalRecord, address: string, chain: ChainReader): Promise<Findings> {
  const found: Findings = { problems: [], notes: [], unchecked: [] };
  const shown =
    Object.entries(record.anchors).find(([one]) => one.toLowerCase() === address.toLowerCase())?.[1] ?? {};
  const fixed: { sequence: number; minedAt: number }[] = [];
  const count = await chain.count(address);
  if (count === 0) found.notes.push(`${address} has sent nothing yet`);
  for (let nonce = 0; nonce < count; nonce++) {
    const name = `The transaction with nonce ${nonce} of ${address}`;
    const tries = await Promise.all((shown[nonce] ?? []).map((one) => chain.mined(one)));
    const mined = tries.find(
      (one) => one !== null && one.nonce === nonce && one.from.toLowerCase() === address.toLowerCase(),
    );
    if (mined === undefined || mined === null) {
      found.problems.push(`${name} was mined, and the record does not show it`);
      continue;
    }
    const text = Buffer.from(mined.data.replace(/^0x/, ""), "hex").toString("utf8");
    const [, sequence, head] = /^signal record ([1-9]\d{0,15}) ([0-9a-f]{64})$/.exec(text) ?? [];
    if (sequence === undefined) found.notes.push(`${name} holds no anchor`);
    else if (record.events[Number(sequence) - 1]?.hash !== head)
      found.problems.push(`${name} holds ${head} for event ${sequence}: history was rewritten`);
    else fixed.push({ sequence: Number(sequence), minedAt: mined.minedAt });
  }
  let [inTime, late] = [0, 0];
  const ends = new Map(
    record.events.flatMap(({ kind, content }) =>
      kind === "closed" ? [[`${content.token}-${content.day}`, content.closedAt]] : [],
    ),
  );
  for (const { sequence, kind, content } of record.events) {
    const at = Math.min(...fixed.filter((one) => one.sequence >= sequence).map((one) => one.minedAt));
    if (kind !== "issued" || !Number.isFinite(at)) continue;
    const name = `${content.token}-${content.day}`;
    if (Date.parse(content.generatedAt) > at + MINUTE)
      found.problems.push(`${name} says that it was issued after it was anchored`);
    const end = ends.get(name);
    if (end !== undefined && Date.parse(end) <= at) late += 1;
    else inTime += 1;
  }
  found.notes.push(`${inTime} signals were anchored before their outcome, ${late} after it`);
  return found;
}

const quantity = z.string().transform(Number);

function chainReader(url: string): ChainReader {
  const ask = async <Shape extends z.ZodType>(method: string, params: unknown[], shape: Shape) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const { result } = shaped(
      z.object({ result: z.unknown() }),
      await fetched(url, { method: "POST", body }),
      url,
    );
    return shaped(shape, result, `${url}: ${method}`);
  };
  const transaction = z.object({
    from: z.string(),
    nonce: quantity,
    input: z.string(),
    blockNumber: z.string().nullable(),
  });
  return {
    mined: async (txHash) => {
      const sent = await ask("eth_getTransactionByHash", [txHash], transaction.nullable());
      if (sent === null || sent.blockNumber === null) return null;
      const { timestamp } = await ask(
        "eth_getBlockByNumber",
        [sent.blockNumber, false],
        z.object({ timestamp: quantity }),
      );
      return { from: sent.from, nonce: sent.nonce, data: sent.input, minedAt: 1_000 * timestamp };
    },
    count: async (address) => {
      if ((await ask("eth_chainId", [], quantity)) !== 8453)
        throw new Unreadable(`${url} does not serve Base`);
      return ask("eth_getTransactionCount", [address, "latest"], quantity);
    },
  };
}

// 7. All of it, reading and reporting.

export type Findings = { problems: string[]; notes: string[]; unchecked: string[] };
type Means = { head?: string; market?: Market; anchor?: { address: string; chain: ChainReader } };

/** Checks a record with what is at hand, and says what it could not check. @throws Unreadable */
export async function verify(value: unknown, { head, market, anchor }: Means = {}): Promise<Findings> {
  const record = shaped(recordShape, value, "the record");
  const { stories, problems } = storiesOf(record);
  const found: Findings = {
    problems: [
      ...chainProblems(record, head),
      ...problems,
      ...storyProblems(stories, record.readAt),
      ...shownProblems(record, stories),
    ],
    notes: [],
    unchecked: [],
  };
  const add = (more: Findings) => {
    found.problems.push(...more.problems);
    found.notes.push(...more.notes);
    found.unchecked.push(...more.unchecked);
  };
  if (head === undefined)
    found.unchecked.push("whether the whole chain was rewritten: name a --head from a card");
  if (market === undefined) found.unchecked.push("entries and outcomes against the market: --candles venue");
  else add(await marketFindings(stories, market));
  if (anchor === undefined)
    found.unchecked.push("since when the events are fixed: --rpc URL --anchor ADDRESS");
  else add(await anchorFindings(record, anchor.address, anchor.chain));
  return found;
}

class Unreadable extends Error {}
class Misuse extends Error {}

async function fetched(url: string, init: RequestInit = {}): Promise<unknown> {
  try {
    // Coinbase answers only requests with a user agent.
    const headers = { "Content-Type": "application/json", "User-Agent": "verify-signals" };
    const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(30_000) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.json();
  } catch (error) {
    throw new Unreadable(`${url} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function shaped<Shape extends z.ZodType>(shape: Shape, value: unknown, where: string): z.output<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  throw new Unreadable(`${where} is not as expected: ${first?.path.join(".") ?? ""} ${first?.message ?? ""}`);
}

/** @param read One answer of the deployment, by its path. */
export async function recordFrom(
  read: (path: string) => Promise<unknown>,
  now: number,
): Promise<SignalRecord> {
  const page = async <Shape extends z.ZodType>(path: string, shape: Shape) =>
    shaped(shape, await read(path), path);
  const proofPage = z.object({ events: z.array(event), head: headShape });
  const anchorPage = z.object({
    addresses: z.array(z.string()),
    anchors: z.array(z.object({ nonce: z.int(), txHashes: z.array(z.string()) })),
  });
  // A signal may be issued or closed while the record is read: then it is read again.
  for (let reading = 0; reading < 5; reading++) {
    const events: z.output<typeof event>[] = [];
    let head: z.output<typeof headShape> = null;
    for (let size = 500; size === 500;) {
      const one = await page(`/signals/proof?after=${events.length}&limit=500`, proofPage);
      ({ head } = one);
      size = one.events.length;
      events.push(...one.events);
    }
    const { signals } = await page("/signals/export.json", z.object({ signals: z.array(signalShape) }));
    const stats: SignalRecord["stats"] = {};
    for (const scope of ["ALL", "BTC", "ETH"]) {
      const token = scope === "ALL" ? "" : `&token=${scope}`;
      ({ stats: stats[scope] } = await page(
        `/mcp/signals/history?limit=1${token}`,
        z.object({ stats: z.unknown() }),
      ));
    }
    const anchors: SignalRecord["anchors"] = {};
    for (const address of (await page("/signals/anchors?limit=1", anchorPage)).addresses) {
      const tries: Record<string, string[]> = {};
      for (let from = 0, size = 500; size === 500;) {
        const sent = (await page(`/signals/anchors?address=${address}&from=${from}&limit=500`, anchorPage))
          .anchors;
        for (const { nonce, txHashes } of sent) tries[nonce] = txHashes;
        size = sent.length;
        from = (sent.at(-1)?.nonce ?? 0) + 1;
      }
      anchors[address] = tries;
    }
    if ((await page("/signals/proof?limit=1", proofPage)).head?.hash !== head?.hash) continue;
    return { events, head, signals, stats, anchors, readAt: now };
  }
  throw new Unreadable("The record changed at each reading: try again");
}

const row = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown());

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

async function marketNamed(what: string): Promise<Market> {
  if (what === "venue") return venueMarket("https://api.exchange.coinbase.com");
  if (/^https?:/.test(what)) return venueMarket(what.replace(/\/+$/, ""));
  const rows = shaped(z.record(z.string(), z.array(row)), JSON.parse(await readFile(what, "utf8")), what);
  return (token, from, to) =>
    Promise.resolve(
      (rows[token] ?? []).flatMap(([openedAt, open, high, low, close]) =>
        openedAt >= from - MINUTE && openedAt <= to ? [{ openedAt, open, high, low, close }] : [],
      ),
    );
}

export async function main(args: readonly string[]): Promise<number> {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = { candles: text, rpc: text, anchor: text, head: text, save: text, json: flag, help: flag };
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const { rpc, anchor, candles, save } = values;
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Misuse("Name one service or file");
  if ((rpc === undefined) !== (anchor === undefined))
    throw new Misuse("--anchor and --rpc go together: one without the other checks nothing");
  const base = source.replace(/\/+$/, "");
  const record = /^https?:/.test(source)
    ? await recordFrom((path) => fetched(base + path), Date.now())
    : shaped(recordShape, JSON.parse(await readFile(source, "utf8")), source);
  if (save !== undefined) await writeFile(save, `${JSON.stringify(record, null, 2)}\n`);
  const found = await verify(record, {
    ...(values.head === undefined ? {} : { head: values.head.toLowerCase() }),
    ...(candles === undefined ? {} : { market: await marketNamed(candles) }),
    ...(rpc === undefined || anchor === undefined
      ? {}
      : { anchor: { address: anchor, chain: chainReader(rpc) } }),
  });
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
    const isKnown = error instanceof Unreadable || error instanceof Misuse || error instanceof TypeError;
    console.error(isKnown ? `${error.message}. --help says how it is used.` : error);
    process.exitCode = 2;
  }
}
