import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { namesIn, older, type RecordsOf } from "../lib/records/records";
import { COLLECTIONS, KINDS, UNITS } from "./kinds";

/** What a fact is about. `kinds.ts` says how each is worded and in what unit it is. */
const vKind = v.union(...namesIn(KINDS).map((kind) => v.literal(kind)));

/** Something that the service observed: who said what about whom, and when. */
export const vFact = v.object({
  /** A symbol, or what else it is about: `market`, `Base`, `news`. */
  subject: v.string(),
  kind: vKind,
  value: v.union(v.number(), v.string()),
  unit: v.union(...UNITS.map((unit) => v.literal(unit))),
  /** Epoch ms: when the source saw it, or was asked where it does not say. */
  observedAt: v.number(),
  /** The source's name as readers know it. */
  source: v.string(),
  /** Where anybody can see the like. */
  url: v.string(),
});

/** What a source said at once of one subject: by kind, each of which has its unit. */
const vSaying = vFact
  .omit("kind", "value", "unit")
  .extend({ told: v.record(v.string(), vFact.fields.value) });

/** What a source said of several subjects, as rows keep it: what they have in common stands once. Each list has one entry a subject. */
const vSheet = v.object({
  source: v.string(),
  /** What all addresses begin with, and how each ends. */
  url: v.string(),
  ends: v.array(v.string()),
  subjects: v.array(v.string()),
  observedAt: v.array(v.number()),
  /** `null` for a subject of which it said nothing of the kind. */
  told: v.array(v.object({ kind: v.string(), values: v.array(v.union(vFact.fields.value, v.null())) })),
});

const vCollector = v.union(...namesIn(COLLECTIONS).map((collector) => v.literal(collector)));

/** One thing that a collector collects: `subject` is "" where it collects for everybody. */
export const vWanted = v.object({ collector: vCollector, subject: v.string() });

/** An attempt at a collection. */
export const vClaim = v.object({ collector: vCollector, subject: v.string(), attempt: v.number() });
export type Claim = Infer<typeof vClaim>;

export const vMissing = v.object({ collector: vCollector, subject: v.string(), reason: v.string() });

export type Fact = Infer<typeof vFact>;
export type Saying = Infer<typeof vSaying>;
export type Sheet = Infer<typeof vSheet>;
export type Kind = Infer<typeof vKind>;
export type Collector = Infer<typeof vCollector>;
export type Wanted = Infer<typeof vWanted>;
export type Missing = Infer<typeof vMissing>;

export const evidenceTables = {
  /**
   * What a collector last observed in each half hour, shared by whoever needs it. Written by `evidence/collections`; a
   * later collection of the same half hour takes the place of the earlier one. Dies after eight days.
   */
  facts: defineTable({
    /** Collector and subject: `day:BTC`. */
    key: v.string(),
    /** Epoch ms: where its half hour begins. */
    slot: v.number(),
    collectedAt: v.number(),
    /** Rows of earlier versions have subject by subject or fact by fact, for the eight days that they live. */
    facts: v.array(v.union(vSheet, vSaying, vFact)),
  })
    .index("by_key", ["key", "slot"])
    .index("by_slot", ["slot"]),
};

export const evidenceRecords: RecordsOf<typeof evidenceTables> = {
  facts: {
    keep: {
      days: 8,
      why: "reports keep what they cite; a report of a week ago is compared with",
      // The largest, of an earlier version, have some 60 kB.
      batch: 50,
      aged: older("slot"),
    },
  },
};
