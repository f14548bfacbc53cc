import { beforeAll, describe, expect, test } from "vitest";
import { anchorData } from "../../../convex/signals/record/chain";
import type { ClosedContent, IssuedContent, SignalEvent } from "../../../convex/signals/record/events";
import { pnlPercent } from "../../../convex/signals/trade/rules";
import {
  verify,
  venueMarket,
  type ChainReader,
  type Market,
  type Minute,
} from "../../../scripts/verifySignals";
import { closeApp, createApp } from "../../support/app";
import { forged } from "./forger";
import { recordOf, type SignalRecord } from "./record";
import * as given from "../support";

/** An honest record, and what becomes of it in the hands of somebody who wants it to look better. */

const { buy, sell, hold, DAY, EIGHT, HOUR, MINUTE, issued, marketAt, track, wait } = given;

const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const NO_SHADOWS = { events: [], head: null, arms: [], writer: "claude-haiku-4.5@signal-2" };

type Whole = SignalRecord & {
  readAt: number;
  shadow?: typeof NO_SHADOWS;
  anchors?: { address: string; anchors: { nonce: number; txHashes: string[] }[] }[];
};

let honest: Whole;
let market: Market;

/**
 * What both tokens do 20 minutes after the issue, day by day; `null`: the model proposes nothing usable. `jump`: for some hours of
 * the night before the price stood elsewhere.
 */
const DAYS: { proposal: object | null; BTC: number; ETH: number; jump?: number }[] = [
  { proposal: buy, BTC: 101, ETH: 99 },
  { proposal: buy, BTC: 98.5, ETH: 98.5 },
  { proposal: sell, BTC: 98.9, ETH: 101.4, jump: 106 },
  { proposal: null, BTC: 100, ETH: 100 },
  { proposal: buy, BTC: 100.4, ETH: 99.6, jump: 103 },
  { proposal: hold, BTC: 101.5, ETH: 99 },
  { proposal: sell, BTC: 101.2, ETH: 101.2 },
  { proposal: buy, BTC: 101.1, ETH: 101.1 },
];

beforeAll(async () => {
  const app = createApp({ now: EIGHT });
  const known: Record<string, Minute[]> = { BTC: [], ETH: [] };
  for (const [index, { proposal, BTC, ETH }] of DAYS.entries()) {
    const start = Date.now();
    await issued(app, proposal ?? "Nothing today.");
    await wait(app, start + 20 * MINUTE - Date.now());
    marketAt(app, { BTC, ETH });
    await wait(app, start + 60 * MINUTE - Date.now());
    await track(app);
    await wait(app, start + 7 * HOUR - Date.now());
    await track(app);
    const venue = venueMarket(app.standins.env("http://providers.test")["EVIDENCE_API_URL"] ?? "");
    for (const [token, minutes] of Object.entries(known)) {
      minutes.push(...(await venue(token, start - 10 * MINUTE, start + 6 * HOUR + MINUTE)));
    }
    const jump = DAYS[index + 1]?.jump;
    if (jump !== undefined) {
      await wait(app, start + 16 * HOUR - Date.now());
      marketAt(app, { BTC: jump, ETH: jump });
      await wait(app, 3 * HOUR);
      marketAt(app, { BTC: 100, ETH: 100 });
    }
    await wait(app, start + DAY - Date.now());
  }
  honest = { ...(await recordOf(app)), readAt: Date.now(), shadow: NO_SHADOWS };
  market = (token, from, to) =>
    Promise.resolve((known[token] ?? []).filter(({ openedAt }) => openedAt >= from && openedAt <= to));
  closeApp();
});

/** A chain on which the heads of a record were anchored by an account, so long after each day's last issue. */
function anchored(record: SignalRecord, after: number | Date = 20_000, withSequence = 0): ChainReader {
  const heads = record.events.filter(
    ({ kind }, index) => kind === "issued" && record.events[index + 1]?.kind !== "issued",
  );
  const sent = heads.map((event, nonce) => {
    const generatedAt = Date.parse(event.kind === "issued" ? event.content.generatedAt : "");
    const minedAt = typeof after === "number" ? new Date(generatedAt + after) : after;
    const data = anchorData({ sequence: event.sequence + withSequence, hash: event.hash });
    return { hash: `0x${nonce}`, from: ADDRESS, nonce, data, succeeded: true, minedAt };
  });
  return {
    mined: (hash) => Promise.resolve(sent.find((one) => one.hash === hash) ?? null),
    sent: (_address, nonce) => Promise.resolve(sent[nonce] ?? null),
    count: () => Promise.resolve(sent.length),
  };
}

const problemsOf = async (record: Whole, means: Parameters<typeof verify>[1] = {}) =>
  (await verify(record, { market, ...means })).problems.join("\n");

type Change = (event: SignalEvent, all: readonly SignalEvent[]) => SignalEvent[];

/** The record as it would be had this been told from the start. */
function retold(change: Change): Whole {
  const statements = structuredClone(honest.events);
  const told = statements.flatMap((event) => change(event, statements));
  return { ...forged(told), readAt: honest.readAt, shadow: NO_SHADOWS };
}

const issueOf = (event: SignalEvent, all: readonly SignalEvent[]): IssuedContent | undefined =>
  all
    .flatMap((one) => (one.kind === "issued" ? [one.content] : []))
    .find(
      (one) => "day" in event.content && one.day === event.content.day && one.token === event.content.token,
    );
const endOf = (event: SignalEvent, all: readonly SignalEvent[]): ClosedContent | undefined =>
  all
    .flatMap((one) => (one.kind === "closed" ? [one.content] : []))
    .find(
      (one) => "day" in event.content && one.day === event.content.day && one.token === event.content.token,
    );
const isLost = (event: SignalEvent, all: readonly SignalEvent[]) => endOf(event, all)?.status === "LOSS";

/** Every loss is told to have ended otherwise. */
const lossesAs = (told: (issue: IssuedContent) => Partial<ClosedContent>) =>
  retold((event, all) => {
    const issue = issueOf(event, all);
    if (event.kind === "closed" && event.content.status === "LOSS" && issue !== undefined) {
      const content = { ...event.content, inDoubt: false, ...told(issue) };
      const { exitPrice } = content;
      const pnl = exitPrice === null ? null : pnlPercent(issue.signal, issue.entry, exitPrice);
      return [{ ...event, content: { ...content, pnlPercent: pnl } }];
    }
    return [event];
  });

/** Every signal is told to have been issued otherwise. */
const issuesAs = (told: (issue: IssuedContent) => Partial<IssuedContent>) =>
  retold((event) =>
    event.kind === "issued" ? [{ ...event, content: { ...event.content, ...told(event.content) } }] : [event],
  );

const earlier = (time: string, ms: number) => new Date(Date.parse(time) - ms).toISOString();

/** All entries and levels this much lower or higher, to the side that gains; ends as they follow. */
const entriesBetterBy = (share: number) =>
  retold((event, all) => {
    const issue = issueOf(event, all);
    if (issue === undefined || issue.signal === "HOLD") return [event];
    const moved = (price: number) => price * (1 + (issue.signal === "BUY" ? -share : share));
    const movedOrNone = (price: number | null) => (price === null ? null : moved(price));
    if (event.kind === "issued") {
      const { entry, tp1, tp2, sl } = event.content;
      const levels = {
        entry: moved(entry),
        tp1: movedOrNone(tp1),
        tp2: movedOrNone(tp2),
        sl: movedOrNone(sl),
      };
      return [{ ...event, content: { ...event.content, ...levels } }];
    }
    if (event.kind === "closed" && event.content.exitPrice !== null) {
      const isLevel = event.content.status !== "EXPIRED";
      const exitPrice = isLevel ? moved(event.content.exitPrice) : event.content.exitPrice;
      const pnl = pnlPercent(issue.signal, moved(issue.entry), exitPrice);
      return [{ ...event, content: { ...event.content, exitPrice, pnlPercent: pnl } }];
    }
    if (event.kind !== "compared" || event.content.mirrorExitPrice === null) return [event];
    const { mirrorStatus, mirrorExitPrice } = event.content;
    const exit = mirrorStatus === "EXPIRED" ? mirrorExitPrice : moved(mirrorExitPrice);
    return [{ ...event, content: { ...event.content, mirrorExitPrice: exit } }];
  });

const promoted = {
  kind: "promoted" as const,
  content: {
    ...{ arm: "gpt-5-mini@signal-3", model: "gpt-5-mini", promptVersion: "signal-3" },
    ...{ previousModel: "claude-haiku-4.5", previousPromptVersion: "signal-2" },
    ...{ eValue: 25, days: 40, needed: 20, forced: null, at: "2026-01-13T07:00:00.000Z" },
  },
};
const withPromotion = () => ({
  ...forged([...honest.events, promoted]),
  readAt: honest.readAt,
  shadow: NO_SHADOWS,
});

/** Each fits together in itself: hashes, coins, views and statistics are those of what it tells. */
const FORGERIES: [name: string, record: () => Whole, found: RegExp][] = [
  [
    "losses told as wins",
    () => lossesAs(({ tp1 }) => ({ status: "WIN", exitPrice: tp1 })),
    /minutes say LOSS, not WIN/,
  ],
  [
    "losses told as expired without a price",
    () =>
      lossesAs(({ expiresAt }) => {
        return { status: "EXPIRED", exitPrice: null, decidedBy: null, closedAt: expiresAt, gapMinutes: 360 };
      }),
    /minutes say LOSS, not EXPIRED/,
  ],
  [
    "losses told as expired at the entry, in gaps",
    () =>
      lossesAs(({ expiresAt, entry }) => {
        return {
          status: "EXPIRED",
          exitPrice: entry,
          decidedBy: "price",
          closedAt: expiresAt,
          gapMinutes: 300,
        };
      }),
    /minutes say LOSS, not EXPIRED/,
  ],
  [
    "losses pending for ever",
    () =>
      retold((event, all) =>
        (event.kind === "closed" || event.kind === "compared") && isLost(event, all) ? [] : [event],
      ),
    /was never closed/,
  ],
  [
    "losses never compared",
    () => retold((event, all) => (event.kind === "compared" && isLost(event, all) ? [] : [event])),
    /was never compared with its controls/,
  ],
  [
    "days with a loss left out",
    () => {
      const lost = new Set(
        honest.events.flatMap((event) =>
          event.kind === "closed" && event.content.status === "LOSS" ? [event.content.day] : [],
        ),
      );
      return retold((event) => ("day" in event.content && lost.has(event.content.day) ? [] : [event]));
    },
    /Nothing is told of BTC 2026-01-11/,
  ],
  [
    "losers left out by token",
    () => retold((event, all) => (isLost(event, all) ? [] : [event])),
    /Nothing is told of/,
  ],
  [
    "the last days left out, since they lost",
    () => retold((event) => ("day" in event.content && event.content.day > "2026-01-10" ? [] : [event])),
    /Nothing is told of BTC 2026-01-11/,
  ],
  [
    "entries bettered by 0.3 %",
    () => entriesBetterBy(0.003),
    /it was entered at .* the market stood between/,
  ],
  [
    "prices six hours old",
    () => issuesAs(({ priceObservedAt }) => ({ priceObservedAt: earlier(priceObservedAt, 6 * HOUR) })),
    /its price was \d+ s old/,
  ],
  [
    "entries of six hours before told as of the issue",
    () => issuesAs(({ entry, signal }) => (signal === "HOLD" ? { entry: entry * 1.015 } : {})),
    /it was entered at 101\.\d+; .* the market stood between 100 and/,
  ],
  [
    "expiries bettered",
    () =>
      retold((event, all) => {
        const issue = issueOf(event, all);
        if (event.kind !== "closed" || event.content.status !== "EXPIRED" || issue?.tp1 === undefined)
          return [event];
        if (issue.tp1 === null) return [event];
        const pnl = pnlPercent(issue.signal, issue.entry, issue.tp1);
        return [{ ...event, content: { ...event.content, exitPrice: issue.tp1, pnlPercent: pnl } }];
      }),
    /by the market's minutes it ended at/,
  ],
  [
    "controls that lose",
    () =>
      retold((event, all) => {
        const issue = issueOf(event, all);
        if (event.kind !== "compared" || event.content.mirrorStatus !== "WIN" || !issue?.tp1) return [event];
        const content = { ...event.content, mirrorStatus: "LOSS" as const, mirrorExitPrice: issue.tp1 };
        return [{ ...event, content }];
      }),
    /the trade the other way round: the market's minutes say WIN, not LOSS/,
  ],
  [
    "buying and holding that loses",
    () =>
      retold((event) =>
        event.kind === "compared"
          ? [{ ...event, content: { ...event.content, holdExitPrice: 90 } }]
          : [event],
      ),
    /at its expiry the market stood at/,
  ],
  [
    "losses told as in doubt",
    () => lossesAs(() => ({ inDoubt: true })),
    /the order of its touches is told as unknown/,
  ],
  [
    "costs that fall in silence",
    () => issuesAs(({ day }) => (day > "2026-01-08" ? { costBps: 1 } : {})),
    /no event tells/,
  ],
  [
    "a model that changes in silence",
    () => issuesAs(({ day }) => (day > "2026-01-08" ? { model: "z" } : {})),
    /no event tells/,
  ],
  [
    "calibrated confidences that are invented",
    () => issuesAs(() => ({ calibratedConfidence: 90 })),
    /its confidence is calibrated as 90, its outcomes make it 50\.0/,
  ],
  ["a promotion whose e-value is invented", withPromotion, /was promoted with an e-value of 25 over 40 days/],
  [
    "a promotion without the shadows that it rests on",
    () => {
      const { shadow: _, ...record } = withPromotion();
      return record;
    },
    /rests on shadow signals, and none are shown/,
  ],
  [
    "a record set back again and again",
    () => {
      const told = (day: number) => ({
        kind: "restored" as const,
        content: { reason: "backup", at: `2026-01-1${day}T20:00:00.000Z` },
      });
      return { ...honest, ...forged([...honest.events, told(1), told(2), told(3)]) };
    },
    /set back 3 times/,
  ],
  [
    "statistics that are prettier than the events",
    () => {
      const record = structuredClone(honest);
      if (record.stats !== undefined) record.stats.ALL.edge.afterCosts.eValue = 21;
      return record;
    },
    /statistics shown for ALL do not follow from the events: edge.afterCosts.eValue/,
  ],
  [
    "parts that are prettier than the events",
    () => {
      const record = structuredClone(honest);
      const wild = record.cuts?.find(({ cut }) => cut === "wild");
      if (wild !== undefined) wild.wins += 1;
      return record;
    },
    /The part “wild” does not follow from the events/,
  ],
  [
    "losers told as of another model",
    () =>
      retold((event, all) =>
        event.kind === "issued" && isLost(event, all)
          ? [{ ...event, content: { ...event.content, model: "z" } }]
          : [event],
      ),
    /no event tells/,
  ],
];

test("an honest record holds, and it is told what was not looked at", async () => {
  expect(new Set(honest.signals.map((one) => one.status))).toEqual(new Set(["WIN", "LOSS", "EXPIRED"]));
  expect(forged(honest.events)).toMatchObject({ stats: honest.stats, cuts: honest.cuts });
  expect(honest.cuts?.map(({ cut, n, trades }) => [cut, n, trades])).toEqual([
    ["BUY", 8, 8],
    ["SELL", 4, 4],
    ["calm", 8, 8],
    ["usual", 4, 2],
    ["wild", 2, 2],
    [expect.stringMatching(/@signal-2$/), 14, 12],
  ]);
  const found = await verify(honest, {
    market,
    chain: anchored(honest),
    anchor: ADDRESS,
    head: honest.head?.hash,
  });
  expect(found.problems).toEqual([]);
  expect(found.notes).toEqual(["14 entries and outcomes are those of the market's minutes"]);
  expect(found.unchecked).toEqual([
    expect.stringMatching(/what came after 2026-01-13T08:00:/),
    expect.stringMatching(/how far the price had moved/),
    expect.stringMatching(/which model wrote a signal/),
  ]);
  const alone = await verify(honest, {});
  expect(alone.problems).toEqual([]);
  expect(alone.unchecked.join("\n")).toMatch(
    /against the market.*\n.*when all this was written.*\n.*whole chain/,
  );
});

test("there are twenty forged records and more", () => {
  expect(FORGERIES.length + BY_ANCHORS.length).toBeGreaterThanOrEqual(20);
});

describe("a record does not hold, however well it fits together, with", () => {
  test.each(FORGERIES)("%s", async (_name, record, found) => {
    expect(await problemsOf(record())).toMatch(found);
  });
});

/** What no market tells: only the time at which it was written down. */
const BY_ANCHORS: [name: string, record: () => Whole, chain: () => ChainReader, found: RegExp][] = [
  [
    "losses told as HOLD",
    () =>
      retold((event, all) => {
        if (!isLost(event, all) || event.kind === "compared")
          return event.kind === "compared" && isLost(event, all) ? [] : [event];
        const held = all.find(
          (one) =>
            one.kind === "compared" &&
            "day" in event.content &&
            one.content.day === event.content.day &&
            one.content.token === event.content.token,
        );
        const none = { signal: "HOLD" as const, tp1: null, tp2: null, sl: null, coin: null, momentum: null };
        if (event.kind === "issued") return [{ ...event, content: { ...event.content, ...none } }];
        if (event.kind !== "closed" || held?.kind !== "compared") return [event];
        const closedAt = issueOf(event, all)?.expiresAt ?? "";
        const { holdExitPrice: exitPrice } = held.content;
        const ended = { status: "EXPIRED" as const, exitPrice, pnlPercent: null, closedAt, inDoubt: false };
        return [{ ...event, content: { ...event.content, ...ended } }];
      }),
    () => anchored(honest),
    /history was rewritten/,
  ],
  [
    "a record begun anew",
    () => retold((event) => ("day" in event.content && event.content.day < "2026-01-09" ? [] : [event])),
    () => anchored(honest),
    /history was rewritten/,
  ],
  [
    "a record dated back",
    () => honest,
    () => anchored(honest, new Date("2026-06-01T00:00:00.000Z")),
    /may have been written when it was known/,
  ],
  [
    "signals written when the outcome was known",
    () => honest,
    () => anchored(honest, 6 * HOUR),
    /may have been written when it was known/,
  ],
  [
    "signals told later than they were anchored",
    () => honest,
    () => anchored(honest, -HOUR),
    /was anchored before that/,
  ],
  [
    "anchors that are not shown",
    () => ({ ...honest, anchors: [] }),
    () => anchored(honest),
    /nonce 0 .* the record does not show it/,
  ],
  [
    "no anchors at all where an account is named",
    () => honest,
    () => ({ ...anchored(honest), count: () => Promise.resolve(0) }),
    /were in no anchor before their outcome/,
  ],
];

describe("a record does not hold against its anchors with", () => {
  test.each(BY_ANCHORS)("%s", async (_name, record, chain, found) => {
    expect(await problemsOf(record(), { chain: chain(), anchor: ADDRESS })).toMatch(found);
  });
});

test("gaps that the market does not have are told", async () => {
  const record = lossesAs(() => ({ gapMinutes: 60 }));
  const { notes, problems } = await verify(record, { market });
  expect(problems).toEqual([]);
  expect(notes.join()).toMatch(/\d signals tell gaps of which the market has every minute now/);
});

test("a head that was published does not let the chain be rewritten", async () => {
  const rewritten = issuesAs(() => ({ reasoning: "I knew it." }));
  expect(await problemsOf(rewritten)).toBe("");
  expect(await problemsOf(rewritten, { head: honest.head?.hash })).toContain("were rewritten");
});

test("an honest return to a backup holds, and is told", async () => {
  const told = { kind: "restored" as const, content: { reason: "backup", at: "2026-01-12T08:30:00.000Z" } };
  const record = { ...honest, ...forged([...honest.events, told]) };
  const found = await verify(record, { market, chain: anchored(record), anchor: ADDRESS });
  expect(found.problems).toEqual([]);
  expect(found.notes.join()).toMatch(/was set back at 2026-01-12T08:30:00.000Z \(backup\)/);
});
