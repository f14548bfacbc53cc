import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { receiver } from "../alerts/receivers";
import { test, useChain } from "../support/chain";
import { freshAddress } from "../support/walletApp";

useChain();

const ETHER = 10n ** 18n;

describe("a send that ended", () => {
  test("is told to the webhooks of whose it is, as the transaction shows itself", async ({ app }) => {
    const posted = receiver(() => new Response());
    await app.fundedWallet("alice", { ETH: ETHER });
    for (const userId of ["alice", "bob"])
      await app.post("/webhooks", {
        userId,
        url: `https://${userId}.example.com/`,
        events: ["transaction.ended"],
      });
    const order = { userId: "alice", toAddress: freshAddress(), token: "ETH", amount: "1000" };
    const { body } = await app.post("/mcp/defi/send", order);
    expect(body.status).toBe("confirmed");
    await app.t.mutation(internal.messenger.webhooks.posts.begin, {});
    await app.settle();
    expect(posted.map(({ url }) => url)).toEqual(["https://alice.example.com/"]);
    const told: unknown = JSON.parse(posted[0]?.body ?? "");
    expect(told).toEqual({
      type: "transaction.ended",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        transactionId: expect.any(String),
        ...{ kind: "send", token: "ETH", amount: "1000", txHash: body.txHash },
        toAddress: expect.stringMatching(new RegExp(`^${order.toAddress}$`, "i")),
        ...{ status: "confirmed", error: null, success: true },
      },
    });
  });
});
