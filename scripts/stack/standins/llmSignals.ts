/** Part of the gateway's stand-in for local use: trading signals and reviews of them, made from what the prompt tells. */

import type { Scene } from "./llmContent";
import { random } from "./random";
import { percent, usd } from "./words";

export type TradingSignal = {
  signal: "buy" | "sell" | "hold";
  entry: number;
  tp1: number | null;
  tp2: number | null;
  sl: number | null;
  confidence: number;
  reasoning: string;
};

const DAY = 86_400_000;
/** A move of the recorded hours below this says nothing about direction. */
const FLAT = 0.0008;

/** Follows the recorded hours, around the live price of the prompt: the same signal for the same prompt, all day long. */
export function tradingSignal(prompt: string, { seed, market, at }: Scene): TradingSignal {
  const token = /^Token: (\w+)/m.exec(prompt)?.[1] ?? "BTC";
  const told = Number(/^Live price: \$([\d.e+-]+)/m.exec(prompt)?.[1]);
  const live = told > 0 ? told : market.coin(token, at).price;
  const chance = random(seed, "signal", token, Math.floor(at / DAY));
  const closes = Array.from(prompt.matchAll(/^\S+Z \$([\d.]+) \(/gm), ([, close]) => Number(close));
  const from = closes[0] ?? market.coin(token, at - 6 * 3_600_000).price;
  const move = live / from - 1;
  const confidence = chance.whole(52, 86);
  const entry = cents(live * (1 + chance.between(-0.0006, 0.0006)));
  const moved = `${token} moved ${percent(move * 100)} over the recorded hours to ${usd(live)}.`;
  if (Math.abs(move) < FLAT) {
    const reasoning = `${moved} The simulated analyst sees no edge and stays out.`;
    return { signal: "hold", entry, tp1: null, tp2: null, sl: null, confidence, reasoning };
  }
  const side = move > 0 ? 1 : -1;
  const risk = chance.between(0.003, 0.008);
  const level = (factor: number) => cents(live * (1 + side * risk * factor));
  return {
    signal: side === 1 ? "buy" : "sell",
    entry,
    tp1: level(chance.between(1, 1.4)),
    tp2: level(chance.between(1.8, 2.4)),
    sl: level(-1),
    confidence,
    reasoning:
      `${moved} The simulated analyst follows the move and risks ${percent(risk * 100).slice(1)} on it. ` +
      chance.pick([
        "A close back inside the range would end the idea.",
        "Volume has to hold for the second target.",
        "The stop stands behind the last hour's turn.",
      ]),
  };
}

/** A review of the figures that the prompt gives. */
export function signalReview(prompt: string, { seed }: Scene): { review: string } {
  const figures = /Wins (\d+), losses (\d+), expired (\d+), pending (\d+), total PnL (-?[\d.e-]+) %/.exec(
    prompt,
  );
  const [wins = 0, losses = 0, expired = 0, pending = 0, total = 0] = (figures ?? []).slice(1).map(Number);
  const span = /Review of the (day|week)/.exec(prompt)?.[1] ?? "day";
  const chance = random(seed, "review", prompt);
  const opening =
    wins + losses === 0
      ? `Nothing has been decided in this simulated ${span}.`
      : wins > losses
        ? `A good ${span} on the simulated market: targets were reached more often than stops.`
        : wins === losses
          ? `An even ${span} on the simulated market: as many targets as stops.`
          : `A hard ${span} on the simulated market: stops were hit more often than targets.`;
  const counts =
    `${wins} won, ${losses} lost and ${expired} expired` + (pending === 0 ? "" : `, ${pending} still open`);
  const closing = chance.pick([
    "One period proves little: judge the method by its whole record.",
    "The stops did their work; the size of the moves did the rest.",
    "Entries near the live price kept the results close to the plan.",
  ]);
  return { review: `${opening} ${counts}, for ${percent(total)} in all. ${closing}` };
}

function cents(value: number): number {
  return Math.round(value * 100) / 100;
}
