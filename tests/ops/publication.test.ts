import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { offered } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { EVERY_ANSWER } from "../../scripts/reference/headers";
import { shared } from "../../scripts/reference/components";
import { documented } from "../support/document";

/** The document as `/openapi.json` answers it: small, and the same as the whole one that every answer is held against. */

const anObject = z.record(z.string(), z.unknown());

const { document: whole } = documented();
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
const published = anObject.parse(copy(shared(whole)));

const MOST_BYTES = 200_000;
/** They answer no JSON. */
const PAGES = ["signals/export.csv", "docs", "docs/{part}", "llms.txt", "robots.txt", "favicon.ico"].map(
  (page) => `get /${page}`,
);

/**
 * Alike for both documents: with what each reference names in its place, but nothing that closes an answer and no type
 * beside listed values.
 */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const fields: Record<string, unknown> = { ...value };
  const { $ref, additionalProperties, type, ...rest } = fields;
  if (typeof $ref === "string") return plain(Object.assign({}, componentAt($ref), rest));
  if (Array.isArray(rest.allOf) && type === undefined) return merged(rest.allOf.map(plain));
  const isListed = rest.enum !== undefined || rest.const !== undefined;
  const kept = {
    ...rest,
    ...(additionalProperties === undefined || additionalProperties === false ? {} : { additionalProperties }),
    ...(type === undefined || isListed ? {} : { type }),
  };
  return Object.fromEntries(Object.entries(kept).map(([key, one]) => [key, plain(one)]));
}

/** One object of the fields of several. */
function merged(parts: readonly unknown[]): unknown {
  const objects = parts.map((one) => anObject.parse(one));
  const properties = objects.map((one) => anObject.parse(one.properties));
  return Object.assign({}, ...objects, { properties: Object.assign({}, ...properties) });
}

function componentAt(reference: string): unknown {
  let at: unknown = published;
  for (const step of reference.split("/").slice(1)) at = anObject.parse(at)[step];
  return at;
}

function expectSame(where: string, ours: unknown, theirs: unknown): void {
  expect([where, plain(ours)]).toEqual([where, plain(copy(theirs))]);
}

const answerShape = z.object({
  description: z.string(),
  headers: anObject.default({}),
  content: z.record(z.string(), z.object({ schema: z.unknown() })),
});

describe("the published document", () => {
  test("is small enough to be read whole, also at a long address", () => {
    const elsewhere = shared(openApi(offered, `https://${"long-name-".repeat(5)}.convex.site`));
    expect(Buffer.byteLength(JSON.stringify(elsewhere))).toBeLessThanOrEqual(MOST_BYTES);
  });

  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(published);
    expect([result.errors ?? [], result.valid, validator.version]).toEqual([[], true, "3.1"]);
  });

  test("uses every component it has, and has every one it uses", () => {
    const { securitySchemes: _, ...sections } = anObject.parse(published.components);
    const text = JSON.stringify(published);
    const used = Array.from(text.matchAll(/"\$ref":"(#\/components\/[^"]+)"/g), ([, ref = ""]) => ref);
    const had = Object.entries(sections).flatMap(([section, kept]) =>
      Object.keys(anObject.parse(kept)).map((name) => `#/components/${section}/${name}`),
    );
    expect([...new Set(used)].toSorted()).toEqual(had.toSorted());
  });

  test("says of every shape what the whole one says", () => {
    for (const [name, schema] of Object.entries(whole.components.schemas)) {
      expectSame(name, componentAt(`#/components/schemas/${name}`), schema);
    }
  });

  test("says of every operation what the whole one says, each usual failure and header told once", () => {
    const paths = z.record(z.string(), z.record(z.string(), anObject)).parse(published.paths);
    const usual = JSON.stringify(componentAt("#/components/responses/Failure"));
    for (const [path, item] of Object.entries(whole.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const { parameters, requestBody, responses } = paths[path]?.[method] ?? {};
        expectSame(path, parameters ?? null, operation.parameters);
        expectSame(path, requestBody ?? null, operation.requestBody);
        const { default: rest, ...told } = anObject.parse(responses);
        const failure = { $ref: "#/components/responses/Failure" };
        expect(rest).toEqual(failure);
        for (const [status, answer] of Object.entries(operation.responses)) {
          const where = `${method} ${path} ${status}`;
          if (told[status] === undefined) {
            expect([where, usual]).toEqual([where, expect.stringContaining(`${status}: `)]);
            continue;
          }
          const { description, headers, content } = answerShape.parse(plain(told[status]));
          expect([where, description]).toEqual([where, answer.description]);
          expectSame(where, { ...EVERY_ANSWER, ...headers }, answer.headers);
          for (const [type, { schema }] of Object.entries(answer.content)) {
            expectSame(where, content[type]?.schema, schema);
          }
        }
      }
    }
  });

  test("shows an example of every operation that answers JSON", () => {
    const paths = z.record(z.string(), z.record(z.string(), anObject)).parse(published.paths);
    const lacking = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { parameters = [], requestBody = null, responses }]) => {
        const parts = [plain(parameters), requestBody, anObject.parse(responses)["200"]];
        return JSON.stringify(parts).includes('"example":') ? [] : [`${method} ${path}`];
      }),
    );
    expect(lacking).toEqual(PAGES);
  });

  test("makes nothing required that may be left out", () => {
    // Makers of clients take a field with a default for one that is always there.
    const text = JSON.stringify([published.paths, published.components]);
    expect(text).not.toMatch(/"default":(?!\{"\$ref":"#\/components\/responses\/Failure"\})/);
    const order = z
      .object({ required: z.array(z.string()), properties: anObject })
      .parse(componentAt("#/components/schemas/McpDefiSwapInput"));
    expect(order.required).not.toContain("slippageBps");
    expect(JSON.stringify(order.properties.slippageBps)).toContain("100 when left out.");
  });
});
