import zlib from "node:zlib";
import { Validator } from "@seriousme/openapi-schema-validator";
import { gunzipSync } from "fflate";
import { describe, expect } from "vitest";
import * as z from "zod";
import packageFile from "../../package.json";
import { domains, endpoints, endpointsByDomain } from "../../convex/endpoints";
import http from "../../convex/http";
import { about } from "../../scripts/reference/about";
import { TEXTS } from "../../convex/pages/reference/bytes";
import { openApi } from "../../scripts/reference/document";
import type { Operation } from "../../scripts/reference/types";
import { createApp, test } from "../support/app";
import { assertDocumented, documented, validatorOf } from "../support/document";

const { document } = documented();
type Placed = { path: string; method: "get" | "post"; operation: Operation };

const operations: Placed[] = Object.entries(document.paths).flatMap(([path, { get, post }]) => [
  ...(get === undefined ? [] : [{ path, method: "get" as const, operation: get }]),
  ...(post === undefined ? [] : [{ path, method: "post" as const, operation: post }]),
]);

describe("the API document", () => {
  test("is what /openapi.json answers, with this deployment's address, and valid OpenAPI 3.1 of this version", async () => {
    const app = createApp({ env: { CONVEX_SITE_URL: "https://other.convex.site/" } });
    const { status, headers, body } = await app.get("/openapi.json");
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=60"]);
    expect(body).toEqual(JSON.parse(JSON.stringify(openApi(endpointsByDomain, "https://other.convex.site"))));
    const validator = new Validator();
    const result = await validator.validate(z.looseObject({}).parse(JSON.parse(JSON.stringify(document))));
    expect([result.errors ?? [], result.valid, validator.version]).toEqual([[], true, "3.1"]);
    expect(document.info).toMatchObject({
      version: packageFile.version,
      contact: { name: expect.any(String), url: `${document.servers[0]?.url}/docs` },
      license: { name: expect.any(String), identifier: packageFile.license },
    });
    expect((await app.get("/health")).body.version).toBe(packageFile.version);
    expect(Object.keys(about.tags).sort()).toEqual(Object.keys(domains).sort());
  });

  test.each(["/openapi.json", "/docs/signals"])(
    "%s is sent once, and compressed for who takes that",
    async (path) => {
      const app = createApp();
      const plain = await app.get(path);
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(plain.headers.get("vary")).toBe("Accept-Encoding");
      const asked = (headers: Record<string, string>) => app.t.fetch(path, { headers });
      const packed = await asked({ "Accept-Encoding": "br;q=1, gzip;q=0.8" });
      expect([packed.status, packed.headers.get("content-encoding")]).toEqual([200, "gzip"]);
      const bytes = new Uint8Array(await packed.arrayBuffer());
      expect(bytes.length).toBeLessThan(plain.text.length / 3);
      expect(new TextDecoder().decode(gunzipSync(bytes))).toBe(plain.text);
      // Node's own reader checks the sums.
      expect(zlib.gunzipSync(bytes).toString()).toBe(plain.text);
      // What was compressed with the code is sent as it is.
      const [piece] = TEXTS[path === "/openapi.json" ? "document" : path] ?? [];
      expect(Buffer.from(bytes).includes(Buffer.from(piece?.bytes ?? "", "base64"))).toBe(true);
      expect((await asked({ "Accept-Encoding": "gzip;q=0" })).headers.get("content-encoding")).toBeNull();
      const tag = plain.headers.get("etag") ?? "";
      const again = await asked({ "If-None-Match": `"older", ${tag}` });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
      expect((await asked({ "If-None-Match": `"older"` })).status).toBe(200);
      const moved = createApp({ env: { CONVEX_SITE_URL: "https://other.convex.site" } });
      expect((await moved.get(path)).headers.get("etag")).not.toBe(tag);
    },
  );

  test("has every route of the router and nothing else, each named once and described", () => {
    // The router knows no names of fields, and takes what nobody else does at "/*". Tools have a protocol of their own.
    const routes = http.getRoutes().filter(([path]) => path !== "/*" && path !== "/mcp");
    const told = operations.map(
      ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}$/, "*")}`,
    );
    expect(told.toSorted()).toEqual(routes.map(([path, method]) => `${method} ${path}`).toSorted());
    expect(told).toHaveLength(endpoints.flatMap(({ methods }) => methods).length);
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(told.length);
    for (const { path, operation } of operations)
      expect([path, (operation.description ?? operation.summary).length >= 20]).toEqual([path, true]);
    expect(document.tags.filter(({ name, description }) => name === description)).toEqual([]);
    expect(document.security).toEqual([{}]);
    expect(operations.flatMap(({ operation }) => operation.security ?? [])).toEqual(
      expect.arrayContaining([{}, { userToken: [] }]),
    );
  });

  test("gives GET and POST of one path the same fields, and tells two endpoints of one path apart", () => {
    const both = endpoints.filter(({ methods }) => methods.length === 2);
    expect(both.length).toBeGreaterThan(3);
    for (const { path } of both) {
      const { get, post } = document.paths[path] ?? {};
      if (get === undefined || post === undefined) throw new Error(`${path} answers both`);
      const body = document.components.schemas[`${post.operationId.replace(/^post/, "")}Input`];
      const query = (get.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
      expect([path, query]).toEqual([path, Object.keys(body?.properties ?? {})]);
    }
    const { get, post } = document.paths["/social/mention"] ?? {};
    const answers = [get, post].map((one) => one?.responses["200"]?.content["application/json"]?.schema);
    expect(answers).toEqual([
      { $ref: "#/components/schemas/GetSocialMentionAnswer" },
      { $ref: "#/components/schemas/PostSocialMentionAnswer" },
    ]);
  });

  test("shows examples that its own schemas accept", () => {
    let shown = 0;
    const expectValid = (at: string[], value: unknown) => {
      if (value === undefined) return;
      shown++;
      const validate = validatorOf(...at);
      validate(value);
      expect([at.join(" "), validate.errors ?? []]).toEqual([at.join(" "), []]);
    };
    const json = ["content", "application/json", "schema"];
    for (const { path, method, operation } of operations) {
      const at = ["paths", path, method];
      const body = operation.requestBody?.content["application/json"]?.example;
      expectValid([...at, "requestBody", ...json], body);
      for (const [index, { example }] of (operation.parameters ?? []).entries())
        expectValid([...at, "parameters", String(index), "schema"], example);
      for (const [status, { content }] of Object.entries(operation.responses))
        expectValid([...at, "responses", status, ...json], content["application/json"]?.example);
    }
    expect(shown).toBeGreaterThan(operations.length);
  });
});

const COMMON = {
  "content-type": "application/json",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Request-Id",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-request-id": "5f785860-76ba-42f3-a1ab-56ae85180260",
};
const STOP = "POST /mcp/research/stop";
const stopped = { success: true, stopped: 0 };
const no = { error: "no" };

/** Answers, and what the check of every answer in a test has against them: `null` for nothing. */
const ANSWERS: readonly [
  request: string,
  status: number,
  body: unknown,
  problem: string | null,
  headers?: Record<string, string | null>,
][] = [
  [STOP, 200, stopped, null],
  [`${STOP}?x=1`, 400, no, null],
  ["GET /nowhere", 404, no, null],
  ["GET /mcp/research/stop", 405, no, null, { allow: "POST" }],
  ["OPTIONS /any", 204, "", null, { "access-control-allow-methods": "GET" }],
  [STOP, 418, no, "status is not documented"],
  [STOP, 200, { success: true }, "stopped"],
  [STOP, 200, { ...stopped, stopped: "0" }, "must be integer"],
  [STOP, 200, { ...stopped, more: 1 }, "additional properties"],
  [STOP, 400, { ...no, key: 1 }, "additional"],
  [STOP, 200, "<html>", "not JSON"],
  ["GET /nowhere", 404, no, "X-Request-Id", { "x-request-id": null }],
  ["GET /nowhere", 404, no, "any origin", { "access-control-allow-origin": null }],
  [STOP, 200, stopped, "set-cookie is not documented", { "set-cookie": "a=b" }],
  [STOP, 200, stopped, "Cache-Control is missing", { "cache-control": null }],
  ["POST /mcp/chat", 429, no, "Retry-After is missing"],
  [STOP, 200, stopped, "content type", { "content-type": "text/plain" }],
  ["GET /nowhere", 200, {}, "should be 404"],
  ["GET /mcp/research/stop", 200, stopped, "allowed methods"],
  ["OPTIONS /any", 204, {}, "preflight"],
];

test.for(ANSWERS)(
  "every answer in a test is held against it: %s %i %j",
  ([request, status, body, problem, own]) => {
    const [method = "", path = ""] = request.split(" ");
    const headers = new Headers();
    for (const [name, value] of Object.entries({ ...COMMON, ...own }))
      if (value !== null) headers.set(name, value);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const check = () => assertDocumented(method, path, { status, headers, text });
    if (problem === null) expect(check).not.toThrow();
    else expect(check).toThrow(problem);
  },
);

/** What client generators (orval, kubb, hey-api, openapi-typescript) and linters (Spectral, Redocly) stumbled over. */
describe("other people's tools read the document:", () => {
  type Found = { at: string; schema: Record<string, unknown> };
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const found: Found[] = [];
  const walk = (value: unknown, at: string): void => {
    if (isObject(value)) found.push({ at, schema: value });
    if (typeof value === "object" && value !== null)
      for (const [name, inner] of Object.entries(value)) walk(inner, `${at}/${name}`);
  };
  walk(JSON.parse(JSON.stringify(document)), "");

  test("each pattern is one with the flag u and without it, and says the same", () => {
    const patterns = found.flatMap(({ at, schema: { pattern } }) =>
      typeof pattern === "string" && !at.endsWith("/properties") ? [{ at, pattern }] : [],
    );
    expect(patterns.length).toBeGreaterThan(20);
    for (const { at, pattern } of patterns) {
      expect([at, pattern]).toEqual([at, expect.not.stringMatching(/\\[pP]\{/)]);
      for (const value of ["alice", "a\u0000b", "a\u200bb", "é😀", "1000", "0x12", "", "-5", "a b"])
        expect([pattern, value, new RegExp(pattern).test(value)]).toEqual([
          ...[pattern, value],
          new RegExp(pattern, "u").test(value),
        ]);
    }
  });

  test("an object with further fields has no constant among its own, which generators cannot write down", () => {
    for (const { at, schema } of found) {
      const isLoose = isObject(schema.additionalProperties) && isObject(schema.properties);
      const fields = isLoose && isObject(schema.properties) ? Object.values(schema.properties) : [];
      expect([at, fields.filter((one) => isObject(one) && "const" in one)]).toEqual([at, []]);
    }
  });

  test("no schema is unused, and no example holds what looks like a schema with an example", () => {
    const text = JSON.stringify(document);
    for (const name of Object.keys(document.components.schemas))
      expect([name, text.includes(`"#/components/schemas/${name}"`)]).toEqual([name, true]);
    const nested = found.filter(({ at, schema }) => /\/example\//.test(at) && "example" in schema);
    expect(nested.map(({ at }) => at)).toEqual([]);
  });
});
