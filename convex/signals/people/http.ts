import * as z from "zod";
import { internal } from "../../_generated/api";
import { endpoint, type MountedEndpoint } from "../../lib/http/endpoint";
import { text, tokenOf, wholeNumber } from "../../lib/http/input";
import type { Caller } from "../../lib/limits/callers";
import { sha256Hex } from "../../lib/security/digests";
import { TOKENS } from "../trade/rules";
import { signalExample } from "../views/examples";
import { publicSignal } from "../views/shapes";
import { signalView } from "../views/signals";
import { ownArm, ownArmExample } from "./shapes";

/**
 * People's own arms over HTTP: with a token, with a key, or with a key in the body for clients that cannot send
 * headers.
 */

const key = z
  .string()
  .regex(/^mk_\S{1,100}$/, "must be a key of account/keys")
  .optional()
  .describe("A key with the scope `record`, for callers that cannot send the Authorization header");
const arm = text(40).describe("The id of an arm of yours, `arm-…`");

const errors = {
  unauthorized: "Neither the web application's token nor a valid key was sent.",
  forbidden: "The key lacks the scope record.",
} as const;
const headers = {
  Authorization: "`Bearer <token>` of the web application, or a key with the scope `record`.",
};

/** The key that was sent, in the body or as a header. */
function keyFrom(caller: Caller, key: string | undefined): { keyHash?: string } {
  const keyHash = key === undefined ? caller.keyHash : sha256Hex(key);
  return keyHash === undefined ? {} : { keyHash };
}

const list: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/records",
  summary: "People's own arms with 30 outcomes or more, no matter which: each record is at /record/{name}.",
  description:
    "Signed-in users propose signals in advance; the service measures the entry, and ends, counts and chains them like its own. The newest hundred, newest first, because an order by results would show luck.",
  needs: [],
  example: {
    input: {},
    output: { arms: [{ arm: { ...ownArmExample, listed: true }, n: 31, excess: -2.4 }] },
  },
  input: z.object({}),
  returns: z.object({
    arms: z.array(
      z.object({
        arm: ownArm,
        n: z.int().describe("Signals that have ended"),
        excess: z.number().nullable().describe("Points above chance per day, after costs"),
      }),
    ),
  }),
  handler: async (ctx) => ({ arms: await ctx.runQuery(internal.signals.people.arms.listed, {}) }),
});

const make: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/records",
  summary: "Creates an arm of the caller's own, which accepts signals.",
  description:
    "An owner has at most ten arms, including ended ones, and none can be taken back. The name is shown once the operator has accepted it; the chain contains only the id.",
  needs: [],
  limit: "settings",
  errors: { ...errors, conflict: "The name is taken, or the owner has had ten arms." },
  headers,
  example: { input: { name: "night-owl" }, output: { arm: { ...ownArmExample, nameState: "waiting" } } },
  input: z.object({ name: text(30).describe("3 to 30 small letters, digits and hyphens"), key }),
  returns: z.object({ arm: ownArm }),
  handler: async (ctx, { name, key }, { caller }) => {
    const args = { ...keyFrom(caller, key), name };
    return { arm: await ctx.runMutation(internal.signals.people.arms.make, args) };
  },
});

const mine: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/records/mine",
  summary: "The caller's own arms, ended ones too.",
  description: "Listed or not: others see an arm in /records from 30 outcomes on.",
  needs: [],
  limit: "settings",
  errors,
  headers,
  example: { input: {}, output: { arms: [ownArmExample] } },
  input: z.object({}),
  returns: z.object({ arms: z.array(ownArm) }),
  handler: async (ctx, _input, { caller }) => ({
    arms: await ctx.runQuery(internal.signals.people.arms.mine, {
      ...keyFrom(caller, undefined),
      now: Date.now(),
    }),
  }),
});

const propose: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/records/signals",
  summary: "Proposes a signal to an arm of the caller's own.",
  description:
    "Its entry is the price that is measured after the request has arrived, by the rules of the service's own signals, and it ends at its target, at its stop or after six hours. An arm has one signal for each token and UTC day. The signal becomes an event of a hash chain at once, is in an anchor within the hour, and cannot be taken back.",
  needs: [],
  limit: "signal",
  errors: {
    ...errors,
    not_found: "The caller has no such arm.",
    conflict: "The arm already has a signal for this token and day, or has ended.",
  },
  headers,
  example: {
    input: {
      ...{ arm: ownArmExample.arm, token: "BTC", signal: "BUY" },
      ...{ tp1: 98_200, sl: 96_300, confidence: 60 },
    },
    output: { signal: { ...signalExample, id: `${ownArmExample.arm}:BTC-2026-01-05` } },
  },
  input: z.object({
    arm,
    token: tokenOf(TOKENS, "must be BTC or ETH").describe("BTC or ETH"),
    signal: z.enum(["BUY", "SELL"]),
    tp1: z.number().positive().describe("First target, USD: the signal is won when it is reached"),
    tp2: z.number().positive().optional().describe("Second target, USD; tp1 when left out"),
    sl: z.number().positive().describe("Stop, USD"),
    confidence: wholeNumber(0, 100).describe("Percent: the probability that tp1 is reached before sl"),
    key,
  }),
  returns: z.object({ signal: publicSignal }),
  handler: async (ctx, { key, ...wish }, { caller }) => {
    const { keyHash } = keyFrom(caller, key);
    const { proposed } = await import("./proposals");
    const { tp2, ...rest } = wish;
    const signal = await proposed(ctx, { ...rest, ...(tp2 === undefined ? {} : { tp2 }) }, keyHash);
    return { signal: signalView(signal) };
  },
});

const end: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/records/end",
  summary: "Ends an arm of the caller's own for good.",
  description:
    "Its open signals go on to their outcomes and stay on its record. An ended arm still counts among the caller's ten.",
  needs: [],
  limit: "settings",
  errors: { ...errors, not_found: "The caller has no such arm.", conflict: "It has ended already." },
  headers,
  example: {
    input: { arm: ownArmExample.arm },
    output: { arm: { ...ownArmExample, endedAt: "2026-02-01T12:00:00.000Z" } },
  },
  input: z.object({ arm, key }),
  returns: z.object({ arm: ownArm }),
  handler: async (ctx, { arm, key }, { caller }) => ({
    arm: await ctx.runMutation(internal.signals.people.arms.end, { ...keyFrom(caller, key), arm }),
  }),
});

export const ownRecordEndpoints: MountedEndpoint[] = [list, make, mine, propose, end];
