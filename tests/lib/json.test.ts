import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonValues } from "../../convex/lib/text/json";

describe("jsonValues", () => {
  test("finds any object whatever prose and fence surround it", () => {
    const prose = fc.string().filter((text) => !/[[{"\]}]/.test(text));
    const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
    fc.assert(
      fc.property(value, prose, prose, fc.boolean(), (object, before, after, fenced) => {
        const json = JSON.stringify(object);
        const text = fenced ? `${before}\n\`\`\`json\n${json}\n\`\`\`\n${after}` : `${before}${json}${after}`;
        expect(jsonValues(text)).toEqual([JSON.parse(json)]);
      }),
    );
  });

  test("goes past brackets in prose", () => {
    expect(jsonValues('As noted [1], see {this}: {"a": "}{"} done').at(-1)).toEqual({ a: "}{" });
  });

  test("finds nothing in a truncated value, in prose, or in a bare number", () => {
    for (const text of ['{"a": [1, 2', "no data", "42", '"text"', ""]) expect(jsonValues(text)).toEqual([]);
  });
});
