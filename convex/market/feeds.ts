/**
 * Chainlink price feeds on Base: the rules for a live price. Pure; `market/live` reads the chain. Addresses and
 * heartbeats: Chainlink's feed directory (docs.chain.link/data-feeds).
 */

export const PRICE_FEEDS = {
  ETH: { address: "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70", heartbeatSeconds: 1_200 },
  BTC: { address: "0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F", heartbeatSeconds: 1_200 },
  USDC: { address: "0x7e860098F58bBFC8648a4311b374B1D669a2bc6B", heartbeatSeconds: 86_400 },
  USDT: { address: "0xf19d560eB8d2ADf07BD6D13ed03e1D11215721F9", heartbeatSeconds: 86_400 },
  DAI: { address: "0x591e79239a7d679378eC8c847e5038150364C78F", heartbeatSeconds: 86_400 },
} as const;

export type FeedName = keyof typeof PRICE_FEEDS;

const SEQUENCER_FEED = "0xBCF85224fc0756B9Fa45aA7892530B47e10b6433";

/** All USD feeds of this list answer with 8 decimals. */
export const FEED_DECIMALS = 8;

/** Updates may arrive slightly after the heartbeat. */
const HEARTBEAT_MARGIN_SECONDS = 120;
/** Tolerance for clocks that differ a little. */
const SKEW_SECONDS = 60;
/** After the sequencer has recovered, prices count only once traders have had time to react. */
const SEQUENCER_GRACE_SECONDS = 3_600;

/** A feed's latest round: the answer with 8 decimals, and when it was written (epoch seconds). */
export type Round = { answer: bigint; updatedAt: bigint };

/** The price in USD with 8 decimals, or `null` if the round is stale, from the future, or not a price. */
export function getFeedPrice(feed: FeedName, round: Round | null, nowMs: number): bigint | null {
  if (round === null || round.answer <= 0n || round.updatedAt <= 0n) return null;
  const age = Math.floor(nowMs / 1000) - Number(round.updatedAt);
  if (age < -SKEW_SECONDS) return null;
  return age <= PRICE_FEEDS[feed].heartbeatSeconds + HEARTBEAT_MARGIN_SECONDS ? round.answer : null;
}

/** Whether the chain's sequencer is up, and has been for the grace period. `startedAt`: epoch seconds. */
export function isSequencerUp(status: { answer: bigint; startedAt: bigint } | null, nowMs: number): boolean {
  if (status === null || status.answer !== 0n || status.startedAt <= 0n) return false;
  return Math.floor(nowMs / 1000) - Number(status.startedAt) > SEQUENCER_GRACE_SECONDS;
}

/** The contracts to read for the live prices of some feeds. */
export function listFeedAddresses(feeds: readonly FeedName[]) {
  return [SEQUENCER_FEED, ...feeds.map((feed) => PRICE_FEEDS[feed].address)] as const;
}

type Status = Round & { startedAt: bigint };

/**
 * Live prices in USD with 8 decimals, from rounds in the order of `listFeedAddresses`. A stale feed has none, and while the
 * sequencer cannot be trusted no feed has.
 */
export function computeLivePrices<Feed extends FeedName>(
  feeds: readonly Feed[],
  [sequencer, ...rounds]: readonly (Status | null)[],
  nowMs: number,
): ReadonlyMap<Feed, bigint> {
  if (!isSequencerUp(sequencer ?? null, nowMs)) return new Map();
  return new Map(
    feeds.flatMap((feed, i) => {
      const price = getFeedPrice(feed, rounds[i] ?? null, nowMs);
      return price === null ? [] : [[feed, price] as const];
    }),
  );
}
