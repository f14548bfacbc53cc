import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { erc20Abi } from "viem";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/deadlines";
import type { Chain } from "../../scripts/stack/chain";
import { TOKENS } from "../../scripts/stack/chain/addresses";
import { clientOf, send } from "../chain/support";
import { startTestChain, type WalletApp } from "../support/walletApp";
import { closeApp } from "../support/world";
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
} from "./paying";

/**
 * Declares the rehearsals of a paid report's crashes. The service dies at each of its calls to the outside, before the call leaves or after its effect, and never comes
 * back to that piece of work. Then time passes: leases run out and the cron comes by. However it died, the payer has
 * paid once, and the same proof yields the report.
 */

let chain: Chain;

const FACILITATOR = "http://facilitator.test";
/** Longer than any work of the service pauses before it looks again. */
const LAST_PAUSE_MS = 400;

const startTimer = globalThis.setTimeout;
const sleep = (ms: number) => new Promise((resolve) => startTimer(resolve, ms));

/** The first call at which it dies, counted from 1, and how many calls lie between one death and the next. */
export type Deaths = { first: number; every: number };

type Moment = "before" | "after";
type Purchase = { app: WalletApp; headers: Record<string, string>; payer: `0x${string}` };

/** From the n-th outside call on, nothing answers and no pause ends: the process is gone. */
function dieAt(n: number, moment: Moment): { calls: () => number; revive: () => void } {
  const inner = globalThis.fetch;
  let calls = 0;
  const die = () =>
    vi.stubGlobal("setTimeout", (work: () => void, ms = 0) =>
      // What is scheduled to run at once is the platform's, and outlives the process.
      startTimer(ms < 50 ? work : () => undefined, ms),
    );
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    calls++;
    if (calls === n && moment === "after") await inner(input, init);
    if (calls >= n) die();
    return calls >= n ? new Promise<Response>(() => undefined) : inner(input, init);
  });
  const revive = () => {
    vi.stubGlobal("fetch", inner);
    vi.stubGlobal("setTimeout", startTimer);
  };
  return { calls: () => calls, revive };
}

/** Lets every lease run out, and the cron come by. */
async function leasesEnd(app: WalletApp): Promise<void> {
  await app.t.run(async (ctx) => {
    for (const { _id, state } of await ctx.db.query("paymentClaims").collect()) {
      if (state === "settling" || state === "generating")
        await ctx.db.patch("paymentClaims", _id, { leaseUntil: 1 });
    }
    for (const { _id, state } of await ctx.db.query("observations").collect()) {
      if (state === "collecting") await ctx.db.patch("observations", _id, { leaseUntil: 1 });
    }
    for (const { _id, leaseUntil } of await ctx.db.query("refreshes").collect()) {
      if (leaseUntil > 0) await ctx.db.patch("refreshes", _id, { leaseUntil: 1 });
    }
  });
  await app.t.mutation(internal.payments.claims.resumeLost, {});
}

/** The answer to a purchase; whatever dead work it waits for loses its lease while it waits. */
async function bought(app: WalletApp, headers: Record<string, string>, order: object) {
  const answer = buy(app, headers, order);
  const isThere = answer.then(() => true);
  while (!(await Promise.race([isThere, sleep(3_000).then(() => false)]))) await leasesEnd(app);
  return answer;
}

/** Lets leases run out until nothing is being settled any more. */
async function timePasses(app: WalletApp): Promise<void> {
  for (let round = 0; round < 200; round++) {
    await leasesEnd(app);
    await sleep(50);
    if ((await app.rows("paymentClaims")).every(({ state }) => state !== "settling")) return;
  }
  throw new Error("The payment was never settled");
}

const usdcOf = (address: `0x${string}`) =>
  clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: erc20Abi,
    functionName: "balanceOf",
    args: [address],
  });

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
      Object.assign(deadlines, { transaction: 60_000, receipt: 60_000, chain: 60_000, facilitator: 60_000 });
      Object.assign(deadlines, { llmScheduled: 60_000, caller: 60_000 });
      const death = dieAt(n, moment);
      let answered = false;
      const finish = () => {
        answered = true;
      };
      buy(app, headers, order).then(finish, finish);
      while (death.calls() < n && !answered) await sleep(5);
      const reached = death.calls() >= n;
      // The last call's effect, where it is to have one; and whatever pauses pauses for ever.
      if (reached) await sleep(LAST_PAUSE_MS);
      death.revive();
      if (!reached) {
        closeApp();
        break;
      }
      died++;
      const context = `${moment} call ${n}`;
      if ((await app.rows("paymentClaims")).length > 0) claimed++;
      await timePasses(app);
      const answers = [await bought(app, headers, order), await bought(app, headers, order)];
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

export function paidCrashes(deaths: Deaths): void {
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.stop());
  afterEach(closeApp);

  describe(`dying at call ${deaths.first} and every ${deaths.every} from there`, () => {
    test("of a report for a transaction's hash yields the report", async ({ annotate }) => {
      const { died, claimed } = await rehearse(async () => {
        const from = await twice();
        const headers = { "X-PAYMENT": await transfer(chain, from) };
        return { app: createPaidApp(chain), headers, payer: from.address };
      }, deaths);
      expect(died).toBeGreaterThanOrEqual(Math.floor(10 / deaths.every));
      expect(claimed).toBeGreaterThanOrEqual(Math.floor(6 / deaths.every));
      await annotate(`${died} deaths, ${claimed} of them with the payment claimed`, "figures");
    }, 1_200_000);

    test("of a report for a signed payment takes the money once and yields the report", async ({
      annotate,
    }) => {
      const { died, claimed } = await rehearse(async () => {
        const from = await twice();
        return { app: createPaidApp(chain), headers: versionTwo(await authorize(from)), payer: from.address };
      }, deaths);
      expect(died).toBeGreaterThanOrEqual(Math.floor(20 / deaths.every));
      expect(claimed).toBeGreaterThanOrEqual(Math.floor(15 / deaths.every));
      await annotate(`${died} deaths, ${claimed} of them with the payment claimed`, "figures");
    }, 1_200_000);

    test("of a report for a payment that a facilitator carries out does so as well", async ({ annotate }) => {
      const gas = await payer(chain);
      const { died, claimed } = await rehearse(async () => {
        const from = await twice();
        const authorized = await authorize(from);
        const env = { X402_RELAYER_PRIVATE_KEY: "", X402_FACILITATOR_URL: FACILITATOR };
        const app = createPaidApp(chain, { env });
        const inner = globalThis.fetch;
        vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
          if (input !== `${FACILITATOR}/settle`) return inner(input, init);
          const { status, transactionHash } = await send(chain, gas, settlementCall(authorized));
          return Response.json({
            success: status === "success",
            transaction: transactionHash,
            network: "base",
          });
        });
        return { app, headers: versionOne(authorized), payer: from.address };
      }, deaths);
      expect(died).toBeGreaterThanOrEqual(Math.floor(15 / deaths.every));
      expect(claimed).toBeGreaterThanOrEqual(Math.floor(10 / deaths.every));
      await annotate(`${died} deaths, ${claimed} of them with the payment claimed`, "figures");
    }, 1_200_000);
  });
}
