import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { namesIn, older, type RecordsOf } from "../lib/records/records";
import { COLLECTIONS, KINDS, UNITS } from "./kinds";

/** The kind of a fact; `kinds.ts` has its wording and unit. */
const vKind = v.union(...namesIn(KINDS).map((kind) => v.literal(kind)));

/** Something that the service observed: source, subject, value and time. */
export const vFact = v.object({
  /** A symbol, or what else it is about: `market`, `Base`, `news`. */
  subject: v.string(),
  kind: vKind,
  value: v.union(v.number(), v.string()),
  unit: v.union(...UNITS.map((unit) => v.literal(unit))),
  /** Epoch ms: when the source saw it, or, if it does not say so, when it was asked. */
  observedAt: v.number(),
  /** The source's name for readers. */
  source: v.string(),
  /** A public address of the same data. */
  url: v.string(),
});

/**
 * Figures of one source about several subjects in stored form, without repeating what they have in common. Each list
 * has one entry per subject.
 */
const vSheet = v.object({
  source: v.string(),
  /** The common beginning of all addresses, and how each ends. */
  url: v.string(),
  ends: v.array(v.string()),
  subjects: v.array(v.string()),
  observedAt: v.array(v.number()),
  /** `null` for a subject without a figure of the kind. */
  told: v.array(v.object({ kind: v.string(), values: v.array(v.union(vFact.fields.value, v.null())) })),
});

const vCollector = v.union(...namesIn(COLLECTIONS).map((collector) => v.literal(collector)));

/** One collection: `subject` is "" if it is for everybody. */
export const vWanted = v.object({ collector: vCollector, subject: v.string() });

/** An attempt at a collection. */
export const vClaim = v.object({ collector: vCollector, subject: v.string(), attempt: v.number() });
export type Claim = Infer<typeof vClaim>;

export const vMissing = v.object({ collector: vCollector, subject: v.string(), reason: v.string() });

export type Fact = Infer<typeof vFact>;
export type Sheet = Infer<typeof vSheet>;
export type Kind = Infer<typeof vKind>;
export type Collector = Infer<typeof vCollector>;
export type Wanted = Infer<typeof vWanted>;
export type Missing = Infer<typeof vMissing>;

export const evidenceTables = {
  /**
   * A collector's last facts of each half hour, shared by all who need them. Written by `evidence/collections`; a later
   * collection replaces the earlier one of the same half hour. Dies after eight days.
   */
  facts: defineTable({
    /** Collector and subject: `day:BTC`. */
    key: v.string(),
    /** Epoch ms: where its half hour begins. */
    slot: v.number(),
    collectedAt: v.number(),
    facts: v.array(vSheet),
  })
    .index("by_key", ["key", "slot"])
    .index("by_slot", ["slot"]),
};

export const evidenceRecords: RecordsOf<typeof evidenceTables> = {
  facts: {
    keep: {
      days: 8,
      why: "reports keep what they cite; comparisons go back a week",
      aged: older("slot"),
    },
  },
};
