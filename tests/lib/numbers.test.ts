import { expect, test } from "vitest";
import { buildPortfolioCard } from "../../convex/bot/cards";
import { computeResult } from "../../convex/wallets/result";
import { formatPercent, formatShortUsd, formatSignedPercent, typeset } from "../../convex/lib/text/numbers";

/** One style of figures. */

test("percentages have a thin space and a true minus, whoever wrote them", () => {
  for (const [written, told] of [
    ["SOL moved -4.38% in 24 hours", "SOL moved −4.38\u202F% in 24 hours"],
    ["+1.4 % [1], (-0.5%)", "+1.4\u202F% [1], (−0.5\u202F%)"],
    ["-17.3 points, from -3.0 to +7.4", "−17.3 points, from −3.0 to +7.4"],
    ["from 0.5-1.2% on 2026-11-20", "from 0.5-1.2\u202F% on 2026-11-20"],
    ["chat -1001, https://a.b/%20x, claude-4.5", "chat -1001, https://a.b/%20x, claude-4.5"],
  ] as const)
    expect(typeset(written)).toBe(told);
});

test("a figure that a function writes is in that style already", () => {
  for (const figure of [
    formatSignedPercent(-0.351),
    formatSignedPercent(12),
    formatPercent(-0.0125),
    formatPercent(65.2, 0),
    formatSignedPercent(-0.001),
  ])
    expect(typeset(figure)).toBe(figure);
  expect([formatSignedPercent(-0.351), formatPercent(0.0125), formatSignedPercent(-0.001)]).toEqual([
    "−0.35\u202F%",
    "0.0125\u202F%",
    "0.00\u202F%",
  ]);
});

test("a chart's price has no decimals that say nothing", () => {
  expect([97_250.4, 3_400, 3_410.25, 158, 158.5].map(formatShortUsd)).toEqual([
    ...["97,250", "3,400", "3,410.3", "158", "158.50"],
  ]);
});

test("a portfolio's amounts are grouped, and the smallest are digits too", () => {
  const balances = (["1000", "123456.78", "1234.5678", "0.00000012", "1"] as const).map((balance) => ({
    ...{
      token: "USDC" as const,
      balance,
      raw: "1",
      valueUsd: null,
      decimals: 6,
      priceUsd: null,
      priceSource: null,
    },
  }));
  const { result } = computeResult(null, {});
  const [, holdings = []] = buildPortfolioCard({ address: "0x", balances, totalValueUsd: 0, result });
  const told = holdings.flatMap((span) => (typeof span === "string" ? span.split("  ")[1] : []));
  expect(told).toEqual(["1,000", "123,457", "1,234.57", "0.00000012", "1"]);
});
