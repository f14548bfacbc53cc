import ts from "typescript";
import { expect, test } from "vitest";
import { nodesOf, sources, type Source } from "./sources";

/**
 * Every regular expression of the service takes time in proportion to its text: each is tried on texts made to lead it
 * astray, which take a quadratic one a hundred times longer than this allows.
 */

/** Short ones first: what explodes on them is not tried on long ones. */
const LENGTHS = [26, 1_500, 20_000];
/** CPU time per text, which a busy machine does not lengthen. */
const ALLOWED_MS = 100;

type Literal = { where: string; regex: RegExp };

function literalsOf(source: Source): Literal[] {
  return nodesOf(source, ts.isRegularExpressionLiteral).map(({ node, where }) => {
    const end = node.text.lastIndexOf("/");
    const flags = node.text.slice(end + 1).replace(/[gy]/g, "");
    return { where: `${where} ${node.text}`, regex: new RegExp(node.text.slice(1, end), flags) };
  });
}

/** What a repeated group could be made of: the pattern's own letters, and what the usual classes hold. */
function unitsFor({ source }: RegExp): string[] {
  const own = source.replace(/\\[a-zA-Z]|\{[\d,]+\}|[\\[\]()?:*+^$|]/g, "");
  const usual = [
    " ",
    "\n",
    "a",
    "A",
    "0",
    "-",
    ".",
    "_",
    ",",
    "$",
    "@",
    "/",
    "<",
    "(",
    "[",
    "{",
    '"',
    "'",
    "\\",
    "é",
    "🟢",
  ];
  const pairs = [
    "a ",
    "0.",
    "a.",
    "a,",
    "0,",
    "0 ",
    " a0",
    "[(",
    "](",
    "<a",
    "\\n",
    "a-",
    "0x",
    ". ",
    "<b>",
    "&a;",
    "**",
    "`a",
  ];
  return [...new Set([...usual, ...pairs, ...own, ...(own === "" ? [] : [own, own.slice(0, 3)])])];
}

function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The least of a few: a pause for the garbage of others is not the pattern's. */
function costOf(regex: RegExp, text: string): number {
  const first = cpuMs(() => regex.test(text));
  return first < ALLOWED_MS
    ? first
    : Math.min(
        first,
        cpuMs(() => regex.test(text)),
      );
}

function slowest({ regex }: Literal): { cost: number; on: string } {
  const literalStart = /^\^?([\w@#/:<"'-]+)/.exec(regex.source)?.[1] ?? "";
  for (const length of LENGTHS) {
    for (const unit of unitsFor(regex)) {
      for (const start of new Set(["", literalStart])) {
        const cost = costOf(regex, `${start}${unit.repeat(Math.ceil(length / unit.length))}\u0000`);
        if (cost >= ALLOWED_MS) return { cost, on: `${length} characters of ${JSON.stringify(unit)}` };
      }
    }
  }
  return { cost: 0, on: "" };
}

const literals = sources().flatMap(literalsOf);

test("no regular expression takes more than linear time", () => {
  expect(literals.length).toBeGreaterThan(40);
  const slow = literals.flatMap((literal) => {
    const { cost, on } = slowest(literal);
    return cost < ALLOWED_MS ? [] : [`${literal.where}: ${cost.toFixed(0)} ms on ${on}`];
  });
  expect(slow).toEqual([]);
}, 120_000);

test("a quadratic and an exponential one are found", () => {
  for (const regex of [/\s+$/, /^(?:a+)+$/]) {
    expect(slowest({ where: "", regex }).cost).toBeGreaterThan(ALLOWED_MS);
  }
}, 120_000);
