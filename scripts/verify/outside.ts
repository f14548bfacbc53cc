import { createPublicClient, http, isHash, stringToHex, type Address } from "viem";
import * as z from "zod";
import {
  getDay,
  Failure,
  MINUTE,
  parseShape,
  type Findings,
  type Signal,
  type SignalRecord,
  type Story,
} from "./record";

/** A record against outside evidence: the market's minutes, and its anchors on chain. */

// The market.

type Minute = { openedAt: number; open: number; high: number; low: number; close: number };
/** Minutes of a token that open in [from, to], epoch ms. @throws Failure */
export type Market = (token: string, from: number, to: number) => Promise<Minute[]>;

/**
 * The first level touched decides, the stop if one minute has both. The minute of issue counts with its close and its adverse
 * extreme, the minute of expiry with its open. `null` if a decisive minute is missing.
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

export async function checkMarket(stories: readonly Story[], market: Market, found: Findings): Promise<void> {
  for (const { name, signal } of stories) {
    if (signal === null) continue;
    const { entry, token, priceObservedAt: pricedAt, status, exitPrice } = signal;
    const minutes = await market(token, pricedAt - 2 * MINUTE, signal.expiresAt);
    const around = minutes.filter(
      ({ openedAt }) => Math.abs(openedAt + MINUTE / 2 - pricedAt) <= 1.5 * MINUTE,
    );
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
        `${name}: by the market's minutes it was ${due.status} at ${due.price}, ${getDay(due.at)}`,
      );
    if (signal.gapMinutes > 5)
      found.notes.push(`${name} counts as having gaps, but the market has every minute`);
  }
}

export async function fetchJson(url: string): Promise<unknown> {
  // Coinbase answers only requests with a user agent.
  const init = { headers: { "User-Agent": "verify-signals" }, signal: AbortSignal.timeout(30_000) };
  const response = await fetch(url, init);
  if (!response.ok) throw new Failure(`${url} answers with status ${response.status}`);
  return response.json();
}

const row = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown());

/** A venue's minutes by an API like Coinbase's, 300 at a time. */
export function venueMarket(base: string): Market {
  return async (token, from, to) => {
    const minutes: Minute[] = [];
    for (let first = from - (from % MINUTE); first <= to; first += 300 * MINUTE) {
      const [start, end] = [first, first + 299 * MINUTE].map((at) => new Date(at).toISOString());
      const url = `${base}/products/${token}-USD/candles?granularity=60&start=${start}&end=${end}`;
      for (const [at, low, high, open, close] of parseShape(z.array(row), await fetchJson(url), url))
        minutes.push({ openedAt: 1_000 * at, open, high, low, close });
    }
    return minutes;
  };
}

// The anchors.

/** A transaction in a block; `minedAt` is epoch ms. */
type Mined = { from: string; nonce: number; input: string; minedAt: number };
/** `mined` is `null` for a hash that is in no block; `count` is how many transactions of an account are in one. */
type Chain = { mined(txHash: string): Promise<Mined | null>; count(address: Address): Promise<number> };
export type Anchor = { address: Address; chain: Chain };

export async function checkAnchors(record: SignalRecord, stories: Story[], anchor: Anchor, found: Findings) {
  const { address, chain } = anchor;
  const isOwn = (one: { address: string }) => one.address.toLowerCase() === address.toLowerCase();
  const fixed: { sequence: number; minedAt: number }[] = [];
  const nonces = new Set<number>();
  for (const { sequence, hash: eventHash, anchors } of record.events)
    for (const txHash of anchors.filter(isOwn).flatMap(({ txHashes }) => txHashes)) {
      const mined = await chain.mined(txHash);
      if (mined === null || !isOwn({ address: mined.from })) continue;
      nonces.add(mined.nonce);
      if (mined.input === stringToHex(`signal record ${sequence} ${eventHash}`))
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

export function chainAt(url: string): Chain {
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
