/** Part of the gateway's stand-in for local use: trading signals and reviews of them, made from the prompt. */

import { factsIn, type ToldFact } from "./facts";
import type { Scene } from "./content";
import { random } from "../random";
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
  const stated = Number(/^Live price: \$([\d.e+-]+)/m.exec(prompt)?.[1]);
  const live = stated > 0 ? stated : market.coin(token, at).price;
  const chance = random(seed, "signal", token, Math.floor(at / DAY));
  const closes = Array.from(prompt.matchAll(/^\S+Z \$([\d.]+) \(/gm), ([, close]) => Number(close));
  const from = closes[0] ?? market.coin(token, at - 6 * 3_600_000).price;
  const move = live / from - 1;
  const confidence = chance.whole(62, 86);
  const entry = cents(live * (1 + chance.between(-0.0006, 0.0006)));
  const moved = `${token} moved ${percent(move * 100)} over the recorded hours to ${usd(live)}.`;
  if (Math.abs(move) < FLAT) {
    const reasoning = `${moved} The simulated analyst sees no edge and stays out.`;
    return { signal: "hold", entry, tp1: null, tp2: null, sl: null, confidence, reasoning };
  }
  const side = move > 0 ? 1 : -1;
  const risk = chance.between(0.005, 0.01);
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

/** A review from the numbered facts in the prompt, with slots for figures as the prompt requires. */
export function signalReview(prompt: string, { seed }: Scene): { review: string } {
  const facts = factsIn(prompt);
  const find = (about: string) => facts.find((fact) => fact.about === `Market ${about}`);
  const [won, lost, expired] = ["signals won", "signals lost", "signals expired"].map(find);
  const pending = find("signals pending");
  const total = find("result before costs");
  const [wins, losses] = [won?.value ?? 0, lost?.value ?? 0];
  const slot = (fact: ToldFact | undefined) => (fact === undefined ? "none" : `{f${fact.id}}`);
  const span = /Review of the (day|week)/.exec(prompt)?.[1] ?? "day";
  const chance = random(seed, "review", prompt);
  const cite = (fact: ToldFact | undefined) => (fact === undefined ? "" : ` [f${fact.id}]`);
  const opening =
    wins + losses === 0
      ? `Nothing has been decided in this simulated ${span}`
      : wins > losses
        ? `A good ${span} on the simulated market: targets were reached more often than stops`
        : wins === losses
          ? `An even ${span} on the simulated market: as many targets as stops`
          : `A hard ${span} on the simulated market: stops were hit more often than targets`;
  const counts =
    `The record shows ${slot(won)} won, ${slot(lost)} lost and ${slot(expired)} expired` +
    ((pending?.value ?? 0) === 0 ? "" : `, with ${slot(pending)} still open`);
  const closing = chance.pick([
    "One period proves little: judge the method by its whole record",
    "The stops did their work; the size of the moves did the rest",
    "Entries near the live price kept the results close to the plan",
  ]);
  return {
    review: `${opening}${cite(won)}. ${counts}, for a result of ${slot(total)} in all. ${closing}${cite(total)}.`,
  };
}

function cents(value: number): number {
  return Math.round(value * 100) / 100;
}
