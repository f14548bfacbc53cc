import { describe, expect, vi } from "vitest";
import { countTimes, formatSchedule, getNextTime } from "../../convex/alerts/schedule";
import { describeStandingOrder, describeTotal } from "../../convex/alerts/terms";
import { parseStandingOrder } from "../../convex/alerts/standingWords";
import { parseAlertLine } from "../../convex/alerts/words";
import { RUNS } from "../invariants/harness";
import { linkedUser, say, tap, test } from "../bot/support";
import { DAY, tick } from "./support";

/** What comes at an hour: the clocks of zones, standing orders in words, and research. */

describe("a schedule", () => {
  test("has one time on each of its local days, in three zones over their clock changes", () => {
    for (const timeZone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]) {
      const format = new Intl.DateTimeFormat("sv-SE", { timeZone });
      const local = (at: number) => format.format(at);
      for (const time of ["02:30", "09:00", "00:00"]) {
        const from = Date.UTC(2026, 0, 1);
        const days: string[] = [];
        for (
          let at = getNextTime({ time, timeZone }, from);
          at < from + 365 * DAY;
          at = getNextTime({ time, timeZone }, at)
        )
          days.push(local(at));
        expect(new Set(days).size).toBe(days.length);
        expect(days.length).toBeGreaterThanOrEqual(364);
        expect(countTimes({ time, timeZone }, from, from + 365 * DAY - 1)).toBe(days.length);
        const mondays = { time, timeZone, days: [1] };
        const first = getNextTime(mondays, from);
        expect(new Date(first).toLocaleDateString("en", { timeZone, weekday: "long" })).toBe("Monday");
        expect(countTimes(mondays, from, from + 84 * DAY - 1)).toBe(12);
        const monthly = { time, timeZone, dayOfMonth: 28 };
        expect(countTimes(monthly, from, from + 365 * DAY - 1)).toBe(12);
        expect(local(getNextTime(monthly, from))).toBe("2026-01-28");
      }
    }
  });

  test("is written as it is read", () => {
    for (const line of [
      "digest at 07:30 Europe/Berlin",
      "digest every weekday at 07:30 UTC",
      "research BTC every weekday at 07:30 Europe/Berlin",
      "research ETH every Monday, Friday at 18:00 America/New_York always",
    ]) {
      const condition = parseAlertLine(line);
      if (condition === null || !("timeZone" in condition)) throw new Error(line);
      expect(line).toContain(line.startsWith("digest at") ? "at 07:30" : formatSchedule(condition));
    }
    expect(parseAlertLine("research BTC every fortnight at 07:30")).toBeNull();
  });
});

describe("a standing order in words", () => {
  const says = (text: string) => {
    const read = parseStandingOrder(text);
    if (read === null || "refusal" in read) return read === null ? null : read.refusal;
    const order = { swap: read.swap, by: "chat" as const, refusals: 0 };
    return describeStandingOrder({
      condition: read.condition,
      order: { ...order, ...(read.times === undefined ? {} : { timesLeft: read.times }) },
    });
  };

  test.each([
    [
      "buy 25 USDC of ETH every Monday at 09:00 Europe/Berlin",
      "25 USDC → ETH, every Monday at 09:00 Europe/Berlin",
    ],
    [
      "Every monday at 9am Europe/Berlin, buy 25 usdc of eth.",
      "25 USDC → ETH, every Monday at 09:00 Europe/Berlin",
    ],
    ["buy $100 of ETH below 3000", "$100 of USDC → ETH, when ETH is at $3,000 or below"],
    ["when BTC falls below 60k buy $100 of BTC", "$100 of USDC → CBBTC, when BTC is at $60,000 or below"],
    ["sell 0.5 ETH above 4,000 until 2027-01-31", "0.5 ETH → USDC, when ETH is at $4,000 or above"],
    ["sell all ETH below 2500", "all ETH → USDC, when ETH is at $2,500 or below"],
    [
      "swap half my USDC to ETH every month on the 1st at 08:00",
      "50% of the USDC → ETH, every month on day 1 at 08:00 UTC",
    ],
    [
      "buy $20 of ETH daily at 18:30 UTC, 10 times",
      "$20 of USDC → ETH, every day at 18:30 UTC, 10 times: $200 in all",
    ],
    ["buy 25 USDC of ETH on call", "25 USDC → ETH, on a call of its address"],
    ["dca 25 USDC into ETH weekly on friday at 12:00", "25 USDC → ETH, every Friday at 12:00 UTC"],
    [
      "dca 10 dollars into eth weekly on friday at 8am new york",
      "$10 of USDC → ETH, every Friday at 08:00 America/New_York",
    ],
    ["buy 10 USDC of ETH every day at 9 Berlin time", "10 USDC → ETH, every day at 09:00 Europe/Berlin"],
    ["buy 10 USDC of ETH every monday 9am", "10 USDC → ETH, every Monday at 09:00 UTC"],
    ["buy 7 USDC of ETH each monday at noon", "7 USDC → ETH, every Monday at 12:00 UTC"],
    ["take profit: sell all ETH above 5000", "all ETH → USDC, when ETH is at $5,000 or above"],
    ["set a stop loss: sell all my ETH below 2500", "all ETH → USDC, when ETH is at $2,500 or below"],
    ["limit order: buy 100 USDC of ETH at 3000", "100 USDC → ETH, when ETH is at $3,000 or below"],
    ["sell half my ETH at $5k", "50% of the ETH → USDC, when ETH is at $5,000 or above"],
    // None, or nearly one.
    [
      "buy 10 USDC of ETH every hour",
      "It comes at most once a day, not every hour: write it like every day at 09:00.",
    ],
    [
      "buy 10 USDC of ETH every 2 days at 9",
      "It comes at most once a day, not every 2 days: write it like every day at 09:00.",
    ],
    ["buy 25 USDC of ETH at 9", null],
    ["buy 25 USDC of ETH", null],
    ["buy ETH below 3000", null],
    ["buy 1,5 USDC of ETH below 3000", null],
    ["should I buy $100 of ETH below 3000?", null],
    ["buy $100 of ETH below 3000 unless BTC falls", null],
    ["buy $100 of ETH below 3000 every day at 09:00", null],
    ["buy 25 USDC of ETH every Monday", "At what time? Write it like: every Monday at 09:00 Europe/Berlin."],
    ["swap 0.1 ETH to BTC below 3000", "The level has to be a price of BTC or ETH, which the order trades."],
    [
      "send 5 USDC to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 every day at 09:00",
      "A standing order swaps, and sends nothing.",
    ],
  ])("%s", (text, words) => expect(says(text)).toBe(words));

  test("names its total", () => {
    const read = parseStandingOrder("buy 25 USDC of ETH every Monday at 09:00 Europe/Berlin, 12 times");
    if (read === null || "refusal" in read) throw new Error("It was not read");
    const order = { swap: read.swap, by: "chat" as const, refusals: 0, timesLeft: 12 };
    const now = Date.UTC(2026, 10, 30);
    expect(describeTotal({ condition: read.condition, order }, now, now + 90 * DAY)).toBe(
      "Up to 12 × 25 USDC = 300 USDC",
    );
    expect(describeTotal({ condition: read.condition, order }, now, now + 30 * DAY)).toBe(
      "Up to 5 × 25 USDC = 125 USDC",
    );
  });
});

/** How many ask at one hour. */
const PEOPLE = RUNS > 2 ? 10 : 3;
const inMarch = test.extend({ settings: { now: Date.UTC(2026, 2, 26, 5, 0) } });

describe("research at an hour", () => {
  inMarch(
    "is one look a local day for all who ask, over a clock change, and a card only when it has changed",
    async ({ app }) => {
      const lines = [
        "research BTC every day at 07:30 Europe/Berlin",
        "research ETH every day at 07:30 America/New_York",
      ];
      for (let from = 42; from < 42 + PEOPLE; from++) {
        await linkedUser(app, `person-${from}`, from);
        const [card] = await say(app, lines[0], { from });
        expect(card).toContain("Research BTC every day at 07:30 Europe/Berlin");
        await tap(app, "Set", { from });
      }
      await say(app, lines[1], { from: 42 });
      await tap(app, "Set", { from: 42 });
      const asked = () =>
        app.standins.sent("llm").filter(({ schema }) => schema === "onchain_signals").length;
      const reports = new Map<string, number>();
      for (let day = 0; day < 9; day++) {
        for (const hour of [5, 6, 11]) {
          vi.setSystemTime(Date.UTC(2026, 2, 26 + day, hour, 31));
          const before = asked();
          await tick(app);
          await app.settle(160);
          if (asked() > before) reports.set(`${day} ${hour}`, asked() - before);
        }
      }
      const rows = await app.rows("alerts");
      expect(rows.map(({ readyAt }) => new Date(readyAt).toISOString().slice(5, 16))).toEqual([
        ...Array.from({ length: PEOPLE }, () => "04-04T05:30"),
        "04-04T11:30",
      ]);
      const told = app
        .cards()
        .filter(({ text }) => /^<b>(?:🟢|🔴|🟡)(?: was .* ·)? (?:BTC|ETH)/u.test(text)).length;
      expect([...reports.keys()].length).toBe(18);
      for (const [at, count] of reports) expect([at, count]).toEqual([at, 1]);
      expect(told).toBe(rows.reduce((sum, { fired }) => sum + fired, 0));
    },
  );
});
