import * as z from "zod";
import { resolveSymbol } from "../lib/money/coins";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { toIso } from "../lib/time";
import { EXAMPLE_TIME } from "../platform/http/input";
import { COIN, formatCondition, FUNDED, LEAST_FLOW_USD, MOVED, WINDOWS } from "./conditions";
import { isTimeZone } from "./schedule";
import type { Alert, AlertCondition, Condition, StandingOrder } from "./tables";
import { describeStandingOrder } from "./terms";

/** The shapes of alerts and standing orders in requests and answers. */

const coin = z.string().overwrite(resolveSymbol).regex(COIN, "must be a coin's symbol, such as SOL");
const clock = {
  time: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/),
  timeZone: z.string().max(64).refine(isTimeZone),
  days: z
    .array(z.int().min(0).max(6))
    .min(1)
    .max(7)
    .exactOptional()
    .describe("Days of the week, 0 is Sunday"),
};

/** The fields of each kind with their bounds, which the compiler compares with `vCondition`. */
const CONDITION_SHAPES = {
  price: z.strictObject({
    kind: z.literal("price"),
    token: coin,
    direction: z.enum(["above", "below"]),
    levelUsd: z.number().positive().max(1e9),
  }),
  change: z
    .strictObject({
      kind: z.literal("change"),
      token: coin,
      direction: z.enum(["up", "down"]),
      percent: z.number().min(0.1).max(1_000),
      windowHours: z
        .int()
        .refine((hours) => WINDOWS.some((one) => one === hours))
        .describe(`One of ${WINDOWS.join(", ")}`),
    })
    // A price cannot fall by more than 100 %.
    .refine(({ direction, percent }) => direction === "up" || percent < 100),
  funding: z.strictObject({
    kind: z.literal("funding"),
    token: z.enum(FUNDED),
    direction: z.enum(["above", "below"]),
    // Hyperliquid caps its rate at 4 % an hour.
    percentPerHour: z.number().min(-4).max(4),
  }),
  flow: z.strictObject({
    kind: z.literal("flow"),
    token: z.enum(MOVED),
    direction: z.enum(["in", "out"]),
    overUsd: z.number().min(LEAST_FLOW_USD).max(1e12),
  }),
  digest: z.strictObject({ kind: z.literal("digest"), ...clock }),
  research: z.strictObject({
    kind: z.literal("research"),
    token: coin,
    always: z.boolean().exactOptional().describe("Whether it is told without a change"),
    ...clock,
  }),
} satisfies { [Name in AlertCondition["kind"]]: z.ZodType<Extract<Condition, { kind: Name }>> };

const { price, change, funding, flow, digest, research } = CONDITION_SHAPES;
export const conditionShape = z.discriminatedUnion("kind", [price, change, funding, flow, digest, research]);

/** Epoch ms, shown in ISO 8601. */
const moment = z.number().transform(toIso).pipe(z.iso.datetime());

export const alertShape = z.object({
  alertId: z.string(),
  state: z.enum(["proposed", "active", "off"]),
  words: z.string().describe("Its condition in words"),
  condition: conditionShape,
  once: z.boolean().describe("Whether it ends when it has fired"),
  createdAt: moment,
  confirmedAt: moment.nullable(),
  endedAt: moment.nullable(),
  expiresAt: moment.nullable().describe("When it ends by itself, unless it is confirmed again"),
  fired: z.int().describe("How often it has fired"),
});

export function toPublicAlert({ _id: alertId, _creationTime: createdAt, ...row }: Alert) {
  const none = { once: false, confirmedAt: null, endedAt: null, expiresAt: row.until ?? null };
  const { condition } = row;
  if (condition.kind === "clock" || condition.kind === "call")
    throw new AppError("internal", "A standing order is no alert");
  return { ...none, ...row, alertId, createdAt, condition, words: formatCondition(condition) };
}

export const observationShape = z
  .object({ at: moment, value: z.number().describe("In the unit of the condition"), source: z.string() })
  .nullable()
  .describe("The last observation; null if there is none within the hour, and for movements and digests");

export const EXAMPLE_ALERT = {
  alertId: "kd7f2m9q4x1c8v6b3n5h0j2w9e7r4t6y",
  state: "proposed" as const,
  words: "BTC above $100,000",
  condition: { kind: "price" as const, token: "BTC", direction: "above" as const, levelUsd: 100_000 },
  once: false,
  createdAt: EXAMPLE_TIME,
  confirmedAt: null,
  endedAt: null,
  expiresAt: null,
  fired: 0,
};

const OUTCOMES = ["done", "refused", "missed"] as const;

export const standingOrderShape = z.object({
  standingId: z.string(),
  status: z
    .enum(["active", "awaiting_approval", "ended"])
    .describe("awaiting_approval: its owner was asked in their chat"),
  words: z.string().describe("What it does and when, with the total where times was given"),
  fromToken: z.string(),
  toToken: z.string(),
  amount: z.string().optional(),
  size: z.string().optional(),
  slippageBps: z.int(),
  when: z.looseObject({ kind: z.enum(["price", "clock", "call"]) }).describe("Its trigger, as it is stored"),
  next: moment.nullable().describe("Its next time by the clock"),
  endsAt: moment.nullable(),
  timesLeft: z.int().optional(),
  paper: z.literal(true).optional().describe("It orders on paper"),
  fired: z.int().describe("How many firings have an outcome, missed ones included"),
  last: z
    .object({
      at: moment,
      outcome: z.enum(OUTCOMES),
      orderId: z.string().optional(),
      txHash: z.string().optional(),
      reason: z.string().optional(),
    })
    .nullable()
    .describe("The last firing"),
  endReason: z.string().optional().describe("Why it has ended, where its owner did not end it"),
});

type LastFiring = { at: number; outcome?: string; orderId?: string; txHash?: string; reason?: string };

const STATUS = { active: "active", proposed: "awaiting_approval", off: "ended" } as const;

export function toPublicStandingOrder(
  row: StandingOrder,
  last: LastFiring | null,
): z.input<typeof standingOrderShape> {
  return { standingId: row._id, status: STATUS[row.state], ...toPublicTerms(row, last) };
}

/** The public terms of a standing order, stored or rehearsed. */
export function toPublicTerms(
  {
    condition,
    order,
    ...row
  }: Pick<StandingOrder, "condition" | "order" | "state" | "fired" | "readyAt"> &
    Partial<Pick<StandingOrder, "expiresAt" | "until" | "endReason">>,
  last: LastFiring | null,
) {
  const { fromToken, toToken, amount, size, slippageBps } = order.swap;
  const { kind } = condition;
  if (kind !== "price" && kind !== "clock" && kind !== "call")
    throw new AppError("internal", "A standing order has another trigger");
  const outcome = OUTCOMES.find((one) => one === last?.outcome);
  return {
    words: describeStandingOrder({ condition, order }),
    ...{ fromToken, toToken, slippageBps, fired: row.fired },
    ...(size === undefined ? { amount } : { size }),
    when: { ...condition, kind },
    next: kind === "clock" && row.state === "active" ? row.readyAt : null,
    endsAt: row.expiresAt ?? row.until ?? null,
    ...defined({ paper: order.paper, timesLeft: order.timesLeft, endReason: row.endReason }),
    last: last === null || outcome === undefined ? null : { ...last, outcome },
  };
}

export const EXAMPLE_STANDING_ORDER = {
  standingId: "kd7f2m9q4x1c8v6b3n5h0j2w9e7r4t6y",
  status: "active" as const,
  words: "25 USDC → ETH, every Monday at 09:00 Europe/Berlin, 12 times: 300 USDC in all",
  fromToken: "USDC",
  toToken: "ETH",
  size: "25",
  slippageBps: 100,
  when: { kind: "clock" as const, time: "09:00", timeZone: "Europe/Berlin", days: [1] },
  next: EXAMPLE_TIME,
  endsAt: EXAMPLE_TIME,
  timesLeft: 12,
  fired: 0,
  last: null,
};
