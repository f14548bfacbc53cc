import { describe, expect } from "vitest";
import { lookAlikeOf, newWallet, send, sendAs, transferTo } from "../../chain/support";
import { chain, useChain } from "../../support/chain/chain";
import { ONE, PLATFORM } from "../authorizations";
import {
  balanceOf,
  batchOf,
  breakChain,
  createApp,
  credited,
  ignored,
  link,
  NO_TRANSFER,
  NOBODY,
  notify,
  test,
  payLinked,
} from "./depositSupport";

useChain();

describe("what is no deposit", () => {
  test("a transfer of a USDC look-alike is no deposit", async ({ app }) => {
    const wallet = await newWallet(chain);
    await link(app, wallet.address);
    const to = await lookAlikeOf(chain, wallet.address);
    const paid = await send(chain, wallet, { to, data: transferTo(PLATFORM, ONE) });
    expect([paid.status, paid.logs.length]).toEqual(["success", 1]);
    const { body } = await notify(app, { txHash: paid.transactionHash });
    expect(body).toEqual(ignored(paid.transactionHash, NO_TRANSFER));
    expect([await app.rows("deposits"), await balanceOf(app)]).toEqual([[], 0]);
  });

  test("a transfer of nothing, to someone else, another token, ether, and the platform's own transfer", async ({
    app,
  }) => {
    const wallet = await newWallet(chain, { USDC: ONE, USDT: ONE });
    await link(app, wallet.address);
    await link(app, PLATFORM);
    await chain.fund(PLATFORM, { USDC: ONE });
    const { USDC: usdc, USDT: usdt } = chain.addresses.tokens;
    const receipts = [
      await send(chain, wallet, { to: usdc, data: transferTo(PLATFORM, 0n) }),
      await send(chain, wallet, { to: usdc, data: transferTo(NOBODY, ONE) }),
      await send(chain, wallet, { to: usdt, data: transferTo(PLATFORM, ONE) }),
      await send(chain, wallet, { to: PLATFORM, value: 1n }),
      await sendAs(chain, PLATFORM, { to: usdc, data: transferTo(PLATFORM, ONE) }),
    ];
    for (const { status, transactionHash } of receipts) {
      expect(status).toBe("success");
      const { body } = await notify(app, { txHash: transactionHash });
      expect(body).toEqual(ignored(transactionHash, NO_TRANSFER));
    }
    expect(await app.rows("creditTransactions")).toEqual([]);
  });

  test("a transfer in a transaction that failed, whatever the payload says", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: 5n * ONE });
    await link(app, wallet.address);
    // The second transfer takes more than there is, so the first one's log goes down with it.
    const { status, transactionHash: txHash } = await batchOf(wallet, [ONE, 50n * ONE]);
    expect(status).toBe("reverted");
    const log = { transactionHash: txHash, logIndex: "0x0", removed: false, data: "0x1851960" };
    const { body } = await notify(app, { event: { activity: [{ hash: txHash, category: "token", log }] } });
    expect(body).toEqual(ignored(txHash, "the transaction failed"));
    expect(await app.rows("deposits")).toEqual([]);
  });

  test("a transfer to another platform wallet", async () => {
    const app = createApp({ PLATFORM_WALLET_ADDRESS: NOBODY });
    const { txHash } = await payLinked(app, ONE);
    expect((await notify(app, { txHash })).body).toEqual(ignored(txHash, NO_TRANSFER));
  });

  test("a log that is none, next to one that is", async ({ app }) => {
    const { txHash, logIndex } = await payLinked(app, ONE);
    const { body } = await notify(app, { txHash, logIndex: logIndex + 7 });
    const reason = `log ${logIndex + 7} is not a USDC transfer to the platform wallet`;
    expect(body).toEqual({ ...credited(txHash, logIndex, "1", 100), ignored: [{ txHash, reason }] });
  });

  test("a transfer worth less than one credit is no deposit", async ({ app }) => {
    const { txHash } = await payLinked(app, 9_999n);
    expect((await notify(app, { txHash })).body).toEqual(ignored(txHash, "it is worth less than one credit"));
  });

  test("what another chain says of a transfer is no deposit", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    breakChain(async (forward) => {
      const text = await (await forward()).text();
      return new Response(text.replaceAll('"result":"0x2105"', '"result":"0x1"'));
    });
    expect((await notify(app, { txHash })).body).toMatchObject({ credited: [], pending: [{ txHash }] });
    expect(await app.rows("deposits")).toEqual([]);
  });
});
