import fc from "fast-check";
import { documented } from "../../support/document";
import type { Operation } from "../../../scripts/reference/types";
import { accepted, hostile, poisoned, USERS } from "../swaps/values";

/** Requests made from the API document, and what becomes of them in hostile hands. */

export type Attempt = {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Absent for methods without a body. */
  body?: string;
};

type Draft = {
  method: "GET" | "POST";
  path: string;
  fields: Record<string, unknown>;
  headers: Record<string, string>;
};

const headerText = fc
  .oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom(
      "",
      "null",
      "key-1",
      "key-2",
      "Bearer e30.e30.",
      "abc",
      "zz".repeat(32),
      "t=1,v0=zz",
      "ab".repeat(32),
      "x".repeat(5_000),
      "é",
      `0x${"9b".repeat(32)}`,
    ),
    fc.jsonValue({ maxDepth: 2 }).map((value) => Buffer.from(JSON.stringify(value)).toString("base64")),
    fc
      .record({ x402Version: fc.constantFrom(1, 2, 3), scheme: fc.constant("exact"), payload: hostile })
      .map((value) => Buffer.from(JSON.stringify(value)).toString("base64")),
  )
  // Other characters cannot be sent in a header at all.
  .map((text) => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, "~"));

const otherHeaders = fc.dictionary(
  fc.constantFrom(
    "Authorization",
    "Content-Type",
    "Content-Length",
    "Idempotency-Key",
    "X-Payment",
    "Payment-Signature",
    "X-Webhook-Signature",
    "X-Alchemy-Signature",
    "X-Twitter-Webhooks-Signature",
    "X-Telegram-Bot-Api-Secret-Token",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Request-Id",
    "Origin",
    "Accept",
  ),
  headerText,
  { maxKeys: 3 },
);

/** What the document calls a right request. */
const drafts: fc.Arbitrary<Draft> = fc.oneof(...operations().map(draftsOf));

function operations(): { path: string; method: "GET" | "POST"; operation: Operation }[] {
  const { document } = documented();
  return Object.entries(document.paths).flatMap(([path, { get, post }]) => [
    ...(get === undefined ? [] : [{ path, method: "GET" as const, operation: get }]),
    ...(post === undefined ? [] : [{ path, method: "POST" as const, operation: post }]),
  ]);
}

function draftsOf({ path, method, operation }: ReturnType<typeof operations>[number]): fc.Arbitrary<Draft> {
  const { schemas } = documented().document.components;
  const parameters = operation.parameters ?? [];
  const valuesOf = (place: "query" | "header" | "path") =>
    fc.record(
      Object.fromEntries(
        parameters
          .filter((one) => one.in === place)
          .map((one) => [
            one.name,
            place === "header" ? headerText : accepted(one.schema, schemas, one.name),
          ]),
      ),
      {
        requiredKeys:
          place === "header"
            ? []
            : parameters.filter((one) => one.in === place && one.required).map(({ name }) => name),
      },
    );
  const body = operation.requestBody?.content["application/json"]?.schema ?? {};
  const fields = method === "GET" ? valuesOf("query") : accepted(body, schemas);
  const drafts = fc.record({ fields, headers: valuesOf("header"), inPath: valuesOf("path") });
  return drafts.map(({ fields, headers, inPath }) => ({
    method,
    path: path.replace(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(String(Object.entries(inPath).find(([one]) => one === name)?.[1])),
    ),
    fields: { ...Object(fields) },
    headers: textHeaders(headers),
  }));
}

/** One thing, or a few, is wrong with it. */
const twists: fc.Arbitrary<(draft: Draft) => Draft>[] = [
  fc.constant((draft: Draft) => draft),
  fc.tuple(fc.nat(20), hostile).map(([at, value]) => (draft: Draft) => {
    const names = Object.keys(draft.fields);
    const name = names[at % Math.max(1, names.length)] ?? "userId";
    return { ...draft, fields: { ...draft.fields, [name]: value } };
  }),
  fc.nat(20).map((at) => (draft: Draft) => {
    const names = Object.keys(draft.fields);
    const gone = names[at % Math.max(1, names.length)];
    return {
      ...draft,
      fields: Object.fromEntries(Object.entries(draft.fields).filter(([name]) => name !== gone)),
    };
  }),
  poisoned.map((more) => (draft: Draft) => ({ ...draft, fields: mixed(more, draft.fields) })),
  fc.dictionary(fc.string({ maxLength: 20 }), hostile, { maxKeys: 4 }).map((more) => (draft: Draft) => ({
    ...draft,
    fields: mixed(more, draft.fields),
  })),
  otherHeaders.map((more) => (draft: Draft) => ({ ...draft, headers: { ...draft.headers, ...more } })),
  fc.constant((draft: Draft) => ({
    ...draft,
    method: draft.method === "GET" ? ("POST" as const) : ("GET" as const),
  })),
];

/** `__proto__` stays a key of its own. */
function mixed(one: object, other: object): Record<string, unknown> {
  return Object.fromEntries([...Object.entries(one), ...Object.entries(other)]);
}

const bodies: fc.Arbitrary<(text: string) => string> = fc.oneof(
  { weight: 12, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: fc.nat(200).map((length) => (text: string) => text.slice(0, length)) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 60 }).map((text) => () => text) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      (text: string) => `\ufeff${text}`,
      (text: string) => `[${text}]`,
      (text: string) => `${text}${text}`,
      (text: string) => JSON.stringify(text),
      () => "null",
      () => "[".repeat(50_000),
      () => '{"userId":"fuzz-user-1","userId":{"$ne":1}}',
      () => `userId=${USERS[0]}&question=BTC`,
      () => '{"question":"\\ud800"}',
      (text: string) => text.replace("{", `{"padding":"${"x".repeat(200_000)}",`),
    ),
  },
);

const queries: fc.Arbitrary<(query: string) => string> = fc.oneof(
  { weight: 10, arbitrary: fc.constant((query: string) => query) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      (query: string) => `${query}&${query}`,
      (query: string) => `${query}&userId=a&userId=b`,
      (query: string) => `${query}&__proto__[x]=1&constructor=2`,
      (query: string) => `${query}%`,
      (query: string) => `${query}&token=%ff%fe`,
      (query: string) => `${query}&=`,
      (query: string) => `${query}&limit=${"9".repeat(500)}`,
      (query: string) => query.replaceAll("=", "[]="),
    ),
  },
);

const wellAddressed: fc.Arbitrary<Attempt> = fc
  .record({
    draft: drafts,
    twists: fc.array(fc.oneof(...twists), { minLength: 1, maxLength: 2 }),
    ofBody: bodies,
    ofQuery: queries,
  })
  .map(({ draft, twists, ofBody, ofQuery }) => {
    const { method, path, fields, headers } = twists.reduce((done, twist) => twist(done), draft);
    if (method === "POST") return { method, path, headers, body: ofBody(JSON.stringify(fields)) };
    return { method, path: `${path}?${ofQuery(queryOf(fields))}`, headers };
  });

/** The address or the method is wrong. */
const astray: fc.Arbitrary<Attempt> = fc
  .record({
    path: fc.oneof(
      fc.constantFrom(...Object.keys(documented().document.paths)),
      fc.constantFrom(
        "/",
        "/mcp",
        "/mcp/",
        "/mcp/market/",
        "//evil.test/mcp",
        "/.env",
        "/mcp/%2e%2e/health",
        "/MCP/MARKET",
      ),
      fc.webPath().map((path) => `/${path}`.replace(/^\/+/, "/")),
    ),
    method: fc.constantFrom("PUT", "PATCH", "DELETE", "OPTIONS", "GET", "POST"),
    headers: otherHeaders,
    text: fc.oneof(fc.constant("{}"), fc.string({ maxLength: 50 })),
  })
  .map(({ path, method, headers, text }) => {
    return method === "GET" || method === "OPTIONS"
      ? { method, path, headers }
      : { method, path, headers, body: text };
  });

export const attempts: fc.Arbitrary<Attempt> = fc.oneof(
  { weight: 14, arbitrary: wellAddressed },
  { weight: 1, arbitrary: astray },
);

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    query.append(name, typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  }
  return query.toString();
}

function textHeaders(headers: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
