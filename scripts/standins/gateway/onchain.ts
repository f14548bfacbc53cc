/** Part of the gateway's stand-in for local use: on-chain signals that fit the simulated market's moves. */

import type { Scene } from "./content";
import { outlookOf, type Coin, type Outlook } from "../sources/market";
import { random, type Random } from "../random";
import { bigUsd, focusToken, percent } from "./words";

const HALF_HOUR = 30 * 60_000;

const KINDS = ["whale_movement", "unusual_volume", "smart_money"] as const;
type Kind = (typeof KINDS)[number];

export type Signal = {
  token: string;
  kind: Kind;
  direction: Outlook;
  detail: string;
  amountUsd: number | null;
};

const DETAILS: Record<Kind, Record<Outlook, readonly string[]>> = {
  whale_movement: {
    bullish: [
      "large holders withdrew {amount} of {token} from exchanges into cold storage",
      "whale addresses added {amount} of {token} within hours",
    ],
    bearish: [
      "whale addresses sent {amount} of {token} to exchange deposit wallets",
      "a top holder split {amount} of {token} across three exchange wallets",
    ],
    neutral: [
      "{amount} of {token} moved between two custodians without touching an exchange",
      "an exchange reshuffled {amount} of {token} between its own cold wallets",
    ],
  },
  unusual_volume: {
    bullish: ["spot volume in {token} reached {amount} with buyers paying the spread"],
    bearish: ["sell-side volume in {token} reached {amount} as bids thinned"],
    neutral: ["{token} turned over {amount} in a tight range, twice its usual pace"],
  },
  smart_money: {
    bullish: ["wallets with a profitable record accumulated {token} into the move"],
    bearish: ["wallets with a profitable record trimmed {token} into strength"],
    neutral: ["profitable wallets rotated through {token} without a net position"],
  },
};

export function onchainSignals(
  prompt: string,
  { seed, market, at }: Scene,
): { summary: string; signals: Signal[] } {
  const focus = focusToken(prompt);
  const chance = random(seed, "onchain", Math.floor(at / HALF_HOUR), focus ?? "");
  const { byChange, outlook, averageChange } = market.mood(at);
  const busiest = byChange.toSorted((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h)).slice(0, 6);
  const others = chance.shuffled([market.coin("BTC", at), market.coin("ETH", at), ...busiest]);
  const chosen = [...(focus === null ? [] : [market.coin(focus, at)]), ...others];
  const distinct = chosen.filter(
    ({ symbol }, index) => chosen.findIndex((coin) => coin.symbol === symbol) === index,
  );
  const signals = distinct.slice(0, chance.whole(3, 6)).map((coin) => signalOf(coin, chance));
  const bullish = signals.filter(({ direction }) => direction === "bullish").length;
  const bearish = signals.filter(({ direction }) => direction === "bearish").length;
  return {
    summary:
      `${signals.length} notable flows in the last half hour, ${bullish} bullish and ${bearish} bearish, ` +
      `led by ${signals[0]?.token ?? "BTC"}, in a ${outlook} market (${percent(averageChange)} on average).`,
    signals,
  };
}

function signalOf(coin: Coin, chance: Random): Signal {
  const kind = chance.pick(KINDS);
  const direction = outlookOf(coin.change24h);
  const amountUsd = kind === "smart_money" ? null : Math.round(coin.volume24h * chance.between(0.002, 0.02));
  const detail = chance
    .pick(DETAILS[kind][direction])
    .replace("{amount}", bigUsd(amountUsd ?? 0))
    .replace("{token}", () => coin.symbol);
  return {
    token: coin.symbol,
    kind,
    direction,
    detail: `${detail.charAt(0).toUpperCase()}${detail.slice(1)}; the price is ${percent(coin.change24h)} on the day.`,
    amountUsd,
  };
}
