import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { expect } from "vitest";
import * as z from "zod";
import { api, internal } from "../../../convex/_generated/api";
import { GENESIS, linksAfter } from "../../../convex/signals/record/chain";
import { chainHead, personEvent, type ChainHead } from "../../../convex/signals/record/events";
import { DEV_MNEMONIC } from "../../../scripts/chain/addresses";
import { anchorFindings, chainReader } from "../../../scripts/verifySignals";
import { chain, test, useChain } from "../../support/chain/chain";
import { createWalletApp, type WalletApp } from "../../support/chain/walletApp";
import { browserOf } from "../../web/support";
import { anchorsShape, rechained, recordOf } from "./record";
import { buy } from "../support";

/** Anchors on a chain: sent once a day by the machine, read back by whoever checks the record. */

useChain();

const accountOf = (addressIndex: number) => {
  const { address, getHdKey } = mnemonicToAccount(DEV_MNEMONIC, { addressIndex });
  return { address, key: toHex(getHdKey().privateKey ?? new Uint8Array()) };
};
const account = accountOf(7);
const { key } = account;

const circumstances = {
  ...{ token: "BTC" as const, day: "2026-01-05", model: null, promptVersion: "signal-2" },
  ...{ gapMinutes: 0, reason: "refused" as const, at: "2026-01-05T08:00:00.000Z" },
};

/** Adds days without a signal to the record. */
async function lengthen(app: WalletApp, events: number, first = "2026-01-05"): Promise<void> {
  await app.t.run(async ({ db }) => {
    const last = await db.query("signalEvents").withIndex("by_sequence").order("desc").first();
    let head: ChainHead | null = last?.event ?? null;
    for (let n = 0; n < events; n++) {
      const sequence = (head?.sequence ?? 0) + 1;
      const day = new Date(Date.parse(first) + sequence * 86_400_000).toISOString().slice(0, 10);
      const statement = {
        kind: "refused" as const,
        content: { ...circumstances, day, at: `${day}T08:00:00.000Z`, refusedDays: sequence },
      };
      const links = linksAfter(head, statement);
      await db.insert("signalEvents", { desk: "daily", event: { ...links, ...statement } });
      head = links;
    }
  });
}

/** Adds a signal to the record, as one that was just issued. */
async function addSignal(app: WalletApp): Promise<void> {
  await app.t.run(async ({ db }) => {
    const last = await db.query("signalEvents").withIndex("by_sequence").order("desc").first();
    const at = new Date().toISOString();
    const { reason: _reason, at: _at, ...about } = circumstances;
    const statement = {
      kind: "issued" as const,
      content: {
        ...{ ...about, ...buy, signal: "BUY" as const, model: "m", refusedDays: 5, timeframe: "1h" as const },
        ...{ calibratedConfidence: 50, calibrationMethod: "shrinkage" as const, calibrationOutcomes: 0 },
        ...{ costBps: 15, coin: "BUY" as const, momentum: null, generatedAt: at, expiresAt: at },
        ...{ priceSource: "coinbase", priceObservedAt: at },
      },
    };
    const links = linksAfter(last?.event ?? null, statement);
    await db.insert("signalEvents", { desk: "daily", event: { ...links, ...statement } });
  });
}

async function anchor(app: WalletApp): Promise<void> {
  await app.t.mutation(internal.signals.record.anchors.anchorDue, {});
  await app.settle();
}

const told = async (app: WalletApp) => {
  const { body } = await app.get("/signals/anchors");
  return z.object({ addresses: z.array(z.string()), anchors: anchorsShape.shape.anchors }).parse(body);
};

test("the head is anchored once a day, and a record that was rewritten and rehashed since does not hold", async () => {
  const app = createWalletApp(chain, { env: { ANCHOR_PRIVATE_KEY: key } });
  await anchor(app);
  expect(await told(app)).toEqual({ addresses: [], anchors: [] });
  await lengthen(app, 3);
  await anchor(app);
  await lengthen(app, 2);
  // Another tick of the same day.
  await anchor(app);
  const { addresses, anchors } = await told(app);
  expect(addresses).toEqual([account.address]);
  expect(anchors).toHaveLength(1);
  const record = await recordOf(app);
  const third = record.events[2];
  expect(anchors[0]).toMatchObject({ sequence: 3, hash: third?.hash, nonce: 0 });

  const reader = await chainReader(chain.url);
  const mined = await reader.mined(anchors[0]?.txHashes[0] ?? "");
  const anchored = Buffer.from(mined?.data.slice(2) ?? "", "hex").toString();
  expect(anchored).toBe(`signal record 3 ${third?.hash ?? ""}`);
  const shown = { ...record, anchors: [{ address: account.address, anchors }] };
  const found = await anchorFindings(shown, addresses, reader);
  expect([found.problems, found.notes, found.fixed.map(({ sequence }) => sequence)]).toEqual([[], [], [3]]);

  // The same days told otherwise, with right hashes.
  const forger = createWalletApp(chain);
  await lengthen(forger, 5, "2025-12-24");
  const forged = await recordOf(forger);
  expect(forged.events[0]?.previousHash).toBe(GENESIS);
  const rewritten = await anchorFindings({ ...shown, ...forged }, addresses, reader);
  expect(rewritten.problems.join()).toContain("history was rewritten");
  // Not showing the anchor, or any, does not help: the chain knows what its account has sent.
  for (const anchors of [[], [{ address: account.address, anchors: [] }]]) {
    const { problems } = await anchorFindings({ ...forged, anchors }, addresses, reader);
    expect(problems[0]).toBe(
      `The transaction with nonce 0 of ${account.address} was mined, and the record does not show it`,
    );
    expect(problems[1]).toContain("history was rewritten");
  }
});

test("late and dropped anchors are no alarm, one that is not shown is", async () => {
  const empty = { events: [], head: null, signals: [] };
  const anchorOf = (nonce: number, txHash: string) => ({ nonce, txHashes: [txHash] });
  const nothing = () => Promise.resolve(null);
  const reader = { mined: nothing, sent: nothing, count: () => Promise.resolve(0) };
  const both = [{ address: account.address, anchors: [anchorOf(0, "0x1"), anchorOf(1, "0x2")] }];
  const addresses = [account.address];
  expect(await anchorFindings({ ...empty, anchors: both }, addresses, reader)).toMatchObject({
    problems: [],
    notes: [expect.stringContaining("2 anchors"), expect.stringContaining("nothing yet")],
    fixed: [],
  });
  const cut = [{ address: account.address, anchors: [anchorOf(0, "0x1")] }];
  const ahead = { ...reader, count: () => Promise.resolve(2) };
  expect((await anchorFindings({ ...empty, anchors: cut }, addresses, ahead)).problems).toEqual(
    [0, 1].map(
      (nonce) =>
        `The transaction with nonce ${nonce} of ${account.address} was mined, and the record does not show it`,
    ),
  );
});

test("a signal is anchored when it is issued, whatever was anchored that day; what else is told waits a day", async () => {
  const app = createWalletApp(chain, { env: { ANCHOR_PRIVATE_KEY: key } });
  const sequences = async () => (await told(app)).anchors.map(({ sequence }) => sequence);
  await lengthen(app, 1);
  await anchor(app);
  await addSignal(app);
  await anchor(app);
  expect(await sequences()).toEqual([1, 2]);
  await anchor(app);
  await lengthen(app, 1);
  await anchor(app);
  expect(await sequences()).toEqual([1, 2]);
});

test("what people proposed is anchored with the head of their chain, and cannot be told otherwise since", async () => {
  const other = accountOf(9);
  const app = createWalletApp(chain, { env: { ANCHOR_PRIVATE_KEY: other.key } });
  const alice = browserOf(app, "alice");
  await alice.mutation(api.users.profile.signIn, {});
  const { arm } = await alice.mutation(api.signals.people.app.make, { name: "night-owl" });
  const { price: priceUsd } = app.standins.market.coin("BTC");
  const wish = { token: "BTC", signal: "BUY", tp1: 1.02 * priceUsd, sl: 0.98 * priceUsd } as const;
  await alice.action(api.signals.people.desk.propose, { ...wish, arm, confidence: 60 });
  await anchor(app);
  const { anchors } = await told(app);
  const record = await recordOf(app);
  expect(record.events.map(({ kind }) => kind)).toEqual(["people"]);
  expect(anchors.map(({ sequence }) => sequence)).toEqual([1]);

  const proof = z.object({ events: z.array(personEvent), head: chainHead });
  const people = { ...proof.parse((await app.get("/records/proof")).body), stats: {} };
  const reader = await chainReader(chain.url);
  const shown = { ...record, people, anchors: [{ address: other.address, anchors }] };
  const found = await anchorFindings(shown, [other.address], reader);
  expect([found.problems, found.fixed.map(({ sequence }) => sequence)]).toEqual([[], [1]]);

  // Told otherwise, with right hashes, and the record's event made to fit.
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const retold = {
    ...people,
    ...rechained(
      people.events.map((one) =>
        one.kind === "issued" ? { ...one, content: { ...one.content, generatedAt: later } } : one,
      ),
    ),
  };
  const untouched = await anchorFindings({ ...shown, people: retold }, [other.address], reader);
  expect(untouched.problems.join()).toMatch(/issued arm-.*tells .* and was anchored before that/);
  const fitting = rechained(
    record.events.map((one) =>
      one.kind === "people" && retold.head !== null
        ? { ...one, content: { ...one.content, peopleHash: retold.head.hash } }
        : one,
    ),
  );
  const rewritten = await anchorFindings({ ...shown, ...fitting, people: retold }, [other.address], reader);
  expect(rewritten.problems.join()).toContain("history was rewritten");
});

test("a deployment that was set back says so before it anchors again", async () => {
  const other = accountOf(8);
  const app = createWalletApp(chain, { env: { ANCHOR_PRIVATE_KEY: other.key } });
  await lengthen(app, 2);
  await anchor(app);
  await addSignal(app);
  await anchor(app);
  await app.settle();
  // The backup is from before the last signal.
  await app.t.run(async ({ db }) => {
    const [event] = await db.query("signalEvents").order("desc").take(1);
    const [transaction] = await db.query("orders").order("desc").take(1);
    if (event !== undefined) await db.delete("signalEvents", event._id);
    if (transaction !== undefined) await db.delete("orders", transaction._id);
    const [wallet] = await db.query("wallets").collect();
    if (wallet !== undefined)
      await db.patch("wallets", wallet._id, { nextNonce: (wallet.nextNonce ?? 1) - 1 });
  });
  await addSignal(app);
  await anchor(app);
  await app.settle();
  const { events } = await recordOf(app);
  expect(events.map(({ kind }) => kind)).toEqual(["refused", "refused", "issued", "restored"]);
  const { anchors } = await told(app);
  expect(anchors.map(({ sequence }) => sequence)).toEqual([2, 4]);
  // An honest return to a backup is no forgery. Without its event, it would be one.
  const record = { ...(await recordOf(app)), anchors: [{ address: other.address, anchors }] };
  const reader = await chainReader(chain.url);
  const found = await anchorFindings(record, [other.address], reader);
  expect([found.problems, found.fixed.map(({ sequence }) => sequence)]).toEqual([[], [2, 4]]);
  expect(found.notes.join()).toMatch(/was set back .*: 1 anchors are of events that it no longer has/);
  const untold = { ...record, events: record.events.filter(({ kind }) => kind !== "restored") };
  const problems = (await anchorFindings(untold, [other.address], reader)).problems.join();
  expect(problems).toContain("nonce 1");
  expect(problems).toContain("history was rewritten");
  await addSignal(app);
  await anchor(app);
  expect((await recordOf(app)).events.filter(({ kind }) => kind === "restored")).toHaveLength(1);
});
