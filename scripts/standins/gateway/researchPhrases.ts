/** Part of the gateway's stand-in for local use: the sentences of simulated research notes. */

import type { Outlook } from "../sources/market";

export const OPENINGS: Record<Outlook, readonly string[]> = {
  bullish: [
    "Risk appetite is back, and buyers set the pace of the session.",
    "Buyers keep control of the tape, and the session carries a constructive tone.",
  ],
  bearish: [
    "Sellers set the pace, and the market is on the back foot.",
    "Pressure dominates the session, and rallies have been sold so far.",
  ],
  neutral: [
    "The market is marking time, and neither side commands the tape.",
    "Conviction is scarce this session, and most prices stay where they were.",
  ],
};

export const PERSISTENT = [
  "Across the collected cycles, {persistent} stayed on the trending list most often, a sign of interest that outlives a single headline.",
  "The collections show {persistent} as the most persistent names, which deserves more weight than any single reading.",
];

export const SENTIMENT = [
  "On the social side, models report: {quote}. The desk treats it as a measure of mood, not as a forecast.",
  "Social readings summarise the mood as {quote}, which fits the price action only in part.",
];

export const ONCHAIN = [
  "On-chain signals are reported as {quote}. Flows of this size matter most when price confirms them within hours.",
  "A model notes of the chain {quote}, and the desk looks for confirmation in spot volume before acting on it.",
];

export const DETAIL = [
  "One line stands out among what is reported: {quote}.",
  "The single most specific report on file is {quote}.",
];

export const THIN = [
  "The evidence is thin in places, since some of the desk's sources delivered nothing, and the conclusions are weaker for it.",
  "Note that some of the desk's sources returned no reading, so that this view rests on fewer legs than usual.",
];

export const CLOSINGS: Record<Outlook, readonly string[]> = {
  bullish: [
    "In sum, the outlook is bullish as long as breadth holds, and pullbacks towards support deserve buying interest rather than alarm.",
    "The balance of evidence is bullish, and the burden of proof now lies with the sellers.",
  ],
  bearish: [
    "In sum, the outlook is bearish until breadth recovers, and rallies into resistance deserve suspicion rather than pursuit.",
    "The balance of evidence is bearish, and the burden of proof now lies with the buyers.",
  ],
  neutral: [
    "In sum, the outlook is neutral: the range deserves respect until price leaves it on rising volume.",
    "The balance of evidence is neutral, and patience is the better part of positioning here.",
  ],
};

/** Sentences that are true in any market, to bring a note to its length. */
export const EXTRAS: Record<"majors" | "breadth" | "flows" | "risks", readonly string[]> = {
  majors: [
    "The majors still absorb most of the day's turnover, so that their direction sets the tone for everything further out on the risk curve.",
    "Intraday swings in the majors remain modest by historical standards, and short-dated volatility has little reason to reprice from here alone.",
    "Order books around the current price look balanced, which leaves the next impulse to flows rather than to positioning already in place.",
    "What moves the majors first tends to reach the rest within the session, and the order in which coins follow is worth watching.",
    "Time of day matters as well: liquidity thins between the American close and the Asian open, when moves tend to overshoot.",
  ],
  breadth: [
    "Breadth of this kind has tended to persist for several hours before it turns, which argues for patience with positions that already work.",
    "Smaller capitalisations react with a wider amplitude than Bitcoin, and their moves should be sized with that leverage in mind.",
    "Rotation between sectors continues under the surface, with capital leaving yesterday's winners rather than the market as a whole.",
    "A narrow advance is fragile, and the number of coins that take part says more than the size of the largest gain.",
    "Among the large caps, no single coin departs so far from the rest that it would distort the averages quoted above.",
  ],
  flows: [
    "Stablecoin prices hold their peg closely, so that the funding side of the market shows no sign of stress.",
    "Exchange balances deserve attention over the next sessions, because transfers ahead of a move tend to cluster and seldom come alone.",
    "Narratives spread faster than fundamentals change, and the desk discounts any story that has not yet appeared in volume.",
    "Depth near the price is what large orders meet first, and a thin book turns an ordinary order into a headline.",
    "Where mood and flows disagree, the desk gives flows more weight, since they commit capital while opinions commit nothing.",
  ],
  risks: [
    "Macroeconomic releases remain the obvious outside risk, and a surprise in rates or the dollar would overrule every signal discussed here.",
    "Leverage is the quieter risk: crowded positions unwind quickly, and a cascade of liquidations rarely stops at a tidy technical level.",
    "Position sizes should reflect the possibility that correlations rise towards one exactly when diversification is needed the most.",
    "Nothing here is certain, and a plan that survives being wrong is worth more than a forecast that happens to be right.",
    "The next review should compare these figures with fresh ones, because a signal that does not repeat is best treated as noise.",
  ],
};
