import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { Id } from "../../convex/_generated/dataModel";
import { freezeAccount } from "../../convex/accounts/freeze";
import { saveAccount } from "../../convex/identity/model";
import { getErrorData } from "../../convex/lib/errors";
import { DAY, MINUTE } from "../../convex/lib/time";
import { getPaperStart } from "../../convex/wallets/book";
import { random, type Random } from "../../scripts/standins/random";
import { createApp, START, test, type App } from "../support/app";
import { closeApp, identityOf } from "../support/world";
import { RUNS } from "./harness";

/**
 * Sequences of live and paper orders, switches, freezes, claims, and what dies in between: nothing on paper is ever signed,
 * each book is its start and its orders, the chain has the live ones alone, and each mode has caps of its own.
 */

const SEQUENCES = 50 * RUNS;
/** Sequences that share an application: its library looks at every row. */
const BATCH = 10;
/** Of a free id, and of an owner. */
const [FREE_USD, OWNERS_USD] = [500, 2_000];
const ETHER_PRICE = "3000000000";
const FEE = 10n ** 12n;

/** What somebody who writes down everything knows of one account. */
type Ledger = {
  mode: true | undefined;
  /** From when it is live (epoch ms), once that was asked for and not cancelled. */
  liveFrom: number | undefined;
  book: Record<string, bigint>;
  /** What was signed, by its order. */
  signed: Map<Id<"orders">, string>;
  opened: { id: Id<"orders">; mode: true | undefined; at: number; usd: number }[];
};

const startBook = (): Record<string, bigint> => ({ ...getPaperStart() });

async function playSequence(app: App, chance: Random, name: string): Promise<void> {
  const { accounts, wallets } = internal;
  const userId = `owner-${name}-with-a-long-id`;
  const walletId = `wal_${name}`;
  const wallet = { walletId, userId, kind: "custody", address: `0x${name.padStart(40, "0")}` } as const;
  await app.t.run((ctx) => ctx.db.insert("wallets", wallet));
  const ledger: Ledger = { mode: undefined, liveFrom: undefined, book: {}, signed: new Map(), opened: [] };
  const owner = app.t.withIdentity(identityOf(name));
  let caller: Pick<typeof owner, "mutation"> = app.t;
  let nonce = 0;
  const read = (id: Id<"orders">) => app.t.run((ctx) => ctx.db.get("orders", id));
  const leftUsd = async () => {
    let left = caller === owner ? OWNERS_USD : FREE_USD;
    const failed = new Set(
      (await app.rows("orders")).filter(({ state }) => state === "failed").map(({ _id }) => _id),
    );
    for (const { id, mode, at, usd } of ledger.opened)
      if (mode === ledger.mode && at > Date.now() - DAY && !failed.has(id)) left -= usd;
    return left;
  };

  const place = async () => {
    const usd = chance.whole(1, 300);
    const amount = String(usd * 1_000_000);
    const request = { kind: "send", token: "USDC", toAddress: `0x${"1".repeat(40)}`, amount } as const;
    const order = { userId, walletId, request, value: amount, etherPrice: ETHER_PRICE, address: null };
    const left = await leftUsd();
    try {
      const { orderId } = await caller.mutation(wallets.orders.placing.placeOrder, order);
      expect(usd).toBeLessThanOrEqual(left);
      expect((await read(orderId))?.paper).toBe(ledger.mode);
      ledger.opened.push({ id: orderId, mode: ledger.mode, at: Date.now(), usd });
    } catch (error) {
      // Fees count as well: there may be a dollar less.
      if (getErrorData(error)?.message.includes("limit of") === true) expect(usd).toBeGreaterThan(left - 1);
      else expect(getErrorData(error)?.code).toBe("paused");
    }
  };

  /** Carries an order on, in the right way or in the wrong one, or dies before. */
  const carry = async () => {
    const one = ledger.opened.length === 0 ? null : chance.pick(ledger.opened);
    if (one === null) return;
    const orderId = one.id;
    const bytes = { nonce, kind: "call", raw: `0x${name}${nonce}`, hash: `0x${name}${nonce}` } as const;
    const store = () =>
      app.t.mutation(wallets.orders.steps.storeSigned, { orderId, signed: bytes, fee: String(FEE) });
    const settle = () =>
      app.t.mutation(wallets.orders.unsignedSteps.settleOnPaper, {
        orderId,
        fee: String(FEE),
        startValues: {},
      });
    const isWrong = chance.between(0, 1) < 0.3;
    const before = await read(orderId);
    if ((one.mode === true) === isWrong) {
      const isStored = await store().catch(() => false);
      if (isStored) {
        expect([one.mode, ledger.mode]).toEqual([undefined, undefined]);
        ledger.signed.set(orderId, bytes.raw);
        nonce++;
      }
    } else await settle().catch(() => null);
    const row = await read(orderId);
    if (row?.paper === true && before?.state === "prepared" && row.state === "confirmed") {
      expect([one.mode, ledger.mode]).toEqual([true, true]);
      ledger.book.USDC = (ledger.book.USDC ?? 0n) - BigInt(one.usd) * 1_000_000n;
      ledger.book.ETH = (ledger.book.ETH ?? 0n) - FEE;
    }
    const [hash] = row?.tries ?? [];
    if (row?.state === "signed" && hash !== undefined && chance.between(0, 1) < 0.7) {
      const step = { kind: "mined", hash: hash.hash, succeeded: true, block: 1 } as const;
      await app.t.mutation(wallets.orders.steps.advanceOrder, { orderId, step });
    }
  };

  const isOnPaper = async () =>
    (await app.rows("accounts")).some((one) => one.userId === userId && one.paper !== undefined);

  const switchMode = async () => {
    const wish = chance.pick([{ on: true }, { on: false }, { on: true, startAgain: true }, { on: false }]);
    const change = { userId, startAgain: false, isEmpty: true, startValues: {}, ...wish };
    const isDone = await caller.mutation(accounts.paper.changePaperMode, change).then(
      () => true,
      () => false,
    );
    const isOn = await isOnPaper();
    // On at once, unless something was signed for a free id; never off at once.
    expect(isOn).toBe(ledger.mode === true || (isDone && wish.on));
    if (isDone && wish.on && (ledger.mode === undefined || wish.startAgain === true))
      ledger.book = startBook();
    if (isOn) ledger.mode = true;
    if (isDone && isOn)
      ledger.liveFrom = wish.on ? undefined : (ledger.liveFrom ?? Date.now() + 120 * MINUTE);
  };

  const steps = [
    ...[place, place, place, carry, carry, carry, carry, switchMode],
    async () => {
      await owner.mutation(accounts.claims.claimAccount, { userId });
      const isTheirs = (await app.rows("accounts")).some(
        (one) => one.userId === userId && one.login !== undefined,
      );
      if (isTheirs && caller !== owner) ledger.liveFrom = undefined;
      if (isTheirs) caller = owner;
    },
    async () => {
      await app.t.run((ctx) => freezeAccount(ctx, userId, "login"));
      ledger.liveFrom = undefined;
    },
    () => app.t.run((ctx) => saveAccount(ctx, userId, { frozenAt: undefined })),
    async () => {
      vi.setSystemTime(Date.now() + chance.pick([1, 3, 121]) * MINUTE);
      await app.t.mutation(wallets.orders.steps.takeUpDue, {});
      await app.t.mutation(accounts.paper.makeLive, { userId });
      if (ledger.liveFrom !== undefined && ledger.liveFrom <= Date.now()) {
        ledger.mode = undefined;
        ledger.liveFrom = undefined;
      }
      expect(await isOnPaper()).toBe(ledger.mode === true);
    },
  ];
  for (let step = 0; step < 12; step++) await chance.pick(steps)();
  await expectLedger(app, userId, walletId, ledger);
}

async function expectLedger(app: App, userId: string, walletId: string, ledger: Ledger): Promise<void> {
  const rows = (await app.rows("orders")).filter((row) => row.userId === userId);
  const onPaper = rows.filter(({ paper }) => paper === true);
  expect(onPaper.flatMap(({ tries, nonce }) => [...tries, ...(nonce === undefined ? [] : [nonce])])).toEqual(
    [],
  );
  const signed = rows.flatMap(({ _id, tries }) => tries.map(({ raw }) => [_id, raw]));
  expect(new Map(signed.map(([id, raw]) => [id, raw]))).toEqual(ledger.signed);
  expect(signed).toHaveLength(ledger.signed.size);
  const book = (await app.rows("wallets")).find((one) => one.walletId === walletId)?.book;
  if (ledger.mode !== true) return;
  const held = Object.fromEntries(
    Object.entries(book?.past.held ?? {}).map(([token, raw]) => [token, BigInt(raw)]),
  );
  expect(held).toEqual(ledger.book);
}

test("live and paper orders never touch each other, whatever comes between", async () => {
  for (let first = 0; first < SEQUENCES; first += BATCH) {
    const app = createApp({ env: { UNOWNED_DAILY_USD: String(FREE_USD) } });
    vi.setSystemTime(START);
    for (let seed = first; seed < Math.min(first + BATCH, SEQUENCES); seed++) {
      try {
        await playSequence(app, random("paper", seed), seed.toString(16).padStart(8, "0"));
      } catch (error) {
        throw new Error(`Sequence ${seed}`, { cause: error });
      }
    }
    closeApp();
  }
});
