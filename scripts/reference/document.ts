import { isErrorCode, STATUS, type ErrorCode } from "../../convex/lib/errors";
import type { DocumentedFailure, MountedEndpoint } from "../../convex/platform/http/endpoint";
import { toJsonSchema, type JsonSchema } from "./jsonSchema";
import { about } from "./about";
import { answerHeaders, buildHeaders, RETRY_AFTER } from "./headers";
import type { Answer, Header, Media, Method, OpenApi, Operation, Parameter } from "./types";
import { VERSION } from "../../convex/lib/version";

/** The API document, made from the endpoints' own schemas. Pure; a few milliseconds of work. */

/** @param domains The endpoints by tag. @param server Their address, without a slash at its end. */
export function openApi(domains: Record<string, readonly MountedEndpoint[]>, server: string): OpenApi {
  const paths: OpenApi["paths"] = {};
  const schemas: Record<string, JsonSchema> = { Error: ERROR };
  const all = Object.values(domains).flat();
  for (const [tag, endpoints] of Object.entries(domains)) {
    for (const one of endpoints) {
      const isAlone = all.filter(({ path }) => path === one.path).length === 1;
      const name = isAlone
        ? getOperationName(one.path)
        : `${one.methods.map(capitalise).join("")}${getOperationName(one.path)}`;
      const input = toJsonSchema(one.input, "input");
      if (isJson(one)) schemas[`${name}Answer`] = withNotice(toJsonSchema(one.returns, "output"), input);
      if (one.methods.includes("POST") && one.inAddress !== true && takesFields(input))
        schemas[`${name}Input`] = input;
      for (const method of one.methods) {
        const lower = method === "GET" ? "get" : "post";
        paths[one.path] = {
          ...paths[one.path],
          [lower]: operation(one, { method: lower, tag, name, input }),
        };
      }
    }
  }
  return {
    openapi: "3.1.1",
    info: {
      ...about.info,
      version: VERSION,
      contact: { name: "The operator of this deployment", url: `${server}/docs` },
    },
    // None is required: each operation that reads a token says so.
    security: [{}],
    servers: [{ url: server }],
    tags: Object.keys(domains).map((name) => ({ name, description: about.tags[name] ?? name })),
    paths,
    components: { schemas, securitySchemes: { userToken: USER_TOKEN } },
  };
}

/** Fields that may be added to any answer to a `userId`. */
function withNotice(answer: JsonSchema, input: JsonSchema): JsonSchema {
  if (input.properties?.userId === undefined || answer.properties === undefined) return answer;
  return { ...answer, properties: { ...answer.properties, ...NOTICE_FIELDS } };
}

const NOTICE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  owned: {
    const: true,
    description: "This userId has an owner, and the caller has only named it. Absent otherwise.",
  },
  ownedNote: { type: "string", description: "Beside owned: only its owner can move what is paid in." },
  claimPending: {
    type: "string",
    format: "date-time",
    description:
      "Somebody has claimed this userId, which has a wallet: from then on the wallet is theirs, unless somebody ends the claim before. Absent where no claim waits.",
  },
  claimEndUrl: {
    type: "string",
    description: "Beside claimPending: a page that asks for the id and ends that claim.",
  },
};

const ERROR: JsonSchema = {
  type: "object",
  description: "Every failure's answer.",
  properties: { error: { type: "string", description: "What was wrong; for input, which field" } },
  required: ["error"],
  additionalProperties: false,
};

const USER_TOKEN = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description:
    "The web application's token of a signed-in user. Orders and delivery settings of a userId with an owner need it, or a key.",
};

/** `name` is the base of its schemas' names: its path, with its methods before it if the path has two endpoints. */
type Placement = { method: Method; tag: string; name: string; input: JsonSchema };

function operation(one: MountedEndpoint, { method, tag, name, input }: Placement): Operation {
  const isInAddress = method === "get" || one.inAddress === true;
  const parameters = [...(isInAddress ? listParameters(one, input) : []), ...buildHeaders(one)];
  const example = one.example === undefined ? {} : { example: one.example.input };
  const needsBody = input.anyOf !== undefined || (input.required ?? []).length > 0;
  return {
    operationId: `${method}${getOperationName(one.path)}`,
    tags: [tag],
    summary: one.summary,
    ...(one.description === undefined ? {} : { description: one.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(!isInAddress && takesFields(input)
      ? {
          requestBody: {
            required: needsBody,
            content: { [JSON_TYPE]: { schema: ref(`${name}Input`), ...example } },
          },
        }
      : {}),
    responses: {
      "200": success(one, name),
      ...buildAcceptedAnswer(one, name),
      ...buildEmptyAnswers(one),
      ...listFailures(one),
    },
    ...(one.headers?.Authorization === undefined ? {} : { security: [{}, { userToken: [] }] }),
  };
}

function takesFields(input: JsonSchema): boolean {
  return Object.keys(input.properties ?? {}).length > 0 || input.anyOf !== undefined;
}

const JSON_TYPE = "application/json";

function isJson(one: MountedEndpoint): boolean {
  return one.media === undefined || one.media === "application/json";
}

/** `/mcp/whale-alerts` is `McpWhaleAlerts`. */
function getOperationName(path: string): string {
  return path
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

/** `GET` is `Get`. */
function capitalise(method: string): string {
  return method.charAt(0) + method.slice(1).toLowerCase();
}

function ref(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` };
}

/** The fields of an input as parameters of path and query, which cannot be `null`. */
function listParameters(one: MountedEndpoint, input: JsonSchema): Parameter[] {
  const examples = one.example?.input;
  const inPath = /\{(\w+)\}$/.exec(one.path)?.[1];
  return Object.entries(input.properties ?? {}).map(([name, schema]) => {
    if (typeof schema === "boolean") throw new Error(`${one.path} does not say what ${name} is`);
    const { description, ...rest } = schema;
    const example = buildParameter(examples, name);
    return {
      name,
      in: name === inPath ? "path" : "query",
      ...(input.required?.includes(name) === true ? { required: true } : {}),
      ...(description === undefined ? {} : { description }),
      schema: withoutNull(rest),
      ...(example === undefined ? {} : { example }),
    };
  });
}

function buildParameter(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf, enum: values, ...rest } = schema;
  return {
    ...rest,
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
    ...(anyOf === undefined
      ? {}
      : { anyOf: anyOf.map((one) => (typeof one === "object" ? withoutNull(one) : one)) }),
  };
}

function success(one: MountedEndpoint, name: string): Answer {
  const text: JsonSchema = { type: "string" };
  const json: Record<string, Media> = {
    [JSON_TYPE]: {
      schema: ref(`${name}Answer`),
      ...(one.example === undefined ? {} : { example: one.example.output }),
    },
  };
  if (one.textMedia !== undefined) json[one.textMedia] = { schema: text };
  return {
    description: isJson(one) ? "Done." : "The whole text.",
    headers: answerHeaders(one.answerHeaders),
    content: isJson(one) ? json : { [one.media ?? JSON_TYPE]: { schema: text } },
  };
}

/** The 202 answer, in the form of the final one. */
function buildAcceptedAnswer(one: MountedEndpoint, name: string): Record<string, Answer> {
  if (one.accepted === undefined) return {};
  const { headers } = success(one, name);
  const content = { [JSON_TYPE]: { schema: ref(`${name}Answer`) } };
  return { "202": { description: one.accepted, headers, content } };
}

/** The 303 and 304 answers, which have no body. */
function buildEmptyAnswers(one: MountedEndpoint): Record<string, Answer> {
  const answers: Record<string, Answer> = {};
  for (const [status, description] of [
    ["303", one.seeOther],
    ["304", one.unchanged],
  ] as const)
    if (description !== undefined)
      answers[status] = { description, headers: answerHeaders(one.answerHeaders), content: {} };
  return answers;
}

/** The common failures, those implied by its limit and keys, and its own; by status. */
function listFailures(one: MountedEndpoint): Record<string, Answer> {
  const reasons: [ErrorCode, string | DocumentedFailure][] = [
    [
      "invalid_request",
      "A field is missing or malformed (the message names it), or the body is no JSON object.",
    ],
    ["too_large", "The request body is larger than 1 MiB."],
    ["internal", "Internal error."],
    ["overloaded", "The service is busy: try again shortly."],
  ];
  if (one.limit !== undefined) reasons.push(["rate_limited", "Too many requests."]);
  const { needs = [] } = one;
  if (needs.length > 0) reasons.push(["not_configured", `${needs.join(" or ")} is not configured.`]);
  if (toJsonSchema(one.input, "input").properties?.userId !== undefined)
    reasons.push(["not_found", "The owner of this `userId` has put another in its place."]);
  for (const code of Object.keys(STATUS).filter(isErrorCode)) {
    const ownText = one.errors?.[code];
    if (ownText !== undefined) reasons.push([code, ownText]);
  }
  const byStatus: Record<string, Answer> = {};
  for (const [code, failure] of reasons) {
    const status = String(STATUS[code]);
    byStatus[status] = mergeReasons(byStatus[status], failureAnswer(code, failure));
  }
  return byStatus;
}

function failureAnswer(code: ErrorCode, failure: string | DocumentedFailure): Answer {
  const {
    when,
    body,
    headers = {},
    example,
  }: DocumentedFailure = typeof failure === "string" ? { when: failure } : failure;
  const retry: Record<string, Header> =
    code === "rate_limited"
      ? { "Retry-After": RETRY_AFTER }
      : code === "overloaded" || code === "upstream"
        ? { "Retry-After": { ...RETRY_AFTER, required: false } }
        : {};
  return {
    description: when,
    headers: { ...answerHeaders(headers), ...retry },
    content: {
      [JSON_TYPE]: {
        schema: body === undefined ? ref("Error") : withError(toJsonSchema(body, "output")),
        ...(example === undefined ? {} : { example }),
      },
    },
  };
}

function withError(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    properties: { ...ERROR.properties, ...schema.properties },
    required: ["error", ...(schema.required ?? [])],
  };
}

/** Two reasons with one status share a description; the later one's body is more specific. */
function mergeReasons(earlier: Answer | undefined, later: Answer): Answer {
  if (earlier === undefined) return later;
  return {
    description: `${earlier.description} ${later.description}`,
    headers: { ...earlier.headers, ...later.headers },
    content: later.content,
  };
}
