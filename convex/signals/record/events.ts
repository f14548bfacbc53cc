import * as z from "zod";

/**
 * The contents of the chains of signal events, for their readers; `signals/record/chain` makes and checks it. The daily
 * signals have one chain. The shadows have another, and so have people's signals, so that they neither lengthen the
 * record of delivered signals nor wait for it. From time to time their last hashes become events of that record, and
 * are anchored with it.
 */

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const token = z.enum(["BTC", "ETH"]);
const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const time = z.iso.datetime();
const side = z.enum(["BUY", "SELL"]);
const status = z.enum(["WIN", "LOSS", "EXPIRED"]);
const decidedBy = z.enum(["candle", "sample", "price"]);

/** In every event of a signal. */
export const circumstances = {
  token,
  day,
  /** The model that wrote the signal; `null` if none answered. */
  model: z.string().nullable(),
  promptVersion: z.string(),
  /** Days without a signal of this token so far. */
  refusedDays: z.int().nonnegative(),
  /** Minutes that no candle covers: of the 48 hours before the issue, or of the path to the end. */
  gapMinutes: z.int().nonnegative(),
};

/** The proposal. */
export const levels = {
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  /** The measured price at issue. */
  entry: z.number(),
  tp1: z.number().nullable(),
  tp2: z.number().nullable(),
  sl: z.number().nullable(),
  confidence: z.number(),
};

/** In every event of an issue, with the confidence as earlier outcomes calibrate it, and the source of its price. */
export const issue = {
  ...levels,
  calibratedConfidence: z.number(),
  calibrationMethod: z.enum(["shrinkage", "offset", "platt", "isotonic"]),
  /** The number of outcomes behind the calibration. */
  calibrationOutcomes: z.int().nonnegative(),
  costBps: z.number().nonnegative(),
  generatedAt: time,
  expiresAt: time,
  /** Who measured the entry, and when. */
  priceSource: z.string(),
  priceObservedAt: time,
};

export const issuedContent = z.strictObject({
  ...circumstances,
  timeframe: z.literal("1h"),
  ...issue,
  /** How far the price had moved, in percent a year; `null` if not known. Absent in events of earlier versions. */
  volatility: z.number().nullable().exactOptional(),
  /** The sides of the control arms; `null` for HOLD, and where the price of a day ago is not known. */
  coin: side.nullable(),
  momentum: side.nullable(),
  reasoning: z.string(),
});

/** In every event of an end. */
export const ending = {
  status,
  /** The touch, or the expiry. */
  closedAt: time,
  exitPrice: z.number().nullable(),
  pnlPercent: z.number().nullable(),
  decidedBy: decidedBy.nullable(),
  /**
   * The order in which the levels were touched is not known, so the stop decided. Absent in events of earlier versions.
   */
  inDoubt: z.boolean().exactOptional(),
};

export const closedContent = z.strictObject({ ...circumstances, ...ending });

/**
 * How the opposite trade ended, and the price at expiry: together with the signal's own outcome, these give all control
 * arms.
 */
export const comparedContent = z.strictObject({
  ...circumstances,
  mirrorStatus: status,
  mirrorExitPrice: z.number().nullable(),
  mirrorInDoubt: z.boolean().exactOptional(),
  holdExitPrice: z.number().nullable(),
  decidedBy: decidedBy.nullable(),
});

/** A day on which a token got no signal: the model proposed nothing usable, or something was out of reach. */
const refusedContent = z.strictObject({ ...circumstances, reason: z.enum(["refused", "failed"]), at: time });

/** From here on another model, or another prompt, writes the signals, as the operator has decided: see `signals/arms/promotions`. */
export const promotedContent = z.strictObject({
  /** As it is named in `SHADOW_ARMS`. */
  arm: z.string(),
  model: z.string(),
  promptVersion: z.string(),
  /** The arm that wrote the signals before. */
  previousModel: z.string(),
  previousPromptVersion: z.string(),
  /**
   * The comparison of its shadow signals with those of the previous arm: the number of days, and the e-value that was
   * needed.
   */
  eValue: z.number().nonnegative(),
  days: z.int().nonnegative(),
  needed: z.number().positive(),
  /** The operator's reason if the e-value was too small; otherwise `null`. */
  forced: z.string().nullable(),
  at: time,
});

/** The head of the chain of people's signals, as for the shadows' chain, in every hour in which it has grown. */
const peopleContent = z.strictObject({
  peopleSequence: z.int().positive(),
  peopleHash: hash,
  at: time,
});

/** The head of the chain of shadow signals: its events up to then are fixed as well as this event. */
const shadowContent = z.strictObject({
  shadowSequence: z.int().positive(),
  shadowHash: hash,
  at: time,
});

/** From here on another model answers, the prompt is another one, or the assumed costs are others. */
const changedContent = z.strictObject({
  model: z.string(),
  promptVersion: z.string(),
  costBps: z.number().nonnegative(),
  at: time,
});

/** The deployment was set back to a backup: events between the backup and now are not in this chain. */
const restoredContent = z.strictObject({ reason: z.string(), at: time });

/** In every event of the lab's: which arm was asked what, and when. */
export const shadowSlot = {
  arm: z.string(),
  token: z.enum(["BTC", "ETH", "SOL"]),
  /** The full hour it was asked for in. */
  hour: time,
};

/** As for a daily signal, without the controls; calibrated by the arm's own earlier outcomes. */
const shadowIssued = z.strictObject({
  ...shadowSlot,
  model: z.string(),
  promptVersion: z.string(),
  ...issue,
});

const shadowClosed = z.strictObject({ ...shadowSlot, gapMinutes: circumstances.gapMinutes, ...ending });

/** An hour without a signal: the model proposed nothing usable, was out of reach, or the lab's share of the day's budget was spent. */
const missedContent = z.strictObject({
  ...shadowSlot,
  reason: z.enum(["refused", "failed", "budget"]),
  at: time,
});

/**
 * A person's signal has the contents of a daily one, and its arm. The arm has no name here, because names are words of
 * the owner.
 */
const ofArm = { arm: z.string() };

/** From here on the arm exists. `number`: how many arms its owner then had. */
const begunContent = z.strictObject({ ...ofArm, number: z.int().positive(), at: time });

/** In every event of a chain. */
export const link = {
  sequence: z.int().positive().describe("1 is the first event."),
  contentHash: hash.describe("SHA-256 of the content's canonical JSON: keys sorted, no white space."),
  previousHash: hash.describe("`hash` of the event before; 64 zeros before the first."),
  hash: hash.describe("SHA-256 of the canonical JSON of sequence, kind, contentHash and previousHash."),
};

export const signalEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("issued"), content: issuedContent }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: closedContent }),
  z.strictObject({ ...link, kind: z.literal("compared"), content: comparedContent }),
  z.strictObject({ ...link, kind: z.literal("refused"), content: refusedContent }),
  z.strictObject({ ...link, kind: z.literal("promoted"), content: promotedContent }),
  z.strictObject({ ...link, kind: z.literal("shadow"), content: shadowContent }),
  z.strictObject({ ...link, kind: z.literal("people"), content: peopleContent }),
  z.strictObject({ ...link, kind: z.literal("changed"), content: changedContent }),
  z.strictObject({ ...link, kind: z.literal("restored"), content: restoredContent }),
]);

export const shadowEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("issued"), content: shadowIssued }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: shadowClosed }),
  z.strictObject({ ...link, kind: z.literal("missed"), content: missedContent }),
]);

export const personEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("begun"), content: begunContent }),
  z.strictObject({ ...link, kind: z.literal("issued"), content: issuedContent.extend(ofArm) }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: closedContent.extend(ofArm) }),
  z.strictObject({ ...link, kind: z.literal("compared"), content: comparedContent.extend(ofArm) }),
]);

/** The same in the words for callers, who know the contents from the daily chain. */
export const personLink = z.object({
  ...link,
  kind: z.enum(["begun", "issued", "closed", "compared"]),
  content: z.looseObject(ofArm),
});

export const chainHead = z.strictObject({ sequence: link.sequence, hash });

export type IssuedContent = z.output<typeof issuedContent>;
export type ClosedContent = z.output<typeof closedContent>;
export type ComparedContent = z.output<typeof comparedContent>;
export type SignalEvent = z.output<typeof signalEvent>;
export type PersonEvent = z.output<typeof personEvent>;
export type ShadowEvent = z.output<typeof shadowEvent>;
export type ChainHead = z.output<typeof chainHead>;

const hex = z.string().regex(/^0x[0-9a-f]{64}$/i);

/** A transaction of the anchor's account as this service knows it. */
export const anchorShape = z.object({
  nonce: z.int().nonnegative(),
  /** The event whose hash it contains; `null` for a transaction that only fills a nonce of the account. */
  sequence: z.int().positive().nullable(),
  hash: z.string().nullable().describe("The hash of that event"),
  txHashes: z
    .array(hex)
    .describe("Where its fees had to be raised there are several, of which one at most is mined."),
  status: z.enum(["pending", "confirmed", "failed"]),
  signedAt: z.iso.datetime(),
});
export type Anchor = z.output<typeof anchorShape>;
