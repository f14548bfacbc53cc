import * as z from "zod";
import { EXAMPLE_TX } from "../lib/http/examples";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { absentWhenEmpty, wholeNumberOr } from "../lib/http/input";
import { internal } from "../_generated/api";
import { chainPage } from "./answers";
import { labView, shadowLabExample } from "./arms/figures";
import { shadowLab } from "./arms/shapes";
import { anchorShape, chainHead, personLink, shadowEvent, signalEvent } from "./record/events";
import { eventExample } from "./views/examples";

/** What anybody needs to verify the records: the events of the three chains, and the anchors of their heads. */

const limit = wholeNumberOr(100, 1, 500).describe("1 to 500, default 100");
const fromNumber = wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER);
const page = z.object({
  after: fromNumber.describe("Only events behind this sequence number, default 0"),
  limit,
});
const head = chainHead.nullable().describe("null before the first event");
const count = z.number().describe("How many events this answer holds");

const proof: MountedEndpoint = endpoint({
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
  input: page,
  returns: z.object({ events: z.array(signalEvent), head, count }),
  handler: async (ctx, input) => chainPage(ctx, "daily", input),
});

const shadow: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/shadow",
  summary:
    "Models and prompts that are asked for a signal every hour, which is sent to nobody, and their results.",
  description:
    "Off if the operator names no arms. Every shadow signal is an event before its outcome can be known, in a hash chain of its own, whose head is in /signals/proof once a day. An arm that has shown more than the one that writes the daily signals may be promoted to write them.",
  example: { input: { after: 2_892 }, output: { ...shadowLabExample, events: [], count: 0 } },
  input: page,
  returns: shadowLab.extend({
    events: z.array(shadowEvent).describe("Of the shadow signals' chain, oldest first"),
    count,
  }),
  handler: async (ctx, input) => {
    const lab = await ctx.runQuery(internal.signals.arms.history.lab, {});
    return { ...labView(lab), ...(await chainPage(ctx, "lab", input)) };
  },
});

const peopleProof: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/records/proof",
  summary:
    "The hash chain of people's signals, oldest first, and its head. `npm run verify-signals` checks it.",
  description:
    "Made like /signals/proof, which takes this chain's head in every hour in which it has grown, so that the anchors hold it. It has ids of arms and no names.",
  needs: [],
  example: { input: { after: 0, limit: 1 }, output: { events: [], head: null, count: 0 } },
  input: page,
  returns: z.object({
    events: z
      .array(personLink)
      .describe("As of /signals/proof, each with its `arm`; `begun`: there is such an arm"),
    head,
    count,
  }),
  handler: async (ctx, input) => chainPage(ctx, "people", input),
});

const anchors: MountedEndpoint = endpoint({
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
    limit,
  }),
  returns: z.object({
    addresses: z.array(z.string()).describe("Every account that the anchor has ever used, oldest first"),
    address: z.string().nullable().describe("The account of this answer; null if there is none"),
    anchors: z.array(anchorShape),
    count: z.number().describe("How many transactions this answer contains"),
  }),
  handler: async (ctx, { address = null, ...range }) => {
    const page = await ctx.runQuery(internal.signals.record.anchors.page, { address, ...range });
    return { ...page, count: page.anchors.length };
  },
});

export const proofEndpoints: MountedEndpoint[] = [proof, anchors, shadow, peopleProof];
