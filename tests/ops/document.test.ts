import { Validator } from "@seriousme/openapi-schema-validator";
import { gunzipSync } from "fflate";
import { describe, expect } from "vitest";
import * as z from "zod";
import packageFile from "../../package.json";
import { endpoints, offered } from "../../convex/endpoints";
import http from "../../convex/http";
import { openApi } from "../../scripts/reference/document";
import type { Operation } from "../../scripts/reference/types";
import { createApp, test } from "../support/app";
import { documented, validatorOf } from "../support/document";

const { document } = documented();
type Placed = { path: string; method: "get" | "post"; operation: Operation };

const operations: Placed[] = Object.entries(document.paths).flatMap(([path, { get, post }]) => [
  ...(get === undefined ? [] : [{ path, method: "get" as const, operation: get }]),
  ...(post === undefined ? [] : [{ path, method: "post" as const, operation: post }]),
]);

describe("the API document", () => {
  test("is what /openapi.json answers, with this deployment's address", async () => {
    const app = createApp({ env: { CONVEX_SITE_URL: "https://other.convex.site/" } });
    const { status, headers, body } = await app.get("/openapi.json");
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=60"]);
    expect(body).toEqual(JSON.parse(JSON.stringify(openApi(offered, "https://other.convex.site"))));
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
      expect((await asked({ "Accept-Encoding": "gzip;q=0" })).headers.get("content-encoding")).toBeNull();
      const tag = plain.headers.get("etag") ?? "";
      const again = await asked({ "If-None-Match": `"older", ${tag}` });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
      expect((await asked({ "If-None-Match": `"older"` })).status).toBe(200);
      const moved = createApp({ env: { CONVEX_SITE_URL: "https://other.convex.site" } });
      expect((await moved.get(path)).headers.get("etag")).not.toBe(tag);
    },
  );

  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(z.looseObject({}).parse(JSON.parse(JSON.stringify(document))));
    expect([result.errors ?? [], result.valid, validator.version]).toEqual([[], true, "3.1"]);
  });

  test("has every route of the router and nothing else", () => {
    // The router knows no names of fields, and takes what nobody else does at "/*".
    const routes = http.getRoutes().filter(([path]) => path !== "/*");
    const told = operations.map(
      ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}$/, "*")}`,
    );
    expect(told.toSorted()).toEqual(routes.map(([path, method]) => `${method} ${path}`).toSorted());
    expect(told).toHaveLength(endpoints.flatMap(({ methods }) => methods).length);
  });

  test("names every operation once, and describes every tag", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document.tags.filter(({ name, description }) => name === description)).toEqual([]);
  });

  test("says of every operation what it does, and of all whether a token is needed", () => {
    const silent = operations.filter(
      ({ operation }) => (operation.description ?? operation.summary).length < 20,
    );
    expect(silent.map(({ path, method }) => `${method} ${path}`)).toEqual([]);
    expect(document.security).toEqual([{}]);
    expect(operations.flatMap(({ operation }) => operation.security ?? [])).toEqual(
      expect.arrayContaining([{}, { userToken: [] }]),
    );
  });

  test("says whom to ask and what is licensed", () => {
    const [server] = document.servers;
    expect(document.info).toMatchObject({
      contact: { name: expect.any(String), url: `${server?.url}/docs` },
      license: { name: expect.any(String), identifier: expect.stringMatching(/^LicenseRef-/) },
    });
  });

  test("has the version of package.json, as /health has", async () => {
    expect(document.info.version).toBe(packageFile.version);
    expect((await createApp().get("/health")).body.version).toBe(packageFile.version);
  });

  test("gives GET and POST of one path the same fields", () => {
    const both = endpoints.filter(({ methods }) => methods.length === 2);
    expect(both.length).toBeGreaterThan(3);
    for (const { path } of both) {
      const { get, post } = document.paths[path] ?? {};
      if (get === undefined || post === undefined) throw new Error(`${path} answers both`);
      const body = document.components.schemas[`${post.operationId.replace(/^post/, "")}Input`];
      const query = (get.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
      expect([path, query]).toEqual([path, Object.keys(body?.properties ?? {})]);
    }
  });

  test("tells two endpoints of one path apart", () => {
    const { get, post } = document.paths["/social/mention"] ?? {};
    const answerOf = (operation: Operation | undefined) =>
      operation?.responses["200"]?.content["application/json"]?.schema;
    expect([answerOf(get), answerOf(post)]).toEqual([
      { $ref: "#/components/schemas/GetSocialMentionAnswer" },
      { $ref: "#/components/schemas/PostSocialMentionAnswer" },
    ]);
  });

  test("shows examples that its own schemas accept", () => {
    let shown = 0;
    for (const { path, method, operation } of operations) {
      const at = ["paths", path, method];
      const body = operation.requestBody?.content["application/json"]?.example;
      if (body !== undefined) {
        expectValid([...at, "requestBody", "content", "application/json", "schema"], body);
        shown++;
      }
      for (const [index, { example }] of (operation.parameters ?? []).entries()) {
        if (example === undefined) continue;
        expectValid([...at, "parameters", String(index), "schema"], example);
        shown++;
      }
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const example = content["application/json"]?.example;
        if (example === undefined) continue;
        expectValid([...at, "responses", status, "content", "application/json", "schema"], example);
        shown++;
      }
    }
    expect(shown).toBeGreaterThan(operations.length);
  });
});

function expectValid(at: string[], value: unknown): void {
  const validate = validatorOf(...at);
  validate(value);
  expect([at.join(" "), validate.errors ?? []]).toEqual([at.join(" "), []]);
}
