/** Part of the stand-ins for local use: the faults that a stand-in can show, and which request gets which. */

import * as z from "zod";
import type { Call } from "./http";
import { EVIDENCE_SOURCES } from "./sources/evidence";
import { STYLES } from "./gateway/styles";

export const PROVIDERS = ["llm", "agent", "sentiment", "messenger", "swap", ...EVIDENCE_SOURCES] as const;
export type Provider = (typeof PROVIDERS)[number];

/** The `schema` of chat completions that ask for prose. */
export const CHAT = "chat";

const limits = {
  /** How many requests the fault applies to; all until cleared when absent. */
  times: z.int().positive().optional(),
  /** Gateway only: apply only to requests with this schema name, or to prose with "chat". */
  schema: z.string().min(1).optional(),
  /** Apply only to requests whose path has this in it. */
  path: z.string().min(1).optional(),
};

const faultShape = z.discriminatedUnion("mode", [
  /** The request is refused and has no effect. `body` replaces the provider's usual error body. */
  z.strictObject({
    mode: z.literal("status"),
    status: z.int().min(400).max(599),
    retryAfter: z.number().nonnegative().optional(),
    body: z.unknown().optional(),
    ...limits,
  }),
  /** No answer and no effect until the caller gives up; the connection is lost after `ms` (default ten minutes). */
  z.strictObject({ mode: z.literal("hang"), ms: z.number().nonnegative().optional(), ...limits }),
  /** The right answer after `ms`. */
  z.strictObject({ mode: z.literal("slow"), ms: z.number().nonnegative(), ...limits }),
  /** The model's content, or the response of the agent's job, is this text. */
  z.strictObject({ mode: z.literal("reply"), content: z.string(), ...limits }),
  /** The right value, written as some models write it. */
  z.strictObject({ mode: z.literal("style"), style: z.enum(STYLES), ...limits }),
  z.strictObject({
    mode: z.enum([
      /** The request takes effect; the answer has status 200 and is not JSON, a web page, or empty. */
      ...(["garbage", "html", "empty"] as const),
      /** The request takes effect; the answer's body breaks off in the middle, or the connection before it. */
      ...(["half", "drop"] as const),
      /** The gateway does not support schemas: it refuses requests with one, and accepts the others. */
      "formatless",
      /** The model's content is cut half-way; it refuses to answer; its content is null. */
      ...(["truncated", "refusal", "blank"] as const),
      /** The sentiment model answers without a search. */
      "uncited",
      /** The agent accepts the prompt, and its job fails, or never ends. */
      ...(["fails", "never"] as const),
    ]),
    ...limits,
  }),
]);

export type Fault = z.infer<typeof faultShape>;

/** A provider's stand-in: what it answers, and the body of a refusal in the provider's own words. */
export type Standin = {
  handle: (call: Call, fault?: Fault) => Response | Promise<Response>;
  error: (status: number, reason: string, about: { path: string; retryAfter: number | undefined }) => unknown;
};

export const MODELS: readonly Provider[] = ["llm", "sentiment"];
/** Modes that only some providers can show. */
const ONLY: Partial<Record<Fault["mode"], readonly Provider[]>> = {
  truncated: MODELS,
  reply: [...MODELS, "agent"],
  formatless: ["llm"],
  style: MODELS,
  refusal: ["llm"],
  blank: ["llm"],
  uncited: ["sentiment"],
  fails: ["agent"],
  never: ["agent"],
};

type About = {
  path: string;
  schema?: string | undefined;
  /** Whether a schema was sent with the prompt. */
  isFormatted?: boolean;
};

export type Faults = {
  /** @throws TypeError for a fault this provider cannot show. */
  add(provider: Provider, fault: Fault): void;
  clear(provider?: Provider): void;
  /** The fault for the next request, counted as used. */
  take(provider: Provider, about: About): Fault | undefined;
};

export function createFaults(): Faults {
  const queues = new Map<Provider, { fault: Fault; left: number }[]>();
  return {
    add: (provider, fault) => {
      if (ONLY[fault.mode]?.includes(provider) === false) {
        throw new TypeError(`the ${provider} stand-in has no mode "${fault.mode}"`);
      }
      if (fault.schema !== undefined && provider !== "llm") {
        throw new TypeError(`the ${provider} stand-in's requests have no schema`);
      }
      const queue = queues.get(provider) ?? [];
      queue.push({ fault, left: fault.times ?? Infinity });
      queues.set(provider, queue);
    },
    clear: (provider) => {
      if (provider === undefined) queues.clear();
      else queues.delete(provider);
    },
    take: (provider, { path, schema, isFormatted = false }) => {
      const found = queues
        .get(provider)
        ?.find(
          ({ fault, left }) =>
            left > 0 &&
            (fault.mode !== "formatless" || isFormatted) &&
            (fault.schema === undefined || fault.schema === schema) &&
            path.includes(fault.path ?? ""),
        );
      if (found === undefined) return undefined;
      found.left--;
      return found.fault;
    },
  };
}

const provider = z.enum(PROVIDERS);
const clearShape = z.strictObject({ provider: provider.optional(), clear: z.literal(true) });

/**
 * Executes one control message: `{ provider, ...fault }`, `{ provider, clear: true }` or `{ clear: true }`.
 * @throws z.ZodError or TypeError for any other.
 */
export function control(faults: Faults, message: unknown): void {
  const clearing = clearShape.safeParse(message);
  if (clearing.success) {
    faults.clear(clearing.data.provider);
    return;
  }
  const { provider: target, ...fault } = z.looseObject({ provider }).parse(message);
  faults.add(target, faultShape.parse(fault));
}
