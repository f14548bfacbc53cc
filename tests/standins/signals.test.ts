import { expect, test } from "vitest";
import { PROMPT_VERSIONS } from "../../convex/signals/arms/arms";
import { dayLedger } from "../../convex/signals/desk/ledgers";
import {
  proposalShape,
  reviewQuestion,
  reviewShape,
  signalQuestion,
} from "../../convex/signals/desk/prompts";
import { standingOf } from "../../convex/signals/statistics/figures";
import { problemsOf } from "../../convex/signals/trade/rules";
import { standinsAt, START, structured } from "./support";

const DAY = 86_400_000;

test.each(PROMPT_VERSIONS)(
  "the simulated model proposes signals by %s that the rules take, the same for the same prompt, in every direction",
  async (version) => {
    const seen = new Set<string>();
    for (let day = 0; day < 40; day++) {
      const nowMs = START + day * DAY;
      const standins = standinsAt(nowMs);
      const priceUsd = standins.market.coin("ETH", nowMs).price;
      const hours = [6, 4, 2].map((hours) => {
        const hourEndsAt = nowMs - hours * 3_600_000;
        const close = day === 7 ? priceUsd : standins.market.coin("ETH", hourEndsAt).price;
        return { endsAt: hourEndsAt, close, source: "coinbase", range: null };
      });
      const price = { priceUsd, source: "coinbase", observedAt: nowMs };
      const known = { hours, day: null, funding: null, calibration: { n: 0, wins: 0, meanConfidence: null } };
      const context = { ...known, token: "ETH" as const, nowMs, price, costBps: 15, yesterday: [] };
      const question = signalQuestion(version, context, () => null);
      const ask = () => structured(standins, question);
      const answer = await ask();
      expect(await ask()).toBe(answer);
      const proposal = proposalShape.parse(JSON.parse(answer));
      expect(problemsOf(proposal, { priceUsd, costBps: 15 })).toBeNull();
      seen.add(proposal.signal);
    }
    expect([...seen].sort()).toEqual(["BUY", "HOLD", "SELL"]);
  },
);

test("the simulated model reviews the facts it is given, with slots", async () => {
  const ledger = dayLedger([], standingOf([]), START);
  const question = reviewQuestion("Review of the day 2026-01-05 (UTC).", ledger, () => null);
  const answer = await structured(standinsAt(), question);
  expect(reviewShape.parse(JSON.parse(answer)).review).toContain(
    "{f1} won, {f2} lost and {f3} expired, for a result of {f6} in all",
  );
});
