import * as z from "zod";

/**
 * What stands in the chains of signal events, for those who read it; `signals/record/chain` makes and checks it. The daily
 * signals have one chain. The shadows have another, and so have people's signals, so that neither lengthens the record of
 * what was delivered or waits for it: now and then their last hashes become events of that record, and are anchored with it.
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
  /** What wrote the signal; `null` where nothing answered. */
  model: z.string().nullable(),
  promptVersion: z.string(),
  /** Days without a signal of this token so far. */
  refusedDays: z.int().nonnegative(),
  /** Minutes that no candle covers: of the 48 hours before the issue, or of the path to the end. */
  gapMinutes: z.int().nonnegative(),
};

/** What was proposed. */
export const levels = {
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  /** The measured price at issue. */
  entry: z.number(),
  tp1: z.number().nullable(),
  tp2: z.number().nullable(),
  sl: z.number().nullable(),
  confidence: z.number(),
};

/** In every event of an issue, with what outcomes before it made of its confidence, and who measured its price. */
export const issue = {
  ...levels,
  calibratedConfidence: z.number(),
  calibrationMethod: z.enum(["shrinkage", "offset", "platt", "isotonic"]),
  /** Outcomes that the calibration was learned from. */
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
  /** How far the price had moved, percent a year; `null`: not known. Absent: from before this was told. */
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
  /** The order in which the levels were touched is not known: the stop was told. Absent: from before this was kept. */
  inDoubt: z.boolean().exactOptional(),
};

export const closedContent = z.strictObject({ ...circumstances, ...ending });

/** How the same trade the other way round ended, and the price at expiry: with the signal's own end, all control arms. */
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
  /** What wrote the signals before. */
  previousModel: z.string(),
  previousPromptVersion: z.string(),
  /** Of its shadow signals against those of the arm before it, over so many days; what would have been needed. */
  eValue: z.number().nonnegative(),
  days: z.int().nonnegative(),
  needed: z.number().positive(),
  /** The operator's reason where the e-value did not say so; else `null`. */
  forced: z.string().nullable(),
  at: time,
});

/** How far the chain of people's signals had come: as for the shadows', every hour in which it has grown. */
const peopleContent = z.strictObject({
  peopleSequence: z.int().positive(),
  peopleHash: hash,
  at: time,
});

/** How far the chain of shadow signals had come: from here on what it said until then is fixed as this event is. */
const shadowContent = z.strictObject({
  shadowSequence: z.int().positive(),
  shadowHash: hash,
  at: time,
});

/** From here on another model answers, it is asked with another prompt, or trades are told to cost something else. */
const changedContent = z.strictObject({
  model: z.string(),
  promptVersion: z.string(),
  costBps: z.number().nonnegative(),
  at: time,
});

/** The deployment was set back to a backup: what had been told between that and now is not in this chain. */
const restoredContent = z.strictObject({ reason: z.string(), at: time });

/** In every event of the lab's: which arm was asked what, and when. */
export const shadowSlot = {
  arm: z.string(),
  token: z.enum(["BTC", "ETH", "SOL"]),
  /** The full hour it was asked for in. */
  hour: time,
};

/** As of a daily signal, without what stands beside those; calibrated by the arm's own outcomes before it. */
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

/** Of a person's signal all that is told of a daily one, and whose it is. An arm has no name here: names are the owner's. */
const ofArm = { arm: z.string() };

/** From here on there is an arm. `number`: its owner had so many with it. */
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

/** The same as callers are told of it, who know the contents from the daily chain. */
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
  /** The event whose hash it holds; `null` for one that only keeps the account's nonces together. */
  sequence: z.int().positive().nullable(),
  hash: z.string().nullable().describe("The hash of that event"),
  txHashes: z
    .array(hex)
    .describe("Where its fees had to be raised there are several, of which one at most is mined."),
  status: z.enum(["pending", "confirmed", "failed"]),
  signedAt: z.iso.datetime(),
});
export type Anchor = z.output<typeof anchorShape>;
