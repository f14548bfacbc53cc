import { expect } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { ETHER, chain, useChain, usdcOf, test } from "../support/chain/chain";
import { closeApp } from "../support/world";
import { browserOf } from "../support/browser";
import { buyWith, createPaidApp, ONE, PLATFORM } from "../payments/payer";
import { timePassing, useTime, walks } from "./harness";

/** A transfer to the platform is credited once or buys one report, whoever tells of it, and how often. */

useChain();
useTime();

const CREDITS_PER_USDC = 100;
const balanceShape = z.object({ balance: z.number() });

test("credits and reports together are worth what the chain shows, however they race", async () => {
  await walks("deposits", async (chance) => {
    const app = createPaidApp(chain);
    const pass = timePassing(app);
    const browser = browserOf(app, "alice");
    const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
    await app.fundedWallet(userId, { ETH: ETHER, USDC: 100n * ONE });
    await pass(1);
    const before = await usdcOf(PLATFORM);
    const hashes: string[] = [];
    for (let deposit = 0; deposit < 2; deposit++) {
      const { body } = await app.post(
        "/mcp/defi/send",
        { userId, toAddress: PLATFORM, token: "USDC", amount: String(BigInt(chance.whole(1, 4)) * ONE) },
        { as: "alice" },
      );
      expect(body.status).toBe("confirmed");
      hashes.push(String(body.txHash));
    }
    const reports = new Set<string>();
    const tell = async (txHash: string) => void (await app.post("/indexer/deposit", { txHash, logIndex: 0 }));
    const show = async (txHash: string) => {
      const { status, body } = await buyWith(app, txHash, { userId, token: "BTC" }, { as: "alice" });
      if (status === 200) reports.add(txHash);
      else expect([body.error, status]).toEqual([expect.any(String), expect.any(Number)]);
    };
    for (let round = 0; round < 2; round++) {
      const doings = hashes.flatMap((hash) => [
        () => tell(hash),
        () => tell(hash),
        ...(chance.between(0, 1) < 0.5 ? [() => show(hash), () => show(hash)] : []),
      ]);
      await Promise.all(chance.shuffled(doings).map((doing) => doing()));
      await pass(2);
    }
    const { balance } = balanceShape.parse(await browser.query(api.credits.app.balance, {}));
    const received = Number(((await usdcOf(PLATFORM)) - before) / ONE);
    expect(balance + CREDITS_PER_USDC * reports.size).toBe(CREDITS_PER_USDC * received);
    closeApp();
  });
});
