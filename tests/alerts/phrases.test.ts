import { describe, expect, test } from "vitest";
import { conditionShape, type Condition } from "../../convex/alerts/language/conditions";
import { LEAST_FLOW_USD, PRICED } from "../../convex/alerts/language/grammar";
import { readPhrase } from "../../convex/alerts/language/phrases";
import { isSaid } from "../../convex/alerts/language/agreement";
import { FLOOR_USD } from "../../convex/whales/coins";
import { READ, UNREAD } from "./phrases";
import { IN_OTHER_WORDS, MISLEADING } from "./wordings";

describe("an alert's words", () => {
  test("may name every movement that is measured, and no smaller one", () => {
    expect(LEAST_FLOW_USD).toBe(FLOOR_USD);
  });

  test("in 200 ways are read exactly", () => {
    const wrong = READ.flatMap(([condition, phrases]) =>
      phrases
        .map((phrase) => [phrase, readPhrase(phrase)] as const)
        .filter(([, read]) => JSON.stringify(read) !== JSON.stringify({ kind: "condition", condition })),
    );
    expect(wrong).toEqual([]);
    expect(new Set(READ.flatMap(([, phrases]) => phrases)).size).toBeGreaterThanOrEqual(200);
  });

  test("in 100 other ways are no alert, and say what to say instead", () => {
    const read = UNREAD.map((phrase) => [phrase, readPhrase(phrase)] as const);
    expect(read.filter(([, { kind }]) => kind === "condition")).toEqual([]);
    expect(read.filter(([, one]) => one.kind !== "condition" && !/^[A-Z].{20,}\.$/.test(one.say))).toEqual(
      [],
    );
    expect(new Set(UNREAD).size).toBeGreaterThanOrEqual(100);
  });

  test("that a model reads have to say it themselves, every one of them", () => {
    const refused = IN_OTHER_WORDS.flatMap(([condition, phrases]) =>
      phrases.filter((phrase) => !isSaid(condition, phrase)),
    );
    expect(refused).toEqual([]);
    const known = IN_OTHER_WORDS.flatMap(([, phrases]) => phrases).filter(
      (phrase) => readPhrase(phrase).kind !== "unknown",
    );
    expect(known).toEqual([]);
  });

  test("that mislead are no alert, whatever a model proposes", () => {
    const misread = MISLEADING.flatMap((phrase) => [
      ...(readPhrase(phrase).kind === "condition" ? [phrase] : []),
      ...proposalsFor(phrase)
        .filter((condition) => isSaid(condition, phrase))
        .map((condition) => [phrase, condition]),
    ]);
    expect(misread).toEqual([]);
    expect(MISLEADING.length).toBeGreaterThanOrEqual(100);
  });

  test("that a model reads are no other alert than they say", () => {
    const misread = IN_OTHER_WORDS.flatMap(([said, phrases]) =>
      phrases.flatMap((phrase) =>
        proposalsFor(phrase)
          .filter((one) => JSON.stringify(one) !== JSON.stringify(said) && isSaid(one, phrase))
          .map((one) => [phrase, one]),
      ),
    );
    expect(misread).toEqual([]);
  });
});

/** Everything that a model could make of the numbers in a text, as far as the grammar allows it. */
function proposalsFor(text: string): Condition[] {
  const digits = text.match(/\d[\d.,]*/g) ?? [];
  const numbers = [...digits.map((one) => Number(one.replaceAll(",", ""))), 5];
  const sides = ["above", "below"] as const;
  const proposals = [1, 1e3, 1e6, -1].flatMap((times) =>
    numbers.flatMap((number): unknown[] => [
      ...PRICED.flatMap((token) => [
        ...sides.flatMap((direction) => [
          { kind: "price", token, direction, levelUsd: number * times },
          { kind: "funding", token, direction, percentPerHour: number * times },
        ]),
        ...["up", "down"].flatMap((direction) =>
          [1, 24].map((windowHours) => {
            return { kind: "change", token, direction, percent: number * times, windowHours };
          }),
        ),
      ]),
      ...["USDC", "ETH"].flatMap((token) =>
        ["in", "out"].map((direction) => ({ kind: "flow", token, direction, overUsd: number * times })),
      ),
    ]),
  );
  const times = ["07:00", "07:30", "08:00", "19:00", "19:30", "20:00"].flatMap((time) =>
    ["UTC", "Europe/Berlin"].map((timeZone) => ({ kind: "digest", time, timeZone })),
  );
  return [...new Set([...proposals, ...times].map((one) => JSON.stringify(one)))].flatMap((one) => {
    const { success, data } = conditionShape.safeParse(JSON.parse(one));
    return success ? [data] : [];
  });
}
