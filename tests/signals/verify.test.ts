import { stringToHex } from "viem";
import { beforeAll, expect, test } from "vitest";
import { linkEvent, type Statement } from "../../convex/signals/chain";
import type { Head } from "../../convex/signals/tables";
import type { Market } from "../../scripts/verify/outside";
import { readRecord, type SignalRecord } from "../../scripts/verify/record";
import { main, verify } from "../../scripts/verify/signals";
import { closeApp, createApp, type App } from "../support/app";
import { DAY, decided, EIGHT, hold, HOUR, issued, MINUTE, sell, track, wait } from "./support";

/** The verifier holds an honest record, and finds each way of telling it otherwise. */

let honest: SignalRecord;
let market: Market;

/** Four days: a BUY won by BTC and lost by ETH, a SELL that expired, none, a HOLD still open. */
beforeAll(async () => {
  const app = createApp({ now: EIGHT });
  await decided(app);
  await wait(app, DAY - 30 * MINUTE);
  await issued(app, sell);
  await wait(app, 7 * HOUR);
  await track(app);
  await wait(app, 17 * HOUR);
  await issued(app, "Nothing today.");
  await wait(app, DAY);
  await issued(app, hold);
  honest = await readRecord(async (path) => (await app.get(path)).body);
  const minutes: Map<string, Awaited<ReturnType<Market>>> = minutesOf(app);
  market = (token, from, to) =>
    Promise.resolve((minutes.get(token) ?? []).filter(({ openedAt }) => openedAt >= from && openedAt <= to));
  closeApp();
});

/** The simulated market's minutes of the signals' lives. */
function minutesOf(app: App) {
  const price = (token: string, time: number) => app.standins.market.coin(token, time).price;
  const lives = [0, 1, 2, 3].flatMap((day) =>
    Array.from({ length: 7 * 60 + 5 }, (_, minute) => EIGHT + day * DAY + (minute - 5) * MINUTE),
  );
  const of = (token: string) =>
    lives.map((openedAt) => {
      const [open, close] = [price(token, openedAt), price(token, openedAt + MINUTE)];
      return { openedAt, open, close, high: Math.max(open, close), low: Math.min(open, close) };
    });
  return new Map(["BTC", "ETH"].map((token) => [token, of(token)]));
}

test("an honest record holds, and the verifier says what it could not check", async () => {
  expect(honest.events.map(({ kind }) => kind)).toEqual([
    ...["issued", "issued", "closed", "closed", "issued", "issued", "closed", "closed"],
    ...["none", "none", "issued", "issued"],
  ]);
  expect(await verify(honest, { head: honest.head, market })).toEqual({
    problems: [],
    notes: [],
    unchecked: ["since when the events are fixed: --rpc URL --anchor ADDRESS"],
  });
  expect((await verify(honest)).unchecked).toHaveLength(3);
});

test("--anchor without a node is an error, and so is a node without an anchor", async () => {
  await expect(main(["http://127.0.0.1:9", "--anchor", "0x1"])).rejects.toThrow("go together");
  await expect(main(["http://127.0.0.1:9", "--rpc", "http://127.0.0.1:9"])).rejects.toThrow("go together");
});

type Content = Record<string, string | number | boolean | null>;
type Told = { kind: Statement["kind"]; content: Content };

/** The record with its events told otherwise and hashed anew, and every figure that follows from them left as it was. */
function retold(change: (events: Told[]) => Told[] | void): SignalRecord {
  const copy = structuredClone(honest);
  const before = copy.events.map(({ kind, content }): Told => ({ kind, content: { ...content } as Content }));
  const events: SignalRecord["events"] = [];
  let head: Head | null = null;
  for (const { kind, content } of change(before) ?? before) {
    const { token, day } = content;
    if ((token !== "BTC" && token !== "ETH") || typeof day !== "string") throw new Error("It is of a day");
    const {
      content: json,
      token: _token,
      day: _day,
      ...links
    } = linkEvent(head, { kind, token, day, content });
    events.push({ ...links, content: JSON.parse(json), anchors: [] });
    head = { sequence: links.sequence, hash: links.hash };
  }
  return { ...copy, events, head: head?.hash };
}

const at = (events: Told[], index: number): Content => {
  const one = events[index];
  if (one === undefined) throw new Error("There is such an event");
  return one.content;
};
const edited = (change: (record: SignalRecord) => void) => {
  const copy = structuredClone(honest);
  change(copy);
  return copy;
};
const event = (record: SignalRecord, index: number) => {
  const one = record.events[index];
  if (one === undefined) throw new Error("There is such an event");
  return one;
};

/** A field of an event told otherwise. */
const told = (index: number, change: Content) => retold((all) => void Object.assign(at(all, index), change));

const FORGERIES: Record<string, () => SignalRecord> = {
  "a content that was changed": () =>
    edited((all) => Object.assign(event(all, 0).content, { confidence: 99 })),
  "an event that was removed": () => edited((all) => void all.events.splice(3, 1)),
  "an event that was told twice": () => edited((all) => void all.events.splice(3, 0, event(all, 3))),
  "two events in another order": () =>
    edited((all) => void all.events.splice(2, 2, event(all, 3), event(all, 2))),
  "a link to another event": () => edited((all) => void (event(all, 4).previousHash = "a".repeat(64))),
  "a hash that is not of its links": () => edited((all) => void (event(all, 4).hash = "a".repeat(64))),
  "a chain cut at its end": () => edited((all) => void all.events.pop()),
  "a loss that is told as won": () => told(3, { status: "WIN", exitPrice: 101, pnlPercent: 1 }),
  "a loss that is told as expired": () => told(3, { status: "EXPIRED", exitPrice: 100.5, pnlPercent: 0.5 }),
  "a result that does not follow from its prices": () => told(2, { pnlPercent: 2 }),
  "a loss that is left out": () => retold((all) => all.filter((_, index) => index !== 3)),
  "a day that is left out": () => retold((all) => all.filter(({ kind }) => kind !== "none")),
  "an entry better than the market": () => told(0, { entry: 99.7 }),
  "a target within the costs": () => told(0, { tp1: 100.1 }),
  "a reward that is not worth its risk": () => told(0, { sl: 95 }),
  "a signal below its break-even": () => told(0, { confidence: 55 }),
  "a longer life": () => told(4, { expiresAt: "2026-01-06T20:00:00.000Z" }),
  "a gap that excuses a loss": () => told(3, { gapMinutes: 30 }),
  "a signal that is no longer shown": () => edited((all) => void all.signals.splice(1, 1)),
  "a signal that nobody issued": () =>
    edited((all) => void all.signals.push({ ...all.signals[0], id: "BTC-2026-01-01" })),
  "a signal that is shown otherwise": () =>
    edited((all) => void Object.assign(all.signals[1] ?? {}, { sl: 97 })),
  "figures of another record": () => edited((all) => void (all.stats[""] = all.stats["BTC"])),
  "a head that cards did not publish": () => edited((all) => void (all.head = "b".repeat(64))),
};

test.each(Object.entries(FORGERIES))("%s is found", async (_name, record) => {
  expect((await verify(record(), { market })).problems).not.toEqual([]);
});

test("a chain told anew, whose figures all follow from it, is found by the head of a card", async () => {
  const reasoning = "I knew it.";
  const record = told(0, { reasoning });
  expect((await verify(record, { market })).problems.join()).toContain(".reasoning is shown as Up.");
  record.signals = record.signals.map((one, index) => (index === 0 ? { ...one, reasoning } : one));
  expect((await verify(record, { market })).problems).toEqual([]);
  const { problems } = await verify(record, { market, head: honest.head });
  expect(problems.join()).toContain("history was rewritten");
});

test("anchors of a rewritten chain, and hidden ones, are found", async () => {
  const { sequence, hash } = event(honest, honest.events.length - 1);
  const input = (head: string) => stringToHex(`signal record ${sequence} ${head}`);
  const check = async (held: string, txHashes: string[]) => {
    const record = edited(
      (all) => void (event(all, sequence - 1).anchors = [{ address: ACCOUNT, txHashes }]),
    );
    const mined = { from: ACCOUNT, nonce: 0, input: input(held), minedAt: Date.now() };
    const chain = { count: () => Promise.resolve(1), mined: () => Promise.resolve(mined) };
    return (await verify(record, { anchor: { address: ACCOUNT, chain } })).problems;
  };
  expect(await check(hash, ["0x1"])).toEqual([]);
  expect((await check("c".repeat(64), ["0x1"])).join()).toContain("history was rewritten");
  expect((await check(hash, [])).join()).toContain("has sent 1 transactions, and the record shows 0");
});

const ACCOUNT = `0x${"a".repeat(40)}` as const;
