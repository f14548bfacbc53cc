/** Part of the gateway's stand-in for local use: the sentences a simulated research note is put together from. */

import type { Outlook } from "./market";

export const OPENINGS: Record<Outlook, readonly string[]> = {
  bullish: [
    "Risk appetite is back: {rising} of {count} tracked coins trade higher than a day ago and the average stands at {average}.",
    "Buyers keep control of the tape, with an average daily gain of {average} and {rising} of {count} tracked coins in the green.",
    "The session carries a constructive tone, as {rising} of {count} tracked coins advance and the average move reads {average}.",
  ],
  bearish: [
    "Sellers set the pace: only {rising} of {count} tracked coins hold above yesterday's level and the average stands at {average}.",
    "The market is on the back foot, with an average daily move of {average} and just {rising} of {count} tracked coins higher.",
    "Pressure dominates the session, as the average coin moves {average} and no more than {rising} of {count} tracked coins advance.",
  ],
  neutral: [
    "The market is marking time: {rising} of {count} tracked coins are higher on the day and the average move is a mere {average}.",
    "Neither side commands the tape, with {rising} of {count} tracked coins up and an average daily change of {average}.",
    "Conviction is scarce this session, as the average coin moves {average} and {rising} of {count} tracked coins advance.",
  ],
};

export const MAJORS = [
  "Bitcoin changes hands at {btc} ({btcChange} over 24 hours), Ethereum at {eth} ({ethChange}) and Solana at {sol} ({solChange}).",
  "Among the majors, Bitcoin prints {btc} for a daily change of {btcChange}, while Ethereum sits at {eth} ({ethChange}) and Solana at {sol} ({solChange}).",
  "Bitcoin anchors the complex at {btc} ({btcChange}); Ethereum follows at {eth} ({ethChange}) and Solana at {sol} ({solChange}).",
];

export const RATIO = [
  "One ether buys {ratio} bitcoin, which makes {leader} the stronger of the two over the day.",
  "The ether to bitcoin ratio reads {ratio}, and on the day {leader} is the stronger half of the pair.",
];

export const BREADTH = [
  "Leadership belongs to {top}, while {bottom} trail the field. The gap between the best and the worst performer is {spread} percentage points, which {dispersion}.",
  "At the top of the table stand {top}; at the bottom, {bottom}. A spread of {spread} percentage points between both ends {dispersion}.",
  "{top} lead the advancing side and {bottom} the declining one, a range of {spread} percentage points that {dispersion}.",
];

export const DISPERSION = {
  wide: "rewards selection over broad exposure",
  narrow: "says that one common factor still drives most prices",
};

export const TRENDING = [
  "Search interest concentrates on {trending}, and the list has to be read as attention rather than as demand.",
  "The most searched tokens are {trending}; attention of this kind often fades within a session.",
  "Attention is with {trending}, although interest alone seldom carries a price for long.",
];

export const PERSISTENT = [
  "Across the collected cycles, {persistent} stayed on the trending list most often, a sign of interest that outlives a single headline.",
  "The collections show {persistent} as the most persistent names, which deserves more weight than any single reading.",
];

export const SENTIMENT = [
  "On the social side, the evidence reads: “{quote}”. The desk treats it as a measure of mood, not as a forecast.",
  "Social readings summarise the mood as “{quote}”, which fits the price action only in part.",
];

export const ONCHAIN = [
  "The on-chain picture is summed up as “{quote}”. Flows of this size matter most when price confirms them within hours.",
  "On-chain evidence notes “{quote}”, and the desk looks for confirmation in spot volume before acting on it.",
];

export const DETAIL = [
  "One line stands out among the observations: “{quote}”.",
  "The single most specific observation on file is “{quote}”.",
];

export const THIN = [
  "The evidence is thin in places, since {missing} of the desk's sources delivered nothing, and the conclusions are weaker for it.",
  "Note that {missing} of the desk's sources returned no reading, so that this view rests on fewer legs than usual.",
];

export const FOCUS = [
  "For the focus token, {name} ({symbol}), the figures are a price of {price}, a daily change of {change}, a market capitalisation of {cap} and a day's volume of {volume}. Against the market average it is {relative}.",
  "{name} ({symbol}), the focus of this note, trades at {price} after a move of {change}, on a capitalisation of {cap} and {volume} of daily volume. It is {relative} relative to the market.",
];

export const RISKS = [
  "On risk, a Bitcoin close below {support} would invalidate the constructive case, while acceptance above {resistance} would open the way higher.",
  "The levels that matter are {support} and {resistance} on Bitcoin: a break of either would reset positioning across the board.",
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

/** Sentences that hold in any market, to bring a note to its length. */
export const EXTRAS: Record<"majors" | "breadth" | "flows" | "risks", readonly string[]> = {
  majors: [
    "The majors still absorb most of the day's turnover, so that their direction sets the tone for everything further out on the risk curve.",
    "Intraday swings in the majors remain modest by historical standards, and short-dated volatility has little reason to reprice from here alone.",
    "Order books around the current price look balanced, which leaves the next impulse to flows rather than to positioning already in place.",
    "Time of day matters as well: liquidity thins between the American close and the Asian open, when moves tend to overshoot.",
  ],
  breadth: [
    "Breadth of this kind has tended to persist for several hours before it turns, which argues for patience with positions that already work.",
    "Smaller capitalisations react with roughly twice the amplitude of Bitcoin, and their moves should be sized with that leverage in mind.",
    "Rotation between sectors continues under the surface, with capital leaving yesterday's winners rather than the market as a whole.",
    "Among the large caps, no single coin departs so far from the rest that it would distort the averages quoted above.",
  ],
  flows: [
    "Stablecoin prices hold their peg within a tenth of a percent, so that the funding side of the market shows no sign of stress.",
    "Exchange balances deserve attention over the next sessions, because transfers ahead of a move tend to cluster and seldom come alone.",
    "Narratives spread faster than fundamentals change, and the desk discounts any story that has not yet appeared in volume.",
    "Where mood and flows disagree, the desk gives flows more weight, since they commit capital while opinions commit nothing.",
  ],
  risks: [
    "Macroeconomic releases remain the obvious outside risk, and a surprise in rates or the dollar would overrule every signal discussed here.",
    "Leverage is the quieter risk: crowded positions unwind quickly, and a cascade of liquidations rarely stops at a tidy technical level.",
    "Position sizes should reflect the possibility that correlations rise towards one exactly when diversification is needed the most.",
    "The next review should compare these figures with fresh ones, because a signal that does not repeat is best treated as noise.",
  ],
};
