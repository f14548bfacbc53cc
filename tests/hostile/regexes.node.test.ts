import { Linter } from "eslint";
import regexp from "eslint-plugin-regexp";
import { expect, test } from "vitest";
import { sources } from "./sources";

/**
 * Every regular expression of the service takes time in proportion to its text. The linter proves it from the patterns
 * themselves (`npm run check:platform`); here is proved that it sees what it should, and that nothing is kept from it.
 */

const rules: Linter.RulesRecord = {
  "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
  "regexp/no-super-linear-move": ["error", { report: "potential" }],
};
/** Names one of these rules, or no rule at all. */
const EXEMPTS = /eslint-disable(?:-next-line|-line)?\s*(?:\*\/|$|.*regexp\/)/;

test("no source file is exempt", () => {
  const exempt = sources().flatMap(({ file, parsed }) =>
    parsed.text.split("\n").flatMap((line) => (EXEMPTS.test(line) ? [`${file}: ${line.trim()}`] : [])),
  );
  expect(exempt).toEqual([]);
});

test.each([
  ["a quadratic one", String.raw`/\s+$/`, "regexp/no-super-linear-move"],
  ["an exponential one", "/^(?:a+)+$/", "regexp/no-super-linear-backtracking"],
  ["one made from a text", String.raw`new RegExp("^(?:a+)+$")`, "regexp/no-super-linear-backtracking"],
  ["a linear one", "/^a+b*$/", undefined],
])("%s is seen for what it is", (_, pattern, rule) => {
  const found = new Linter().verify(`export const one = ${pattern};`, [{ plugins: { regexp }, rules }]);
  expect(found.map(({ ruleId }) => ruleId)).toEqual(rule === undefined ? [] : [rule]);
});
