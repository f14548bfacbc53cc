import fc from "fast-check";
import { expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import type { Doc, Id } from "../../convex/_generated/dataModel";
import { bind } from "../../convex/account/ownership/binding";
import { dropLink, endFreeze, freezeAccount, linkOwner, noteLink } from "../../convex/messenger/owners";
import { approvingLink, linkOf } from "../../convex/messenger/model";
import { levelOf, levelRowOf, limitsIn } from "../../convex/users/levels";
import { byWalletId } from "../../convex/wallets/model";
import { decide } from "../../convex/wallets/orders/approvals";
import { createBotApp } from "../bot/support";
import type { App } from "../support/app";
import { identityOf } from "../support/world";

/**
 * The nine invariants of who moves an owner's money, held against the real mutations under any sequence of orders, taps of
 * anybody, expiries, changes of rules, freezes, revocations, links, claims, imports of backups and races. Nothing here asks the
 * code what it allows: what it has written is counted.
 */

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const DAY = 24 * HOUR;
const USD = 1_000_000;
const OWNER_ACCOUNTS = ["42", "43"] as const;
const LISTED = `0x${"1".repeat(40)}`;
const STRANGE = `0x${"2".repeat(40)}`;

const usd = fc.constantFrom(1, 5, 20, 20, 45, 60, 99, 120, 400, 999, 1_001, 2_500);
const toAddress = fc.constantFrom(LISTED, LISTED, LISTED, STRANGE);
const which = fc.constantFrom(0, 0, 0, 1, 2);

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("ask" as const), usd, toAddress }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("chat" as const), usd, toAddress }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("tap" as const),
      which,
      from: fc.constantFrom("42", "42", "42", "43", "666"),
      isYes: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("order" as const),
      by: fc.constantFrom("owner" as const, "key" as const, "id" as const, "stranger" as const),
      usd,
      toAddress,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("sign" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fail" as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(SECOND, SECOND, 5 * MINUTE, 11 * MINUTE, HOUR, 2 * HOUR, 13 * HOUR, 25 * HOUR),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("freeze" as const, "unfreeze" as const, "unfreeze" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("rules" as const),
      level: fc.constantFrom("guarded" as const, "guarded" as const, "guarded" as const, "closed" as const),
      mostUsd: fc.constantFrom("50", "1000", "5000"),
      dailyUsd: fc.constantFrom("100", "2000", "9000"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("revoke" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("relink" as const), to: fc.constantFrom(...OWNER_ACCOUNTS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("backUp" as const, "putBack" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("claim" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What has to come together to say anything, and seldom does by chance. */
const tap = (isYes: boolean) => fc.constant({ do: "tap" as const, which: 0, from: "42" as const, isYes });
const the = <Name extends string>(name: Name) => fc.constant({ do: name });
const chat = fc.record({ do: fc.constant("chat" as const), usd: fc.constantFrom(20, 45, 60), toAddress });
const ask = fc.record({ do: fc.constant("ask" as const), usd, toAddress });
const episode = fc.oneof(
  fc.tuple(ask, tap(true)),
  fc.tuple(ask, the("backUp"), tap(false), the("putBack"), tap(true)),
  fc.tuple(ask, the("backUp"), tap(true), the("putBack"), tap(true)),
  fc.tuple(chat, tap(true), chat, tap(true), chat, tap(true)),
);
const sequence = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.tuple(step) }, { weight: 1, arbitrary: episode }), {
    minLength: 15,
    maxLength: 40,
  })
  .map((parts): Step[] => parts.flat());

/** In any 24 hours that end with one of them. */
function mostIn24Hours(moved: readonly { at: number; usd: number }[]): number {
  const sums = moved.map(({ at: end }) =>
    moved.filter(({ at }) => at <= end && at > end - DAY).reduce((sum, one) => sum + one.usd, 0),
  );
  return Math.max(0, ...sums);
}

/** One account, and what was written about it so far. */
async function accountOf(app: App, name: string, isOwned: boolean) {
  const subject = `person-${name}`;
  const userId = `kq3vX9tLw2bTz7RfYh5MnP-${name}`;
  const walletId = `wal_${name}`;
  const key = `mk_${name}_key`;
  const now = Date.now();
  await app.t.run(async (ctx) => {
    await ctx.db.insert("wallets", {
      ...{ walletId, userId, kind: "custody", address: `0x${"9".repeat(40)}`, createdAt: now },
      // Somebody drives it: nothing is scheduled, and what is signed is signed by the test.
      ...{ driver: 1, leaseUntil: now + 1_000 * DAY },
    });
    await ctx.db.insert("walletKeys", { walletId, userId, sealedKey: "sealed", keyId: "k" });
    await ctx.db.insert("socialRecipients", { userId, address: LISTED, addedAt: 0, countsFrom: 0 });
    if (!isOwned) return;
    await own(ctx);
    await linkOwner(ctx, userId, `${name}42`);
  });
  async function own(ctx: Parameters<typeof linkOwner>[0]) {
    await bind(ctx, identityOf(subject).tokenIdentifier, userId, [
      "chat",
      "bot",
      "webhooks",
      "alerts",
      "shifts",
    ]);
  }
  const made = { own, key, userId, walletId, subject, browser: app.t.withIdentity(identityOf(subject)) };
  return { ...made, account: (short: string) => `${name}${short}` };
}

type Moved = { at: number; usd: number; by: string; isListed: boolean; id: Id<"transactions"> };

/** To a recipient that its owner neither listed nor tapped for. */
function isUnlisted({ by, isListed }: Moved): boolean {
  return !isListed && (by === "owner" || by === "key");
}

/** What counts against which limit. */
const COUNTED = [
  ["moved", () => true],
  ["unlisted", isUnlisted],
  ["byChat", ({ by }: Moved) => by === "chat"],
  ["left", ({ by }: Moved) => by === "unclaimed"],
] as const;

async function play(app: App, name: string, isOwned: boolean, steps: readonly Step[], racers: number) {
  const one = await accountOf(app, name, isOwned);
  const { userId, walletId } = one;
  const { t } = app;
  let isClaimed = isOwned;
  let keyId: Id<"apiKeys"> | null = null;
  let saved: Doc<"approvals">[] = [];
  const approvals: { id: Id<"approvals">; begun: "chat" | undefined }[] = [];
  const moved: Moved[] = [];
  const usedUp = new Set<string>();
  const signed = new Set<string>();
  // The rules, as they are to be.
  let rules = { level: "guarded", most: 1_000, daily: 2_000 };
  /** From when the stranger's address counts among the owner's recipients. */
  let strangeFrom = Infinity;
  let next: { from: number; rules: typeof rules } | null = null;
  let isFrozen = false;
  let orders = 0;
  /** What was permitted before the owner's word has changed. */
  const voided = new Set<Id<"permissions">>();
  const voidAll = () => was.permissions.forEach(({ _id }) => voided.add(_id));

  if (isOwned) await makeKey();
  async function makeKey() {
    const made = await one.browser
      .mutation(api.account.keys.create, { name: "bot", scopes: ["withdraw", "trade"], dailyUsd: "150" })
      .catch(() => null);
    if (made === null) return;
    await t.run((ctx) => ctx.db.patch("apiKeys", made.keyId, { keyHash: `hash of ${one.key}` }));
    keyId = made.keyId;
  }

  const request = (address: string, dollars: number) => ({
    ...{ kind: "send" as const, token: "USDC" as const, toAddress: address },
    amount: String(dollars * USD + ++orders),
  });
  const wishOf = (address: string, dollars: number) => ({
    ...{ kind: "order" as const, walletId, request: request(address, dollars) },
    valueMicroUsd: String(dollars * USD),
  });
  const open = (by: "owner" | "key" | "id" | "stranger", address: string, dollars: number) => {
    const client =
      by === "owner" ? one.browser : by === "stranger" ? t.withIdentity(identityOf("mallory")) : t;
    return client
      .mutation(internal.wallets.transactions.orders.open, {
        ...{ userId, walletId, request: request(address, dollars), source: "web", address: null },
        valueMicroUsd: String(dollars * USD),
        ...(by === "key" ? { keyHash: `hash of ${one.key}` } : {}),
      })
      .catch(() => null);
  };
  /** What stands, read at once: between two steps nothing changes. */
  const read = () =>
    t.run(async (ctx) => ({
      permissions: await ctx.db
        .query("permissions")
        .withIndex("by_userId", (q) => q.eq("userId", userId))
        .collect(),
      transactions: await ctx.db
        .query("transactions")
        .withIndex("by_walletId_and_state", (q) => q.eq("walletId", walletId))
        .collect(),
      windows: await ctx.db
        .query("transferWindows")
        .withIndex("by_whose", (q) => q.eq("userId", userId))
        .collect(),
      rules: await levelRowOf(ctx, userId),
      level: await levelOf(ctx, userId, Date.now()),
      approver: (await approvingLink(ctx, userId, Date.now()))?.messengerId ?? null,
    }));
  let was = await read();
  /** Whether the key opens for a permission. */
  const opens = (permissionId: Id<"permissions">, isFirst: boolean) =>
    t.query(internal.wallets.custody.envelopes.sealed, { permissionId, isFirst, now: Date.now() }).then(
      () => true,
      () => false,
    );

  for (const taken of steps) {
    if (next !== null && next.from <= Date.now()) [rules, next] = [next.rules, null];
    let tapped: Doc<"approvals"> | null = null;
    switch (taken.do) {
      case "ask": {
        const wish = wishOf(taken.toAddress, taken.usd);
        const asked = await t
          .mutation(internal.wallets.orders.proposals.propose, { userId, wish, found: null })
          .catch(() => null);
        if (asked !== null) approvals.unshift({ id: asked.approvalId, begun: undefined });
        break;
      }
      case "chat": {
        const found = { valueUsd: taken.usd, mostFeeEth: null, costBps: null };
        const messengerId = one.account("42");
        const wish = wishOf(taken.toAddress, taken.usd);
        const key = `chat_${++orders}`;
        const asked = { userId, messengerId, wish, key, found };
        const shown = await t.mutation(internal.wallets.orders.chatOrders.propose, asked).catch(() => null);
        const id = /approve (\w+)/.exec(JSON.stringify(shown?.buttons ?? ""))?.[1];
        const row = await t
          .run((ctx) =>
            ctx.db.get("approvals", ctx.db.normalizeId("approvals", id ?? "") ?? ("" as Id<"approvals">)),
          )
          .catch(() => null);
        if (row !== null) approvals.unshift({ id: row._id, begun: "chat" });
        break;
      }
      case "tap": {
        const chosen = approvals[taken.which];
        if (chosen === undefined) break;
        const row = await t.run((ctx) => ctx.db.get("approvals", chosen.id));
        const messengerId = taken.from === "666" ? "666" : one.account(taken.from);
        await t.run((ctx) => decide(ctx, chosen.id, { messengerId, isYes: taken.isYes }));
        tapped = row;
        if (row === null) break;
        const may =
          taken.isYes &&
          messengerId === was.approver &&
          messengerId === row.messengerId &&
          !usedUp.has(row._id);
        const isTimely =
          row.expiresAt > Date.now() && row.policyVersion === (was.rules?.version ?? 0) && !isFrozen;
        if ((await read()).permissions.length > was.permissions.length) {
          // 3: once, by the account that is linked now, in time, under the same rules, unfrozen.
          expect([may, isTimely]).toEqual([true, true]);
          usedUp.add(row._id);
        }
        const after = await t.run((ctx) => ctx.db.get("approvals", chosen.id));
        if (after !== null && after.state !== "open") usedUp.add(row._id);
        break;
      }
      case "order": {
        const wasOpened = (await open(taken.by, taken.toAddress, taken.usd)) !== null;
        // 9: an id that nobody owns is its own credential, whatever else comes along, up to its cap.
        if (!isClaimed && taken.usd <= 1_000) {
          const left = moved
            .filter(({ at }) => at > Date.now() - DAY)
            .reduce((sum, { usd: of }) => sum + of, 0);
          if (left + taken.usd <= 1_000 && taken.by !== "key") expect(wasOpened).toBe(true);
        }
        // A guarded account moves nothing for whoever names its id, or has another's token.
        if (isClaimed && (taken.by === "id" || taken.by === "stranger")) expect(wasOpened).toBe(false);
        break;
      }
      case "sign": {
        // 5: what was handed out is offered anew under other rules, and not while the account is frozen.
        const out = was.transactions.find(({ _id }) => signed.has(_id))?.permissionId;
        if (out !== undefined) expect(await opens(out, false)).toBe(!isFrozen);
        const prepared = was.transactions.filter(({ state }) => state === "prepared").reverse();
        const row = prepared[taken.which];
        if (row?.permissionId === undefined) break;
        const allowed = was.permissions.find(({ _id }) => _id === row.permissionId);
        const opened = await opens(row.permissionId, true);
        const nonce = signed.size;
        // Each signature renews the lease: an order that comes after its end has begun another term.
        const driver = await t.run(async (ctx) => (await byWalletId(ctx, walletId)).driver ?? 0);
        const bytes = { walletId, driver, nonce, rawTransaction: "0x", txHash: `0x${name}${nonce}` };
        const stored = await t
          .mutation(internal.wallets.transactions.progress.queue.storeSigned, {
            ...{ transactionId: row._id, signed: bytes },
          })
          .catch(() => false);
        if (opened || stored) {
          // 5, 7: after a freeze, a revocation, a claim or any change no key opens and nothing is handed out first.
          expect([isFrozen, voided.has(row.permissionId)]).toEqual([false, false]);
          expect(allowed?.until ?? 0).toBeGreaterThan(Date.now());
          if (isClaimed) expect(allowed?.by).not.toBe("unclaimed");
        }
        expect(stored).toBe(opened);
        if (stored) signed.add(row._id);
        break;
      }
      case "fail": {
        const row = was.transactions.filter(({ state }) => state === "prepared")[taken.which];
        if (row === undefined) break;
        // 2: given back at most once.
        for (const to of ["failed", "failed"] as const)
          await t.mutation(internal.wallets.transactions.progress.outcome.advance, {
            ...{ transactionId: row._id, to, error: "refused" },
          });
        moved.splice(0, moved.length, ...moved.filter(({ id }) => id !== row._id));
        break;
      }
      case "wait":
        vi.setSystemTime(Date.now() + taken.ms);
        break;
      case "freeze":
        if (!isClaimed) break;
        voidAll();
        await t.run((ctx) => freezeAccount(ctx, userId, "chat"));
        [isFrozen, next] = [true, null];
        if (strangeFrom > Date.now()) strangeFrom = Infinity;
        break;
      case "unfreeze":
        if (!isFrozen) break;
        await t.run((ctx) => endFreeze(ctx, userId, "token"));
        isFrozen = false;
        break;
      case "rules": {
        if (!isClaimed) break;
        const { level, mostUsd, dailyUsd } = taken;
        const set = await one.browser
          .mutation(api.account.levels.set, { level, mostUsd, dailyUsd })
          .catch(() => null);
        if (set === null) break;
        voidAll();
        const wish = { level, most: Number(mostUsd), daily: Number(dailyUsd) };
        const held = {
          level: wish.level === "closed" || rules.level === "closed" ? "closed" : "guarded",
          most: Math.min(wish.most, rules.most),
          daily: Math.min(wish.daily, rules.daily),
        };
        const isLooser = JSON.stringify(held) !== JSON.stringify(wish);
        [rules, next] = [held, isLooser ? { from: Date.now() + 2 * HOUR, rules: wish } : null];
        break;
      }
      case "revoke":
        if (keyId === null) break;
        voidAll();
        await one.browser.mutation(api.account.keys.revoke, { keyId });
        keyId = null;
        break;
      case "relink": {
        if (!isClaimed) break;
        voidAll();
        await t.run(async (ctx) => {
          const link = await linkOf(ctx, userId);
          if (link !== null) await dropLink(ctx, link, "token");
          const messengerId = one.account(taken.to);
          await ctx.db.insert("messengerLinks", { messengerId, userId, linkedAt: 0, confirmedAt: 0 });
          await noteLink(ctx, userId, messengerId);
        });
        break;
      }
      case "backUp":
        saved = await t.run((ctx) =>
          ctx.db
            .query("approvals")
            .withIndex("by_userId_and_begun", (q) => q.eq("userId", userId))
            .collect(),
        );
        break;
      case "putBack":
        await t.run(async (ctx) => {
          for (const { _id, _creationTime: _, ...row } of saved) await ctx.db.replace("approvals", _id, row);
        });
        break;
      case "claim":
        if (isClaimed) break;
        voidAll();
        await t.run(one.own);
        isClaimed = true;
        await makeKey();
        break;
    }
    await hold(taken, tapped);
  }

  // 2: calls that race for what is left pass it by nothing.
  if (racers > 0 && keyId !== null && !isFrozen) {
    await Promise.all(Array.from({ length: racers }, () => open("key", LISTED, 20)));
    await hold({ do: "order", by: "key", usd: 20, toAddress: LISTED }, null);
  }
  return { moved: moved.length, asked: approvals.length, signed: signed.size, taps: usedUp.size };

  async function hold(taken: Step, tapped: Doc<"approvals"> | null) {
    const before = was;
    was = await read();
    const { permissions: all, transactions: rows } = was;
    const known = new Set(before.permissions.map(({ _id }) => _id));
    // 1: one permission for each order, with its wallet and terms, written with it.
    expect(rows.map(({ permissionId }) => permissionId).sort()).toEqual(all.map(({ _id }) => _id).sort());
    for (const fresh of all.filter(({ _id }) => !known.has(_id))) {
      const row = rows.find(({ permissionId }) => permissionId === fresh._id);
      expect(row).toMatchObject({ walletId: fresh.walletId, userId, request: fresh.request });
      if (row === undefined || fresh.request.kind !== "send") continue;
      // 5: none while the account is frozen, and none under rules that are not the present ones.
      expect([isFrozen, fresh.policyVersion]).toEqual([false, before.rules?.version ?? 0]);
      // 4: what was begun in the chat is no approval, and what others ask for is not the chat's.
      if (fresh.by === "approval" || fresh.by === "chat")
        expect([taken.do, tapped?.begun]).toEqual(["tap", fresh.by === "chat" ? "chat" : undefined]);
      else expect(taken.do).toBe("order");
      const isListed = fresh.request.toAddress === LISTED || row.createdAt >= strangeFrom;
      if (fresh.by === "chat") expect(isListed).toBe(true);
      expect(fresh.by === "unclaimed").toBe(!isClaimed);
      const dollars = Math.floor(Number(fresh.request.amount) / USD);
      moved.push({ at: row.createdAt, usd: dollars, by: fresh.by, isListed, id: row._id });
      if (isClaimed) {
        expect(dollars).toBeLessThanOrEqual(rules.most);
      }
      // What the owner has sent to, or let be sent to, is on the list two hours later.
      if (!isListed && (fresh.by === "approval" || fresh.by === "owner"))
        strangeFrom = Math.min(strangeFrom, row.createdAt + 2 * HOUR);
      // 2: whatever came before, nothing passes a cap.
      const lately = (by?: string) =>
        moved
          .filter((entry) => entry.at > Date.now() - DAY && (by === undefined || entry.by === by))
          .reduce((sum, { usd: of }) => sum + of, 0);
      if (isClaimed) expect(lately()).toBeLessThanOrEqual(rules.daily);
      expect(lately("unclaimed")).toBeLessThanOrEqual(1_000);
      expect(lately("chat")).toBeLessThanOrEqual(100);
      expect(lately("key")).toBeLessThanOrEqual(150);
    }
    for (const [by, most] of [
      ["unclaimed", 1_000],
      ["chat", 100],
      ["key", 150],
    ] as const)
      expect(mostIn24Hours(moved.filter((entry) => entry.by === by))).toBeLessThanOrEqual(most);
    expect(mostIn24Hours(moved.filter(isUnlisted))).toBeLessThanOrEqual(50);
    // 2: what is reserved stands in its counts until it has failed, and is taken off once.
    for (const [measure, counts] of COUNTED) {
      const since = Date.now() - DAY;
      const counted = was.windows
        .filter((row) => row.measure === measure)
        .flatMap(({ entries }) => entries.filter(({ at }) => at > since))
        .reduce((sum, { microUsd }) => sum + Number(microUsd), 0);
      const reserved = moved.filter((entry) => counts(entry) && entry.at > since);
      expect(counted / USD).toBeGreaterThanOrEqual(reserved.reduce((sum, { usd: of }) => sum + of, 0));
    }
    // 6: what tightens holds at once, what loosens in two hours, and a freeze calls it off.
    if (!isClaimed) return;
    if (next !== null && next.from <= Date.now()) [rules, next] = [next.rules, null];
    const { most, daily } = limitsIn(was.level);
    expect({ level: was.level.level, most: Number(most) / USD, daily: Number(daily) / USD }).toEqual(rules);
    expect(was.rules?.frozenAt !== undefined).toBe(isFrozen);
  }
}

/** Sequences an application lives through: what it has kept of earlier ones makes it slower. */
const TOGETHER = 100;

/** Orders that race for what a key has left. */
const RACERS = 200;

/** Plays sequences, one of `every` so many with a race at its end. @returns What has happened in all of them: a property that nothing reaches holds for nothing. */
export async function playSequences({ runs, seed, every }: { runs: number; seed: number; every: number }) {
  const sums = { sequences: 0, moved: 0, asked: 0, signed: 0, taps: 0 };
  for (let done = 0; done < runs; done += TOGETHER) {
    const app = createBotApp({ env: { UNCLAIMED_DAILY_USD: "1000" } });
    const property = fc.asyncProperty(
      fc.constantFrom(true, true, true, false),
      sequence,
      async (isOwned, steps) => {
        const name = String(1_000_000 + ++sums.sequences);
        const raceOf = sums.sequences % every === 0 ? RACERS : 0;
        const { moved, asked, signed, taps } = await play(app, name, isOwned, steps, raceOf);
        sums.moved += moved;
        sums.asked += asked;
        sums.signed += signed;
        sums.taps += taps;
      },
    );
    await fc.assert(property, { numRuns: Math.min(TOGETHER, runs - done), seed: seed + done });
    // 8: the text of a key is in no row and no line of the log.
    const kept = await Promise.all(
      (["apiKeys", "permissions", "transactions", "messages", "auditEvents"] as const).map((table) =>
        app.rows(table),
      ),
    );
    expect(JSON.stringify(kept)).not.toMatch(/mk_(?!\d+_key")[A-Za-z0-9_-]{43}/);
  }
  return sums;
}
