import { describe, expect, vi } from "vitest";
import { send } from "../../chain/support";
import type { WalletApp } from "../../support/chain/walletApp";
import { expireLeases, leasesOf, type Leases } from "../../support/rows/leases";
import { closeApp } from "../../support/world";
import {
  authorize,
  buy,
  createPaidApp,
  ONE,
  payer,
  settlementCall,
  transfer,
  versionOne,
  versionTwo,
  test,
  withFacilitator,
} from "../payer";
import { chain, usdcOf, useChain } from "../../support/chain/chain";

/**
 * The service dies at calls to the outside of a paid report, before the call leaves or after its effect, and never comes
 * back to that piece of work. Then time passes: leases run out and the cron comes by. However it died, the payer has
 * paid once, and the same proof yields the report.
 */

/** Between two looks at what is waited for. */
const LOOK_MS = 50;

const startTimer = globalThis.setTimeout;
const sleep = (ms: number) => new Promise((resolve) => startTimer(resolve, ms));

/** The first call at which it dies, counted from 1, and how many calls lie between one death and the next. */
export type Deaths = { first: number; every: number };

type Moment = "before" | "after";
type Purchase = { app: WalletApp; headers: Record<string, string>; payer: `0x${string}` };

/** What is scheduled to run at once is the platform's, and outlives the process. */
const PAUSE_MS = 50;
/** Turns of the event loop in which what the dead had begun in the database comes to its end. */
const LAST_TURNS = 50;

/** From the n-th outside call on, nothing answers and no pause ends: the process is gone. */
function dieAt(n: number, moment: Moment): { calls: () => number; revive: () => Promise<void> } {
  const { fetch: inner, setTimeout: pause } = globalThis;
  const never = () => new Promise<Response>(() => undefined);
  const underWay = new Set<Promise<Response>>();
  let calls = 0;
  const isDead = () => calls >= n;
  vi.stubGlobal("setTimeout", (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    pause(() => {
      if (ms < PAUSE_MS || !isDead()) work(...args);
    }, ms),
  );
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    calls++;
    if (calls > n || (calls === n && moment === "before")) return never();
    const answer = inner(input, init);
    underWay.add(answer);
    const response = await answer;
    return isDead() ? never() : response;
  });
  const revive = async () => {
    await Promise.allSettled(underWay);
    for (let turn = 0; turn < LAST_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
    vi.stubGlobal("fetch", inner);
    vi.stubGlobal("setTimeout", pause);
  };
  return { calls: () => calls, revive };
}

/** The answer to a purchase; the cron comes by while it is waited for. */
async function bought(app: WalletApp, headers: Record<string, string>, order: object, ofDead: Leases) {
  const answer = buy(app, headers, order);
  const isThere = answer.then(() => true);
  while (!(await Promise.race([isThere, sleep(LOOK_MS).then(() => false)]))) await expireLeases(app, ofDead);
  return answer;
}

/** Has the cron come by until nothing is being settled any more. */
async function timePasses(app: WalletApp, ofDead: Leases): Promise<void> {
  do {
    await expireLeases(app, ofDead);
    await sleep(LOOK_MS);
  } while ((await app.rows("paymentClaims")).some(({ state }) => state === "settling"));
}

async function rehearse(
  prepare: () => Promise<Purchase>,
  { first, every }: Deaths,
): Promise<{ died: number; claimed: number }> {
  const order = { userId: "alice", token: "BTC" };
  let died = 0;
  let claimed = 0;
  for (const moment of ["before", "after"] as const) {
    for (let n = first; ; n += every) {
      const { app, headers, payer } = await prepare();
      const death = dieAt(n, moment);
      let answered = false;
      const finish = () => {
        answered = true;
      };
      buy(app, headers, order).then(finish, finish);
      while (death.calls() < n && !answered) await sleep(5);
      const reached = death.calls() >= n;
      await death.revive();
      if (!reached) {
        closeApp();
        break;
      }
      died++;
      const context = `${moment} call ${n}`;
      if ((await app.rows("paymentClaims")).length > 0) claimed++;
      const ofDead = await leasesOf(app);
      await timePasses(app, ofDead);
      const answers = [await bought(app, headers, order, ofDead), await bought(app, headers, order, ofDead)];
      expect([context, ...answers.map(({ status }) => status)]).toEqual([context, 200, 200]);
      expect([context, answers[0]?.text]).toEqual([context, answers[1]?.text]);
      const thief = await buy(app, headers, { userId: "mallory" });
      expect([context, thief.body.reason]).toEqual([context, "payment_already_used"]);
      expect([context, await usdcOf(payer)]).toEqual([context, ONE]);
      expect(await app.rows("paymentClaims")).toMatchObject([{ state: "delivered" }]);
      expect(await app.rows("spentTransfers")).toMatchObject([{ claimKey: expect.any(String) }]);
      closeApp();
    }
  }
  return { died, claimed };
}

/** A payer who can pay twice, to see that they do not. */
const twice = () => payer(chain, 2n * ONE);

type Kind = {
  kind: string;
  /** At the least, were it to die at every call; of those the ones with the payment claimed. */
  deaths: number;
  claims: number;
  prepare: () => Promise<Purchase>;
};

const kinds: Kind[] = [
  {
    ...{ kind: "a transaction's hash", deaths: 10, claims: 6 },
    prepare: async () => {
      const from = await twice();
      const headers = { "X-PAYMENT": await transfer(chain, from) };
      return { app: createPaidApp(chain), headers, payer: from.address };
    },
  },
  {
    ...{ kind: "a signed payment", deaths: 20, claims: 15 },
    prepare: async () => {
      const from = await twice();
      return { app: createPaidApp(chain), headers: versionTwo(await authorize(from)), payer: from.address };
    },
  },
  {
    ...{ kind: "a payment that a facilitator carries out", deaths: 15, claims: 10 },
    prepare: async () => {
      const from = await twice();
      const gas = await payer(chain);
      const authorized = await authorize(from);
      const app = withFacilitator(async () => {
        const { status, transactionHash } = await send(chain, gas, settlementCall(authorized));
        return Response.json({
          success: status === "success",
          transaction: transactionHash,
          network: "base",
        });
      });
      return { app, headers: versionOne(authorized), payer: from.address };
    },
  },
];

/** Declares the tests: the same promises for a sample of the deaths and for all of them. */
export function paidCrashes({ first, every }: Deaths): void {
  useChain();

  describe(`dying at call ${first} and every ${every} from there`, () => {
    test.for(kinds)(
      "of a report for $kind takes the money once and yields the report",
      { timeout: 1_200_000 },
      async ({ deaths, claims, prepare }, { annotate }) => {
        const { died, claimed } = await rehearse(prepare, { first, every });
        expect(died).toBeGreaterThanOrEqual(Math.floor(deaths / every));
        expect(claimed).toBeGreaterThanOrEqual(Math.floor(claims / every));
        await annotate(`${died} deaths, ${claimed} of them with the payment claimed`, "figures");
      },
    );
  });
}
