import { hash } from "node:crypto";
import * as z from "zod";

/** A signal record as published: its hash chain, the rules of issue, and the rules of its end. */

export const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A failure with a reason for the operator. */
export class Failure extends Error {}

export function parseShape<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  where: string,
): z.output<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  throw new Failure(`${where} is not as expected: ${z.prettifyError(result.error)}`);
}

const price = z.number().positive().nullable();
const time = z.iso.datetime().transform((text) => Date.parse(text));
/** A signal from its events, with derived figures. A HOLD has no levels. */
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
    // The mean end of a price without direction between stop (0) and target (1), and the costs as a share of that way.
    const chance = Math.abs(one.entry - stop) / Math.abs(target - stop);
    const costs = ((one.costBps / 10_000) * one.entry) / Math.abs(target - stop);
    // A trade's least and greatest excess over that chance. With gaps it is uncertain.
    const exactExcess = one.exitPrice === null ? null : (one.exitPrice - stop) / (target - stop) - chance;
    const [low, high] = [exactExcess ?? -chance, exactExcess ?? 1 - chance];
    const [least, most] = one.gapMinutes > 5 ? [Math.min(0, low), Math.max(0, high)] : [low, high];
    return { ...one, side, target, stop, chance, costs, least, most, net: least - costs };
  });
export type Signal = z.output<typeof signalShape>;
export const parseSignal = (given: unknown): Signal => parseShape(signalShape, given, "a signal");

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
export type SignalRecord = Awaited<ReturnType<typeof readRecord>>;
export type Findings = { problems: string[]; notes: string[]; unchecked: string[] };

const proofShape = z.object({ events: z.array(event), head: z.object({ hash: z.string() }).nullable() });
const exportShape = z.object({ signals: z.array(shownShape) });
const historyShape = z.object({ stats: z.unknown() });

/** @param read One answer of the deployment, by its path. */
export async function readRecord(read: (path: string) => Promise<unknown>) {
  const get = async <Shape extends z.ZodType>(path: string, shape: Shape) =>
    parseShape(shape, await read(path), path);
  const readProof = async (after: number) => get(`/signals/proof?after=${after}&limit=500`, proofShape);
  const events: z.output<typeof event>[] = [];
  for (let page = await readProof(0); page.events.length > 0; page = await readProof(events.length))
    events.push(...page.events);
  const { signals } = await get("/signals/export.json", exportShape);
  const stats: Record<string, unknown> = {};
  for (const token of ["", "BTC", "ETH"])
    stats[token] = (await get(`/mcp/signals/history?token=${token}`, historyShape)).stats;
  const head = (await readProof(events.length)).head?.hash;
  return { events, head, signals, stats, readAt: Date.now() };
}

// The chain.

/** SHA-256 of a flat object as JSON with its keys sorted (RFC 8785). */
function hashContent(fields: Record<string, unknown>): string {
  const keys = Object.keys(fields).toSorted();
  const members = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return hash("sha256", `{${members.join(",")}}`, "hex");
}

export function checkChain(
  { events, head }: SignalRecord,
  published: string | undefined,
  found: Findings,
): void {
  let last = "0".repeat(64);
  for (const { sequence, kind, content, contentHash, previousHash, hash: eventHash } of events) {
    const isHashed = hashContent(content) === contentHash;
    const isLinked = hashContent({ sequence, kind, contentHash, previousHash }) === eventHash;
    if (!isHashed || !isLinked || events[sequence - 1]?.hash !== eventHash || previousHash !== last)
      found.problems.push(`event ${sequence} is not what was hashed, or does not follow the one before it`);
    last = eventHash;
  }
  if (events.length > 0 && head !== last) found.problems.push("the head is not the last event");
  if (published === undefined)
    found.unchecked.push("whether the whole chain was rewritten: name a --head from a card");
  else if (!events.some((one) => one.hash === published))
    found.problems.push(`no event has the published hash ${published}: history was rewritten`);
}

// The rules: the issue, the end, and one story for each token and day.

/** A token's day from its events, raw and parsed; `null` without a signal. */
export type Story = { name: string; sequence: number; told: Record<string, unknown>; signal: Signal | null };

export function listStories({ events, readAt }: SignalRecord, { problems }: Findings): Story[] {
  const stories = new Map<string, Story>();
  for (const { sequence, kind, content } of events) {
    const name = `${content.token}-${content.day}`;
    const story = stories.get(name);
    if (kind !== "closed" && story === undefined) {
      const opening = { ...content, status: kind === "none" ? "none" : "PENDING" };
      stories.set(name, { name, sequence, told: opening, signal: null });
    } else if (kind === "closed" && story?.told["status"] === "PENDING") Object.assign(story.told, content);
    else problems.push(`event ${sequence}: ${name} had been told before, or was never issued`);
  }
  for (const story of stories.values())
    if (story.told["status"] !== "none") {
      story.signal = parseSignal(story.told);
      if (!mayBeIssued(story.signal)) problems.push(`${story.name} breaks the rules of issue`);
      if (!mayEnd(story.signal, readAt)) problems.push(`${story.name} cannot have ended like this`);
    }
  // The days up to the last one are over, or begin with its first event.
  const days = events.map(({ content }) => Date.parse(content.day));
  for (let day = Math.min(...days); day < Math.max(...days); day += DAY)
    for (const name of [`BTC-${getDay(day)}`, `ETH-${getDay(day)}`])
      if (!stories.has(name)) problems.push(`${name} has no event: a day was left out`);
  return [...stories.values()];
}

export const getDay = (at: number) => new Date(at).toISOString().slice(0, 10);

const HAIR = 1e-9;

function mayBeIssued({ side, entry, target, stop, tp2, ...one }: Signal): boolean {
  const isTimely = getDay(one.generatedAt) === one.day && one.expiresAt === one.generatedAt + 6 * HOUR;
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

/** The tracker runs every half hour, waits two hours for late candles, and gives up without a price after twelve. */
const SLOWEST = 15 * HOUR;

/** Whether an end fits the signal: within its life, at its level, with the right result. */
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
