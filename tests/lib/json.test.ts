import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { extractJson } from "../../convex/lib/json";

describe("extractJson", () => {
  test("finds any object whatever prose and fence surround it", () => {
    const prose = fc.string().filter((text) => !/[[{"\]}]/.test(text));
    const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
    fc.assert(
      fc.property(value, prose, prose, fc.boolean(), (object, before, after, fenced) => {
        const json = JSON.stringify(object);
        const text = fenced ? `${before}\n\`\`\`json\n${json}\n\`\`\`\n${after}` : `${before}${json}${after}`;
        expect(extractJson(text)).toEqual(JSON.parse(json));
      }),
    );
  });

  test("goes past brackets in prose", () => {
    expect(extractJson('As noted [1], see {this}: {"a": "}{"} done')).toEqual({ a: "}{" });
  });

  test("finds nothing in a truncated value, in prose, or in a bare number", () => {
    for (const text of ['{"a": [1, 2', "no data", "42", '"text"', ""])
      expect(extractJson(text)).toBeUndefined();
  });
});
