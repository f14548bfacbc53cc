import { describe, expect, test } from "vitest";
import { plain, readFigures } from "../../convex/evidence/figures";

/** What counts as a figure of a text, and what it says. */

const read = (text: string, known: string[] = []) =>
  readFigures(plain(text), known).map((figure) => {
    if (figure.kind === "date") return figure.shows;
    if (figure.kind === "unreadable") return "unreadable";
    return figure.unit === null ? figure.value : [figure.value, figure.unit];
  });

describe("prices and amounts", () => {
  test.each([
    ["at $97,250.50 today", [[97_250.5, "usd"]]],
    ["at 97,250 USD", [[97_250, "usd"]]],
    ["US$ 97250", [[97_250, "usd"]]],
    ["USD97,250", [[97_250, "usd"]]],
    ["97.250,50 USD", [[97_250.5, "usd"]]],
    ["97 250.5 dollars", [[97_250.5, "usd"]]],
    ["$1.93T", [[1.93e12, "usd"]]],
    ["$1.93 trillion", [[1.93e12, "usd"]]],
    [
      "$98.7bn and $420M",
      [
        [98.7e9, "usd"],
        [420e6, "usd"],
      ],
    ],
    ["about $97k", [[97_000, "usd"]]],
    ["1.2 million", [1.2e6]],
    ["1.2M ETH", [[1.2e6, "coins"]]],
    ["5BTC", [5]],
    ["-$12", [[-12, "usd"]]],
    ["$-12", [[-12, "usd"]]],
    ["€500", [[500, "times"]]],
    ["0.0000095 USD", [[0.0000095, "usd"]]],
    ["1e-5 USD", [[0.00001, "usd"]]],
    ["half a billion dollars", [[5e8, "usd"]]],
    ["a million dollars", [[1e6, "usd"]]],
    ["５００ USD", [[500, "usd"]]],
  ])("%s", (text, expected) => expect(read(text)).toEqual(expected));
});

describe("percentages", () => {
  test.each([
    ["+3.2%", [[3.2, "percent"]]],
    ["+3,2 %", [[3.2, "percent"]]],
    ["−3.2 %", [[-3.2, "percent"]]],
    ["(–3.2 %)", [[-3.2, "percent"]]],
    ["3.2 percentage points", [[3.2, "percent"]]],
    [
      "3–5 %",
      [
        [3, "percent"],
        [5, "percent"],
      ],
    ],
    [
      "from 1.2 to 3.4 percent",
      [
        [1.2, "percent"],
        [3.4, "percent"],
      ],
    ],
    ["25 bps", [[25, "bps"]]],
    ["25 basis points", [[25, "bps"]]],
    ["three percent", [[3, "percent"]]],
    ["twenty-five per cent", [[25, "percent"]]],
    ["minus four percent", [[-4, "percent"]]],
    ["half a percent", [[0.5, "percent"]]],
    ["a quarter of a percentage point", [[0.25, "percent"]]],
    ["volume doubled", [[100, "percent"]]],
    ["a third of its value", [[33.333, "percent"]]],
    ["half of all coins", [[50, "percent"]]],
    ["up3.2%", [expect.anything()]],
  ])("%s", (text, expected) => expect(read(text)).toEqual(expected));
});

describe("ranges, counts and multiples", () => {
  test.each([
    [
      "between $96,000 and 98,500",
      [
        [96_000, "usd"],
        [98_500, "usd"],
      ],
    ],
    [
      "$96k–98k",
      [
        [96_000, "usd"],
        [98_000, "usd"],
      ],
    ],
    ["31 of 50 coins", [31, 50]],
    ["12/37 coins up", [12, 37]],
    ["twelve of them", [12]],
    ["a dozen coins", [12]],
    ["10x leverage", [[10, "times"]]],
    ["the 3rd largest", [[3, "rank"]]],
    ["٣٥ coins", ["unreadable"]],
    ["[12]", [12]],
  ])("%s", (text, expected) => expect(read(text)).toEqual(expected));
});

describe("dates", () => {
  test.each([
    ["on 2026-01-05", [{ year: 2026, month: 1, day: 5 }]],
    ["2026-01-05T09:30Z", [{ year: 2026, month: 1, day: 5, hour: 9, minute: 30 }]],
    ["5 January 2026", [{ year: 2026, month: 1, day: 5 }]],
    ["January 5th", [{ month: 1, day: 5 }]],
    ["Jan. 5, 2026", [{ year: 2026, month: 1, day: 5 }]],
    ["since March 2024", [{ year: 2024, month: 3 }]],
    ["05.01.2026", [{ year: 2026, month: 1, day: 5 }]],
    ["at 09:30 UTC", [{ hour: 9, minute: 30 }]],
    ["in 2024", [2024]],
    ["may 5 % more", [[5, "percent"]]],
  ])("%s", (text, expected) => expect(read(text)).toEqual(expected));
});

describe("what is no figure", () => {
  test.each([
    "as told [f12] and [f1, f3]",
    "1. Bitcoin leads",
    "- 2) Ethereum follows",
    "C98, USD1 and 1INCH trade on Layer 2",
    "an ERC-20 token under EIP-1559, in Q3, on Web3",
    "the top 20 coins and the top-100 list",
    "over 24 hours, in the 48-hour range and the last 7 days",
    "a 24h change, a 30-day average and twenty-four hours",
    "three themes and two exchanges",
    "the first and second of them",
    "open 24/7, beside the S&P 500",
    "https://example.org/2024/12",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "millions of dollars",
    "a double top in the first quarter of the year, after COVID-19, on SPX6900 and x402",
  ])("%s", (text) => expect(read(text)).toEqual([]));

  test("a known coin's name that begins with digits", () => {
    expect(read("7DAO rose")).toEqual([7]);
    expect(read("7DAO rose", ["7DAO"])).toEqual([]);
  });
});

test("the rounding is what the digits show", () => {
  const within = (text: string) =>
    readFigures(plain(text)).map((one) => (one.kind === "number" ? one.within : null));
  expect(within("3.2 %")[0]).toBeCloseTo(0.05, 9);
  expect(within("$97,250")[0]).toBeCloseTo(5, 9);
  expect(within("97,251 USD")[0]).toBeCloseTo(0.5, 9);
  // Zeros at the end may be rounding, but not of more than half a percent.
  expect(within("$97,000")[0]).toBeCloseTo(485, 9);
  expect(within("$100,000")[0]).toBeCloseTo(500, 9);
  expect(within("$1.93T")[0]).toBeCloseTo(5e9, 0);
  expect(within("$2T")[0]).toBeCloseTo(5e10, 0);
});
