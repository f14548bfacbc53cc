import { DAY, toDay, HOUR, MINUTE } from "../lib/time";

/**
 * The rules of signals: the conditions of issue, the result of a trade, its day and its week. Pure. Prices are USD, a
 * `computePnlPercent` of 1.5 is 1.5 %. A day is written `2026-11-20` (UTC); a week is named by its Monday.
 */

export const SIGNAL_TOKENS = ["BTC", "ETH"] as const;
export type Token = (typeof SIGNAL_TOKENS)[number];
export type SignalDirection = "BUY" | "SELL" | "HOLD";

/** A signal expires this long after its issue. Later prices do not count. */
export const LIFETIME_MS = 6 * HOUR;

/** The hours of market history in a prompt. */
export const PROMPT_HOURS = 48;

/** The greatest distance, a fraction, of the model's own entry from the live price, which replaces it. */
export const MAX_ENTRY_DISTANCE = 0.005;

/**
 * The distance to tp1 is at least this share of the distance to the stop: a near tp1 with a far stop wins often and
 * earns nothing.
 */
export const MIN_REWARD_TO_RISK = 0.8;

/**
 * The least distance of the stop, a fraction of the entry. A nearer one is touched within the minute of issue, and by
 * price steps longer than the distance to it, so that the loss is larger than the recorded one.
 */
const MIN_STOP_DISTANCE = 0.0015;

/** A tolerance, because ratios of decimals are not exact. */
const HAIR = 1e-9;

export type SignalLevels = {
  signal: SignalDirection;
  entry: number;
  /** The first and the second target and the stop; `null` for HOLD. */
  tp1: number | null;
  tp2: number | null;
  sl: number | null;
};

/** A model's proposal with its reasoning. */
export type Proposal = Stated & { reasoning: string };
export type Stated = SignalLevels & { confidence: number };

/** The levels of a signal that takes a position. */
export type Position = { signal: "BUY" | "SELL"; entry: number; tp1: number; sl: number };

/** `null` for a HOLD. */
export function toPosition({ signal, entry, tp1, sl }: Omit<SignalLevels, "tp2">): Position | null {
  return signal === "HOLD" || tp1 === null || sl === null ? null : { signal, entry, tp1, sl };
}

/** The market at the issue of a trade. */
export type Market = {
  /** The measured price, at which the trade is entered. */
  priceUsd: number;
  /** The costs of entry and exit, in basis points of the stake. */
  costBps: number;
};

/** The problems of a proposed signal in this market, for the model's repair; `null` if it may be issued. */
export function findProposalProblems(proposal: Stated, market: Market): string | null {
  const { signal, entry, confidence } = proposal;
  const { priceUsd } = market;
  const isPercent = Number.isInteger(confidence) && confidence >= 0 && confidence <= 100;
  const isNear = Math.abs(entry - priceUsd) <= MAX_ENTRY_DISTANCE * priceUsd;
  const near = `within ${MAX_ENTRY_DISTANCE * 100} % of the live price ${priceUsd}`;
  const problems = [
    ...(isPercent ? [] : ["confidence must be a whole number from 0 to 100"]),
    ...(isNear ? [] : [`entry ${entry} must be ${near}`]),
    ...(isNear && signal !== "HOLD"
      ? findLevelProblems({ ...proposal, signal, entry: priceUsd }, market)
      : []),
  ];
  return problems.length === 0 ? null : problems.join("; ");
}

function findLevelProblems({ signal, entry, tp1, tp2, sl }: SignalLevels, { costBps }: Market): string[] {
  if (tp1 === null || tp2 === null || sl === null) return [`a ${signal} must have tp1, tp2 and sl`];
  const order = signal === "BUY" ? "sl < entry < tp1 <= tp2" : "sl > entry > tp1 >= tp2";
  const side = signal === "BUY" ? 1 : -1;
  const ordered =
    sl > 0 && tp2 > 0 && side * sl < side * entry && side * entry < side * tp1 && side * tp1 <= side * tp2;
  if (!ordered)
    return [
      `the levels of a ${signal} must satisfy ${order} (sl ${sl}, entry ${entry}: the live price, tp1 ${tp1}, tp2 ${tp2})`,
    ];
  const [reward, risk] = [Math.abs(tp1 - entry), Math.abs(entry - sl)];
  const from = `from the live price ${entry}`;
  const rules: [isKept: boolean, words: string][] = [
    [
      reward / entry > costBps / 10_000 + HAIR,
      `${from}, tp1 ${tp1} must be further than the costs of ${costBps / 100} %`,
    ],
    [
      risk / entry >= MIN_STOP_DISTANCE - HAIR,
      `${from}, sl ${sl} must be at least ${MIN_STOP_DISTANCE * 100} % away`,
    ],
    [
      reward / risk >= MIN_REWARD_TO_RISK - HAIR,
      `${from}, tp1 ${tp1} must be at least ${MIN_REWARD_TO_RISK} times as far as sl ${sl}`,
    ],
  ];
  return rules.flatMap(([isKept, words]) => (isKept ? [] : [words]));
}

/** Why a proposal with valid levels is no trade: its own confidence does not cover its costs. `null` if it does, and for a HOLD. */
export function findShortfall(proposal: Stated, { priceUsd, costBps }: Market): string | null {
  const position = toPosition({ ...proposal, entry: priceUsd });
  if (position === null) return null;
  const needed = 100 * computeBreakEven(position, costBps);
  if (proposal.confidence >= needed - HAIR) return null;
  return `its confidence of ${proposal.confidence} % is below the ${needed.toFixed(1)} % from which these levels earn their costs`;
}

/**
 * The signal of a proposal: entered at the measured price, whatever entry the model stated, and a HOLD if the proposal
 * is below its own break-even.
 */
export function enterProposal<Given extends Proposal>(proposal: Given, market: Market): Given {
  const entry = market.priceUsd;
  const shortfall = findShortfall(proposal, market);
  if (shortfall === null) return { ...proposal, entry };
  const reasoning = `No position: the model proposed a ${proposal.signal}, but ${shortfall}. ${proposal.reasoning}`;
  return { ...proposal, entry, signal: "HOLD", tp1: null, tp2: null, sl: null, reasoning };
}

/** The result of a position from entry to exit, in percent to six decimals and before costs; `null` for HOLD, which takes none. */
export function computePnlPercent(signal: SignalDirection, entry: number, exit: number): number | null {
  if (signal === "HOLD") return null;
  const change = (exit / entry - 1) * 100;
  return Number((signal === "BUY" ? change : -change).toFixed(6)) + 0;
}

/** A result after the costs of entry and exit. */
export function subtractCosts(pnl: number, costBps: number): number {
  return Number((pnl - costBps / 100).toFixed(6)) + 0;
}

/** The mean score between stop (0) and tp1 (1) of a price without a trend; at most 1 / (1 + 0.8) by the rules of issue. */
export function computeChance({ entry, tp1, sl }: Position): number {
  return Math.abs(entry - sl) / Math.abs(tp1 - sl);
}

/** The mean score at which a trade covers its costs: its chance, plus the costs as a share of the distance from stop to target. */
export function computeBreakEven(position: Position, costBps: number): number {
  const { entry, tp1, sl } = position;
  return computeChance(position) + ((costBps / 10_000) * entry) / Math.abs(tp1 - sl);
}

/** The hour of the day's issue (UTC); an earlier run is a late one of the day before. */
const ISSUE_HOUR = 8;
/** The recap's due time after the start of its week: Sunday 23:55. */
const RECAP_AFTER_MS = 6 * DAY + 23 * HOUR + 55 * MINUTE;

export function getDayStart(day: string): number {
  return Date.parse(`${day}T00:00:00.000Z`);
}

export function getDayAfter(day: string, days = 1): string {
  return toDay(getDayStart(day) + days * DAY);
}

/** The outcome of a signal, in a word. */
export const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

/** `BTC-2026-11-20`: a token has one signal a day. */
export function toSignalId({ token, day }: { token: string; day: string }): string {
  return `${token}-${day}`;
}

/** Whether the signals of this moment's day are due. */
export function isIssueTime(epochMs: number): boolean {
  return new Date(epochMs).getUTCHours() >= ISSUE_HOUR;
}

/** When the next signals are due, in epoch ms. */
export function getNextIssueTime(epochMs: number): number {
  const today = Math.floor(epochMs / DAY) * DAY + ISSUE_HOUR * HOUR;
  return today > epochMs ? today : today + DAY;
}

/** The seven days from a Monday on. */
export function listDaysOfWeek(week: string): string[] {
  return Array.from({ length: 7 }, (_, index) => getDayAfter(week, index));
}

/** The latest week whose recap is due: this one from Sunday 23:55 on, otherwise the one before, no matter how late it is. */
export function getDueWeek(epochMs: number): string {
  const moment = epochMs - RECAP_AFTER_MS;
  const sinceMonday = (new Date(moment).getUTCDay() + 6) % 7;
  return toDay(moment - sinceMonday * DAY);
}
