import * as z from "zod";
import type { ActionCtx } from "../../_generated/server";
import { getRequired, getSetting, type Variable } from "../../lib/env";
import { getCallerAddress, parseInput, readRawInput, readRequestBody, refuseInAddress } from "./request";
import { sha256Hex } from "../../lib/crypto";
import { AppError, type ErrorCode } from "../../lib/errors";
import { charge, type LimitName } from "../limits/charges";
import type { Access, Caller } from "../limits/callers";
import { withUsage } from "../outside/calls";
import {
  matchPath,
  getPath,
  respond,
  type Answering,
  type ResolveAccount,
  type KnownCaller,
  type Method,
} from "./router";

/** The parts of a request that a handler gets beside its input. */
export type Call = {
  headers: Headers;
  /** The `Idempotency-Key` header, or the body's `idempotencyKey`, when one was sent (1 to 200 characters). */
  idempotencyKey: string | undefined;
  /** The `userId` as the request names it; `caller.userId` and the input's `userId` are the account that it stands for. */
  requestedId: string | undefined;
  /** For limits that the handler charges itself, because a cached read is free. */
  caller: Caller;
};

/** An answer with headers or a status of its own; handlers that need neither return the bare value. */
export class Reply<Value> {
  constructor(
    readonly value: Value,
    readonly headers: Record<string, string>,
    readonly status: 200 | 202 | 303 = 200,
  ) {}
}

/** A failure whose body has more fields than `error`. */
export type DocumentedFailure = {
  when: string;
  /** Fields of its body beside `error`. */
  body?: z.ZodObject;
  /** Headers that it always or sometimes has, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  example?: unknown;
};

type Media =
  | "application/json"
  | "text/html"
  | "text/plain"
  | "text/csv"
  | "text/javascript"
  | "application/xml"
  | "application/atom+xml"
  | "image/png"
  | "image/svg+xml";

/** An endpoint's texts in the API document. Prose is plain text, with `code` in backticks. */
type Documentation<Input extends z.ZodType, Output extends z.ZodType> = {
  /** Details beyond the summary: costs, work that continues in the background, a field's effect on other users. */
  description?: string;
  /** The condition of a 202 answer, which has the same shape: work that has to wait. */
  accepted?: string;
  /** The condition of a 303 answer, which leads to another page. */
  seeOther?: string;
  /** The condition of a 304 answer, which has no body. */
  unchanged?: string;
  /** One request and its answer, as sent. */
  example?: { input: z.input<Input>; output: z.output<Output> };
  /**
   * The endpoint's own failures, each with its condition. Failures that every endpoint has, or that follow from its
   * limit, access and keys, are not listed.
   */
  errors?: { readonly [Code in ErrorCode]?: string | DocumentedFailure };
  /** Request headers it reads, with their purposes. */
  headers?: Readonly<Record<string, string>>;
  /** Headers of its success answer, with their descriptions. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** A POST whose fields are in its address: whatever its body is, it is not read. */
  inAddress?: true;
  /** For answers other than JSON: the value is the whole text, that of a PNG in base64. */
  media?: Media;
  /** Of a JSON answer: what it is instead where the handler returns text. */
  textMedia?: Media;
};

/** The caller before the body is parsed, and the lookup for the `userId` in it. */
export type Asker = { ctx: ActionCtx; caller: Pick<Caller, "address">; resolveAccount: ResolveAccount };

/** One endpoint as data. The router, the API document and the proxy's tests are made from these. */
export type Endpoint<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> = Documentation<Input, Output> & {
  methods: readonly Method[];
  /** May end with a field of the input, for GETs: `/signals/{id}`. */
  path: `/${string}`;
  summary: string;
  /** Server variables without which it answers 500 before it does anything. */
  needs?: readonly Variable[];
  /** Refuses a request before its body is parsed, by throwing an `AppError`; signatures cover the raw body. */
  guard?: (headers: Headers, body: string, by: Asker) => void | Promise<void>;
  /** Charged once per request, before the handler. Omit it if only some requests cost something, or if a slot limits them. */
  limit?: LimitName;
  /**
   * Refuses callers without this access, after the address's limit was charged and before the user's is. The handler
   * finds the credential in `caller`.
   */
  access?: Access;
  /** The query of a GET and the JSON body of a POST alike. */
  input: Input;
  returns: Output;
  handler: (
    ctx: ActionCtx,
    input: z.output<Input>,
    call: Call,
  ) => Promise<z.input<Output> | Reply<z.input<Output> | string>>;
};

/** An endpoint whose schema types no longer matter: `handle` closes over them. */
export type MountedEndpoint = Pick<
  Endpoint,
  "methods" | "path" | "summary" | "needs" | "limit" | "input" | "returns" | keyof Documentation<never, never>
> &
  Answering;

/**
 * Declares an endpoint. The wrapper does, in this order: request id, size, guard, JSON and schema, the address's limit,
 * access, the user's limit, required server keys, handler, answer's schema, headers. A handler returns a value (or a
 * `Reply`) or throws an `AppError`; it never builds a Response.
 * @example
 * const list = defineEndpoint({
 *   methods: ["GET"],
 *   path: "/alerts",
 *   summary: "A user's alerts.",
 *   input: z.object({ userId }),
 *   returns: z.object({ alerts: z.array(alertShape) }),
 *   handler: async (ctx, input) => ({ alerts: await readAlerts(ctx, input) }),
 *   example: { input: { userId: EXAMPLE_USER }, output: { alerts: [] } },
 * });
 */
export function defineEndpoint<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Endpoint<Input, Output>,
): MountedEndpoint {
  const { guard, access, handler, ...described } = definition;
  const {
    path,
    needs = [],
    limit,
    input,
    returns,
    inAddress,
    media = "application/json",
    textMedia,
  } = described;
  return {
    ...described,
    ...(access === undefined ? {} : documentAccess(access, described)),
    handle: withUsage(
      async (ctx, given: Request, requestId: string, resolveAccount: ResolveAccount, known?: KnownCaller) => {
        const request = inAddress === true ? new Request(given.url) : given;
        const { text: body, flaw } = await readRequestBody(request);
        const { headers } = request;
        const address = known === undefined ? await readCallerAddress(ctx, request) : null;
        await guard?.(headers, body, { ctx, caller: { address }, resolveAccount });
        if (flaw !== null) throw new AppError("invalid_request", flaw);
        const raw = {
          ...readRawInput(request, body, media === "text/html"),
          ...matchPath(path, getPath(request)),
        };
        refuseInAddress(input, request);
        const parsed = parseInput(input, raw);
        const requestedId = getTextField(parsed, "userId");
        const who = requestedId === undefined ? {} : { userId: requestedId };
        const caller: Caller = {
          ...known,
          ...who,
          ...(await readIdentity(ctx)),
          ...readKeyHash(headers),
          address,
          requestId,
        };
        const idempotencyKey = readIdempotencyKey(request, parsed);
        // If access is decided in between, charge the address before and the user after it; otherwise both at once.
        const decides = access !== undefined && access !== "shown";
        if (limit !== undefined && decides) await charge(ctx, limit, caller, "address");
        const right = access === undefined ? {} : { access, isTokenWrong: isTokenWrong(headers, caller) };
        const account =
          requestedId === undefined
            ? undefined
            : await resolveAccount(ctx, requestedId, { ...readKeyHash(headers), ...right });
        if (account !== undefined) {
          caller.userId = account.userId;
          if (typeof parsed === "object" && parsed !== null) Object.assign(parsed, { userId: caller.userId });
        }
        if (access !== undefined) caller.credential = account?.credential ?? "unclaimed";
        if (limit !== undefined) await charge(ctx, limit, caller, decides ? "user" : undefined);
        for (const name of needs) getRequired(name);
        const call = { headers, idempotencyKey, requestedId, caller };
        const answer: unknown = await handler(ctx, parsed, call);
        const reply = answer instanceof Reply ? answer : new Reply(answer, {});
        const type = textMedia !== undefined && typeof reply.value === "string" ? textMedia : media;
        const text =
          type === "application/json"
            ? JSON.stringify(Object.assign({}, returns.parse(reply.value), account?.notes))
            : z.string().parse(reply.value);
        const sent = media === "image/png" ? Uint8Array.from(atob(text), (one) => one.charCodeAt(0)) : text;
        return respond(reply.status, type, sent, requestId, reply.headers);
      },
    ),
  };
}

/** An endpoint's documentation with the header and the errors that its `access` adds. */
function documentAccess(
  access: Access,
  { headers, errors }: Pick<Documentation<never, never>, "headers" | "errors">,
) {
  const unauthorized = "The token or the key is not valid.";
  const forbidden =
    "The token belongs to another signed-in user; or only the `userId` of an owned account was shown, which neither moves money nor sets delivery. The message says what to do.";
  return {
    headers: {
      ...headers,
      Authorization:
        "`Bearer <token>`: the web application's token (JWT) of the owner of this `userId`, or a key that the owner has made. Without it, a `userId` that has an owner still reads and researches; its orders are asked of the owner, and delivery settings are refused. Not looked at for a `userId` without an owner.",
    },
    errors: { unauthorized, ...(access === "shown" ? {} : { forbidden }), ...errors },
  };
}

/** The hash of an API key (`accounts/keys`). */
export function readKeyHash(headers: Headers): Pick<Caller, "keyHash"> {
  const [, key] = /^bearer\s+(mk_\S+)\s*$/i.exec(headers.get("authorization") ?? "") ?? [];
  return key === undefined ? {} : { keyHash: sha256Hex(key) };
}

/** Whether the token is invalid: then the request never falls back to the `userId` alone. */
function isTokenWrong(headers: Headers, { signedIn }: Caller): boolean {
  return signedIn !== true && /^bearer\s+\S/i.test(headers.get("authorization") ?? "");
}

/** The idempotency key of a request, from its header or its body; two different ones are refused. */
function readIdempotencyKey(request: Request, input: unknown): string | undefined {
  const sent = request.headers.get("idempotency-key")?.trim() ?? "";
  const inBody = getTextField(input, "idempotencyKey");
  if (sent === "") return inBody;
  if (sent.length > 200)
    throw new AppError("invalid_request", "Idempotency-Key must be at most 200 characters");
  if (inBody !== undefined && inBody !== sent)
    throw new AppError(
      "invalid_request",
      "idempotencyKey differs from the Idempotency-Key header: send one of them, or the same in both",
    );
  return sent;
}

function getTextField(input: unknown, name: string): string | undefined {
  const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined;
  return typeof value === "string" ? value : undefined;
}

/** The identity of a valid token, whatever it gives access to. */
async function readIdentity(ctx: ActionCtx): Promise<Pick<Caller, "signedIn" | "identity">> {
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  return identity === null ? {} : { signedIn: true, identity: sha256Hex(identity.tokenIdentifier) };
}

async function readCallerAddress(ctx: ActionCtx, request: Request): Promise<string> {
  const { ip } = await ctx.meta.getRequestMetadata();
  return getCallerAddress({
    platform: ip,
    forwardedFor: request.headers.get("x-forwarded-for"),
    hops: Number(getSetting("TRUSTED_PROXY_HOPS")),
  });
}
