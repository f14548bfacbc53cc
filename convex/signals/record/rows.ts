import { v, type Infer, type ObjectType } from "convex/values";
import { vPriceSource } from "../../prices/tables";
import { vCalibrated } from "../statistics/rows";
import { vComparison, vEnd, vOutcome } from "../trade/rows";
import { vPersonEvent, vProposal, vShadowEvent, vSignalEvent, vStanding } from "../validators";

/** The rows of signals, of their arms, of their events and of their weeks. */

export const vToken = v.union(v.literal("BTC"), v.literal("ETH"));
export const vLabToken = v.union(v.literal("BTC"), v.literal("ETH"), v.literal("SOL"));
export const vSide = v.union(v.literal("BUY"), v.literal("SELL"), v.null());

/**
 * The scope of totals: the signals of a token, all signals, those of one side, or those issued while the price moved
 * this far.
 */
export const vScope = v.union(
  ...[...vLabToken.members, v.literal("ALL"), v.literal("BUY"), v.literal("SELL")],
  ...[v.literal("calm"), v.literal("usual"), v.literal("wild")],
);
export type Scope = Infer<typeof vScope>;

/**
 * Where signals come from. `daily`: a model is asked for them, and they are delivered. `lab`: models are asked for
 * shadows, which are sent to nobody. `people`: signed-in users propose them to arms of their own.
 */
export const vDesk = v.union(v.literal("daily"), v.literal("lab"), v.literal("people"));
export type Desk = Infer<typeof vDesk>;
/** The desks that ask models. */
export const vAsking = v.union(v.literal("daily"), v.literal("lab"));
export type Asking = Infer<typeof vAsking>;

/** The arm of the daily desk, whichever model writes its signals. */
export const DAILY = "daily";

/** The measured price at which a signal is entered. */
export const vPriceAtIssue = v.object({
  usd: v.number(),
  source: vPriceSource,
  observedAt: v.number(),
});

/** The place of a signal: an arm has one for each slot and token. */
export const slotFields = {
  desk: vDesk,
  /** `daily`; in the lab a model and a prompt, `claude-haiku-4.5@signal-2`; of people `arm-` and 16 hex digits. */
  arm: v.string(),
  /** When its period began, epoch ms: the UTC day, or the hour of a shadow. */
  slot: v.number(),
  token: vLabToken,
};
export type Slot = ObjectType<typeof slotFields>;

/** What becomes of a signal from its issue on. */
const courseFields = {
  status: v.union(v.literal("PENDING"), vEnd),
  expiresAt: v.number(),
  /** The stated confidence as outcomes before this signal calibrate it. */
  calibrated: vCalibrated,
  /** Until when the tracker knows the path (epoch ms), and how many minutes before that no candle covers. */
  walkedUntil: v.number(),
  gapMinutes: v.number(),
  /** The sides of the control arms; `null` for HOLD, for a shadow, and if the price of a day ago was not known. */
  coin: vSide,
  momentum: vSide,
  /** How its controls ended, from its expiry on. */
  compared: v.optional(vComparison),
  /** The event of its desk's chain that issued it. Absent on rows of earlier versions. */
  event: v.optional(v.number()),
  /** Whether the tracker still looks at it: it is pending, or its controls will be compared once it has expired. */
  open: v.boolean(),
  ...vOutcome.omit("status", "gapMinutes").partial().fields,
};
export type Course = keyof typeof courseFields;

export const signalFields = {
  ...slotFields,
  ...vProposal.fields,
  generatedAt: v.number(),
  /** The model that answered, as the gateway names it. */
  model: v.string(),
  promptVersion: v.string(),
  /** The totals that calibrate its confidence and that its outcome adds to: see `signals/arms/arms`. */
  record: v.string(),
  price: vPriceAtIssue,
  /** What getting in and out costs, in basis points of the stake. */
  costBps: v.number(),
  /** Of the price at its issue, in percent a year. Absent if it is not known, and on rows of earlier versions. */
  volatility: v.optional(v.number()),
  ...courseFields,
};
export const vSignal = v.object(signalFields);
export type Signal = Infer<typeof vSignal>;
export type Proposal = Pick<Signal, keyof typeof vProposal.fields>;

const vWeekSignal = vSignal.pick("signal", "entry", "confidence", "status").extend({
  pnlPercent: v.union(v.number(), v.null()),
  // Absent on rows of earlier versions.
  costBps: v.optional(v.number()),
});

/** The results of a week at the time when its recap was opened. */
export const weekFields = {
  /** By UTC day, Monday to Sunday. */
  days: v.record(
    v.string(),
    v.object({ BTC: v.union(vWeekSignal, v.null()), ETH: v.union(vWeekSignal, v.null()) }),
  ),
  ...vStanding.fields,
  averagePnlPercent: v.union(v.number(), v.null()),
  bestPnlPercent: v.union(v.number(), v.null()),
  worstPnlPercent: v.union(v.number(), v.null()),
};

export const vWeek = v.object(weekFields);
export type Week = Infer<typeof vWeek>;
export type WeekSignal = Infer<typeof vWeekSignal>;

export const vLabArm = v.object({
  arm: v.string(),
  model: v.string(),
  promptVersion: v.string(),
  /** Epoch ms. */
  since: v.number(),
});

export const vOwnedArm = v.object({
  arm: v.string(),
  /** Absent: its owner has left. */
  userId: v.optional(v.string()),
  /** The name that its owner has chosen; nobody else sees it before the operator has accepted it. */
  name: v.optional(v.string()),
  nameState: v.union(v.literal("waiting"), v.literal("shown"), v.literal("refused")),
  /** Its number among its owner's arms, from 1 on. */
  number: v.number(),
  since: v.number(),
  /** Epoch ms: from then on it accepts no proposals. */
  endedAt: v.optional(v.number()),
  /** Whether it has enough outcomes to be listed. */
  listed: v.boolean(),
});

export type OwnedArm = Infer<typeof vOwnedArm>;

/**
 * Why there is no signal: the model proposed nothing usable; the model or a measured price could not be reached for too
 * long; or the lab's share of the budget was spent.
 */
export const vMissed = v.union(v.literal("refused"), v.literal("failed"), v.literal("budget"));
export type Missed = Infer<typeof vMissed>;

/** An event of a desk's chain. */
export const vDeskEvent = v.union(
  v.object({ desk: v.literal("daily"), event: vSignalEvent }),
  v.object({ desk: v.literal("lab"), event: vShadowEvent }),
  v.object({ desk: v.literal("people"), event: vPersonEvent }),
);
export type DeskEvent = Infer<typeof vDeskEvent>;
export type EventOf = { [Of in Desk]: Extract<DeskEvent, { desk: Of }>["event"] };
