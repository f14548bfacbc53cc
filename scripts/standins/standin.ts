/** The common interface of stand-ins: their answers, and their faults. */

import * as z from "zod";
import type { Call } from "./http";

const limits = {
  /** How many requests the fault applies to; all until cleared when absent. */
  times: z.int().positive().optional(),
  /** Gateway only: apply only to requests with this schema name, or to prose with "chat". */
  schema: z.string().min(1).optional(),
  /** Apply only to requests whose path has this in it. */
  path: z.string().min(1).optional(),
};

/** A fault as `POST /faults` takes it. */
export const faultShape = z.discriminatedUnion("mode", [
  /** The request is refused and has no effect. `body` replaces the provider's usual error body. */
  z.strictObject({
    mode: z.literal("status"),
    status: z.int().min(400).max(599),
    retryAfter: z.number().nonnegative().optional(),
    body: z.unknown().optional(),
    ...limits,
  }),
  /** The right answer after `ms`; without `ms`, no answer and no effect until the caller gives up. */
  z.strictObject({ mode: z.literal("slow"), ms: z.number().nonnegative().optional(), ...limits }),
  /** The request takes effect; the answer has status 200 and is `text`, or words of a proxy. */
  z.strictObject({ mode: z.literal("garbage"), text: z.string().optional(), ...limits }),
  /** The request takes effect; the connection is lost before the answer, or `half` way through it. */
  z.strictObject({ mode: z.literal("drop"), half: z.boolean().optional(), ...limits }),
  /** No fault: the text that the model writes, or the result of the agent's job; `null` for a model without an answer. */
  z.strictObject({ mode: z.literal("reply"), content: z.string().nullable(), ...limits }),
]);

export type Fault = z.infer<typeof faultShape>;

/** A provider's stand-in: what it answers, and the body of a refusal in the provider's own words. */
export type Standin = {
  handle: (call: Call, fault?: Fault) => Response | Promise<Response>;
  error: (status: number, reason: string, retryAfter?: number) => unknown;
};
