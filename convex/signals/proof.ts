import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_TX } from "../lib/http/examples";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { absentWhenEmpty, wholeNumberOr } from "../lib/http/input";
import { anchorShape, chainHead, signalEvent } from "./record/events";
import { eventExample } from "./views/examples";

/** What anybody can verify the record by: its events, and where its head was anchored. */

/** Events, or transactions, behind a number. */
const pageLimit = wholeNumberOr(100, 1, 500).describe("1 to 500, default 100");
const fromNumber = wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER);

export const proof: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/proof",
  summary:
    "The tamper-evident record of signals: hash-chained events and the chain's head. `npm run verify-signals` checks it.",
  description:
    "An event when a signal is issued, when it is closed, when its controls are known, and for each day on which a token got none, in order. Each carries the SHA-256 of its content and of the event before it, so nothing can be changed or left out without changing the head that cards have published.",
  example: {
    input: { after: 0, limit: 1 },
    output: { events: [eventExample], head: { sequence: 2, hash: "9c".repeat(32) }, count: 1 },
  },
  input: z.object({
    after: fromNumber.describe("Only events behind this sequence number, default 0"),
    limit: pageLimit,
  }),
  returns: z.object({
    events: z.array(signalEvent),
    head: chainHead.nullable().describe("null before the first event"),
    count: z.number().describe("How many events this answer holds"),
  }),
  handler: async (ctx, page) => {
    const { events, head } = await ctx.runQuery(internal.signals.history.proof, page);
    return { events, head, count: events.length };
  },
});

export const anchors: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/anchors",
  summary:
    "Where the signal record was anchored: transactions on Base that hold the chain's head, once a day. `npm run verify-signals -- URL --rpc …` checks them.",
  description:
    "Each transaction's data are the text `signal record SEQUENCE HASH`. By nonce, all that the account has signed from a nonce on; an account sends nothing else. Empty where the operator anchors nothing.",
  example: {
    input: { from: 0, limit: 1 },
    output: {
      addresses: ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
      address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      anchors: [
        {
          ...{ nonce: 0, sequence: 12, hash: "9c".repeat(32), status: "confirmed" },
          txHashes: [EXAMPLE_TX],
          signedAt: "2026-01-05T15:00:00.000Z",
        },
      ],
      count: 1,
    },
  },
  input: z.object({
    address: absentWhenEmpty(
      z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address: 0x and 40 hex digits"),
    ).describe("Of the accounts in `addresses`, the first when left out"),
    from: fromNumber.describe("Only from this nonce on, default 0"),
    limit: pageLimit,
  }),
  returns: z.object({
    addresses: z.array(z.string()).describe("Every account that was ever the anchor's, oldest first"),
    address: z.string().nullable().describe("The account told of; null: there is none"),
    anchors: z.array(anchorShape),
    count: z.number().describe("How many transactions this answer holds"),
  }),
  handler: async (ctx, { address, from, limit }) => {
    const page = await ctx.runQuery(internal.signals.record.anchors.page, {
      address: address ?? null,
      from,
      limit,
    });
    return { ...page, count: page.anchors.length };
  },
});
