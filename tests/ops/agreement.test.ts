import { Ajv2020 } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { toJsonSchema } from "../../scripts/reference/jsonSchema";

/** What the document says of an input, the service takes. It takes more: blanks, digits as text, `null` for nothing. */

const hash = `0x${"ab".repeat(32)}`;
const turn = { role: "user", content: "x" };
const values: unknown[] = [
  ...["", " BTC ", "btc", "$X", "no spaces", "a\u0000b", "a\u200bb", "hello", "\u3000x\ufeff"],
  ...[null, true, 0, 5, -3, 0.5, 10_000, 10_001, 1e21, [], {}, ["x"], { a: 1 }],
  ...["5", "-5", "0.5", " 100 ", "010000", "10000", "10001", "9999", "1", "01", "1e18", "1.5"],
  ...[20, 64, 65, 128, 129, 200, 201, 1_000, 1_001, 8_000, 8_001].flatMap((length) => [
    "x".repeat(length),
    "😀".repeat(length),
  ]),
  ...["@channel_name", "@abc", "-1001234567890", "123456789", "1".repeat(20), "1".repeat(21)],
  ...[40, 39].map((length) => `0x${"a".repeat(length)}`),
  ...[hash, hash.toUpperCase(), ` ${hash}`, `0x${"A".repeat(40)}`],
  ...["ETH", "usdc", " Weth ", "DOGE", "custody", "basic", "CUSTODY", "other"],
  ...[77, 78].map((zeros) => `1${"0".repeat(zeros)}`),
  ...["123456789:replace-with-your-bots-token", "short"],
  ...[[turn], [{ ...turn, role: "system" }], [{ role: "user" }], Array.from({ length: 101 }, () => turn)],
  ...[20_000, 20_001].map((length) => [{ ...turn, content: "x".repeat(length) }]),
];

/** Where one of two fields is needed, which the fields' descriptions say. */
const ONE_OF: Record<string, readonly string[]> = { "/mcp/research/report": ["token"] };

/**
 * What JSON Schema cannot say, and the field's description does: checksums, 2^256 - 1, one field unlike another, the
 * range of a number that is written as text, a public name.
 */
const BEYOND_SCHEMA = "toAddress url amount toToken hours limit after days confidence since".split(" ");

const ajv = new Ajv2020({ strict: false });
addFormats(ajv);

describe.each(
  endpoints.flatMap(({ path, input, example }) => {
    const schema = toJsonSchema(input, "input");
    const fields = Object.keys(schema.properties ?? {});
    return fields.length === 0 ? [] : [{ path, input, schema, fields, example }];
  }),
)("$path", ({ path, input, schema, fields, example }) => {
  const accepts = ajv.compile(schema);
  const sound: Record<string, unknown> = { ...Object(example?.input) };

  test("is taken by the service wherever the document takes it", () => {
    const anyField = fc.record(Object.fromEntries(fields.map((name) => [name, fc.constantFrom(...values)])), {
      requiredKeys: [],
    });
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(
        anyField,
        fc.subarray(fields, { maxLength: Math.min(2, fields.length) }),
        (odd, changed) => {
          // Mostly a sound request, so that one field decides.
          const body = Object.fromEntries(
            fields.flatMap((name) => {
              const source = changed.includes(name) ? odd : sound;
              return Object.hasOwn(source, name) ? [[name, source[name]]] : [];
            }),
          );
          const parsed = input.safeParse(body);
          seen[parsed.success ? "taken" : "refused"]++;
          if (!parsed.success && accepts(body)) {
            const issues = parsed.error.issues.map((issue) => String(issue.path[0]));
            const beyond = [...BEYOND_SCHEMA, ...(ONE_OF[path] ?? [])];
            expect([body, issues.filter((name) => !beyond.includes(name))]).toEqual([body, []]);
          }
        },
      ),
      { numRuns: 400 },
    );
    expect(seen.taken).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  });
});
