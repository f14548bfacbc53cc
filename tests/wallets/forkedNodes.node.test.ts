import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { ETHER, chain, isMined, nonceOf, useChain, usdcOf, test } from "../support/chain/chain";
import { intercept } from "../support/outside";
import { answering, miscounting } from "../support/chain/rpc";
import { age, cronComesBy } from "../support/rows/transactions";
import { until } from "../support/waits";
import { createWalletApp, freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";

/** One address, several nodes: one of them lies, or has not seen what another has taken. An order is paid once all the same. */

useChain();

const HUNDRED = "100000000";
const LIMITED = { env: { DAILY_TRANSFER_LIMIT_USD: "150" } };
const REFUSAL = { code: -32003, message: "insufficient funds for gas * price + value" };

const send = (app: WalletApp, toAddress: string, key?: string) =>
  app.post(
    "/mcp/defi/send",
    { userId: "alice", toAddress, token: "USDC", amount: HUNDRED },
    key === undefined ? {} : { headers: { "Idempotency-Key": key } },
  );

/** Micro-USD that count against the limit. */
const moved = async (app: WalletApp) =>
  (await app.rows("transferWindows"))
    .flatMap(({ entries }) => entries)
    .reduce((sum, { microUsd }) => sum + BigInt(microUsd), 0n);

/** The node that answers says that it has refused the bytes, and one beside it has taken them. */
const refusedAndTaken = () =>
  intercept(async ({ body }, pass) => {
    if (!body.includes("eth_sendRawTransaction")) return pass();
    await pass();
    const asked = z.array(z.looseObject({ id: z.number() })).parse(JSON.parse(body));
    return Response.json(asked.map(({ id }) => ({ jsonrpc: "2.0", id, error: REFUSAL })));
  });

/** Every node refuses all bytes. */
const refusing = () =>
  answering(({ method }) => (method === "eth_sendRawTransaction" ? { error: REFUSAL } : null));

/** The nodes that are asked have not seen the transaction. */
const unseen = () =>
  answering(({ method }) =>
    /^eth_getTransaction(?:Receipt|ByHash)$/.test(method) ? { result: null } : null,
  );

describe("a send that a node refuses while another takes it", () => {
  test("is not called failed, keeps its share of the limit, and is paid once", async () => {
    const app = createWalletApp(chain, LIMITED);
    const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 1_000_000_000n });
    const to = freshAddress();
    deadlines.receipt = 100;
    await chain.miner.pause();
    const lie = refusedAndTaken();
    const honest = unseen();
    const first = await send(app, to, "rent");
    expect(first.body).toMatchObject({ success: true, status: "submitted" });
    expect((await app.rows("trades"))[0]?.status).toBe("pending");
    const again = await send(app, to, "rent");
    expect(again.body.txHash).toBe(first.body.txHash);
    const second = await send(app, to);
    expect([second.status, second.body.error]).toEqual([
      400,
      expect.stringMatching(/would pass the limit of 150 USD in 24 hours: 50 USD are free now/),
    ]);
    lie();
    honest();
    chain.miner.resume();
    await until(() => isMined(first.body.txHash));
    await cronComesBy(app);
    expect((await app.rows("transactions")).map(({ state }) => state)).toEqual(["confirmed"]);
    expect([await usdcOf(to), await nonceOf(owner)]).toEqual([100_000_000n, 1]);
  });

  test("is not taken for replaced by what a node makes up about the account", async () => {
    const app = createWalletApp(chain, LIMITED);
    const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 1_000_000_000n });
    const to = freshAddress();
    deadlines.receipt = 100;
    await chain.miner.pause();
    const { body } = await send(app, to);
    const lies = [unseen(), miscounting(() => 1_577)];
    const reserved = await moved(app);
    for (let visit = 0; visit < 3; visit++) {
      await cronComesBy(app);
      await age(app, "replacedSince", 61_000);
    }
    expect([(await app.rows("transactions"))[0]?.state, await moved(app)]).toEqual(["broadcast", reserved]);
    for (const end of lies) end();
    chain.miner.resume();
    await until(() => isMined(body.txHash));
    await cronComesBy(app);
    expect([await usdcOf(to), await nonceOf(owner)]).toEqual([100_000_000n, 1]);
  });

  test("and that no node ever takes is withdrawn after five minutes: only then comes its limit back", async () => {
    const app = createWalletApp(chain, LIMITED);
    const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 1_000_000_000n });
    const to = freshAddress();
    deadlines.receipt = 100;
    const honest = refusing();
    const { body } = await send(app, to);
    expect(body.status).toBe("submitted");
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "unknown",
      error: "insufficient funds",
    });
    const reserved = await moved(app);
    await age(app, "handedOutAt", 301_000);
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "unknown",
      replacement: { kind: "withdrawal", outpriced: [] },
    });
    expect(await moved(app)).toBe(reserved);
    honest();
    await cronComesBy(app);
    await chain.miner.look();
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "failed",
      error: expect.stringContaining("was withdrawn"),
    });
    expect(await moved(app)).toBe(0n);
    unreachDeadlines();
    expect((await send(app, to)).body.status).toBe("confirmed");
    expect([await usdcOf(to), await nonceOf(owner)]).toEqual([100_000_000n, 2]);
  });
});
