import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCommand } from "../../convex/bot/commands";

const word = (max: number) =>
  fc.stringMatching(/^[A-Za-z0-9_]+$/).filter((text) => text.length >= 1 && text.length <= max);
const space = fc.constantFrom(" ", "\n", "\t", "  ", " \r\n ");

describe("a command", () => {
  test("is read back as it was written, whatever follows it", () => {
    fc.assert(
      fc.property(
        word(32),
        fc.option(word(64)),
        space,
        fc.string({ unit: "grapheme" }),
        space,
        (name, to, gap, argument, edge) => {
          const written = `${edge}/${name}${to === null ? "" : `@${to}`}${gap}${argument}${edge}`;
          expect(parseCommand(written)).toEqual({
            name: name.toLowerCase(),
            to: to?.toLowerCase() ?? null,
            argument: argument.trim(),
          });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("is nothing else: any other text is none, and none makes it throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const parsed = parseCommand(text);
        if (parsed === null) return;
        expect(text.trim().startsWith("/")).toBe(true);
        expect(parsed.name).toMatch(/^[a-z0-9_]{1,32}$/);
        expect(text).toContain(parsed.argument);
      }),
      { numRuns: 2_000 },
    );
    for (const text of [
      "",
      "/",
      "//start",
      "/ start",
      "start",
      "say /start",
      "/a-b",
      "/a@",
      "/a@b-c",
      "/a,b",
    ]) {
      expect([text, parseCommand(text)]).toEqual([text, null]);
    }
    expect(parseCommand(`/${"a".repeat(33)}`)).toBeNull();
  });
});
