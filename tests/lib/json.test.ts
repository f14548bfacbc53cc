import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonValues, namesGivenTwice } from "../../convex/lib/text/json";

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

describe("namesGivenTwice", () => {
  const escaped = (text: string) =>
    `"${[...text].map((char) => (char.length === 1 ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : char)).join("")}"`;
  const name = fc.oneof(
    fc.constantFrom("dryRun", "amount", "}", '"', "\\", "a:b"),
    fc.string({ unit: "grapheme" }),
  );

  test("finds exactly the names that an object has more than once, however they are written and whatever they hold", () => {
    const member = fc.tuple(name, fc.jsonValue(), fc.boolean());
    fc.assert(
      fc.property(fc.array(member), fc.constantFrom("", " ", "\n"), (members, space) => {
        const text = members.map(
          ([key, value, isEscaped]) =>
            `${isEscaped && key.isWellFormed() ? escaped(key) : JSON.stringify(key)}${space}:${JSON.stringify(value)}`,
        );
        const names = members.map(([key]) => key);
        const twice = new Set(names.filter((one, at) => names.indexOf(one) !== at));
        expect(new Set(namesGivenTwice(`{${text.join(`,${space}`)}}`))).toEqual(twice);
      }),
    );
  });
});
