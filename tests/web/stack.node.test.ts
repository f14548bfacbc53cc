import { ConvexHttpClient } from "convex/browser";
import { ConvexError } from "convex/values";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { api } from "../../convex/_generated/api";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { eventually } from "../support/waiting";

/** The web application's functions as a browser calls them: over HTTP, with a token, on the whole local stack. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null" });
});
afterAll(() => stack.stop());

async function browser(subject: string) {
  const token = await stack.issuer.issue(subject);
  const client = new ConvexHttpClient(stack.apiUrl);
  client.setAuth(token);
  const { userId } = await client.mutation(api.users.profile.signIn, {});
  return { client, token, userId };
}

const paginationOpts = { numItems: 10, cursor: null };

/** The code of the `AppError` that a call fails with. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConvexError)) throw new Error(`It did not fail as it should: ${String(error)}`);
  return error.data;
}

describe("a browser on the local stack", () => {
  test("is nobody without a token", async () => {
    const client = new ConvexHttpClient(stack.apiUrl);
    expect(await refusal(client.query(api.credits.app.balance, {}))).toMatchObject({ code: "unauthorized" });
    client.setAuth("not-a-token");
    await expect(client.query(api.credits.app.balance, {})).rejects.toThrow();
  });

  test("plays for credits, runs an agent with them, and reads its history", async () => {
    const { client } = await browser("alice");
    expect(await refusal(client.mutation(api.chat.runs.start, { question: "Why?" }))).toMatchObject({
      code: "payment_required",
    });
    const { sessionId } = await client.mutation(api.credits.app.openGame, {});
    await client.mutation(api.credits.app.finishGame, { sessionId, levelReached: 1 });
    const runId = await client.mutation(api.chat.runs.start, { question: "How is the market?" });
    const run = await eventually(async () => {
      const one = await client.query(api.runs.app.one, { runId });
      return one?.status === "running" ? null : one;
    });
    expect(run).toMatchObject({ status: "completed", answer: expect.any(String) });
    const { balance } = await client.query(api.credits.app.balance, {});
    expect(balance).toBe(100 - (run.credits ?? 0));
    const history = await client.query(api.credits.app.history, { paginationOpts });
    expect(history.page.at(-1)).toMatchObject({ type: "deposit", source: "arcade", amount: 100 });
    expect(history.page[0]?.balanceAfter).toBe(balance);
  });

  test("links an address by its signature", async () => {
    const { client } = await browser("bob");
    const key = privateKeyToAccount(`0x${"33".repeat(32)}`);
    const { message } = await client.mutation(api.users.addresses.challenge, { address: key.address });
    await client.action(api.users.linking.linkAddress, { signature: await key.signMessage({ message }) });
    const me = await client.query(api.users.profile.me, {});
    expect(me?.addresses).toMatchObject([{ address: key.address.toLowerCase() }]);
  });

  test("sees its wallets without dust, and alone moves their funds", async () => {
    const carol = await browser("carol");
    const mallory = await browser("mallory");
    const post = async (path: string, body: unknown, token?: string) => {
      const headers: Record<string, string> = { "content-type": "application/json" };
      if (token !== undefined) headers.authorization = `Bearer ${token}`;
      return fetch(`${stack.siteUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    expect(await carol.client.action(api.wallets.app.view, {})).toEqual([]);
    await post("/mcp/defi/connect", { userId: carol.userId });
    const [empty] = await carol.client.action(api.wallets.app.view, {});
    expect(empty).toMatchObject({ kind: "custody", balances: [], hidden: 0, totalValueUsd: 0 });
    const address = empty?.address ?? "";
    if (!/^0x/.test(address)) throw new Error("There is no wallet");
    await stack.chain?.fund(`0x${address.slice(2)}`, { ETH: 10n ** 18n, USDC: 5_000_000n, DAI: 10n ** 17n });

    const [clean] = await carol.client.action(api.wallets.app.view, {});
    expect(clean?.balances.map(({ token }) => token)).toEqual(["ETH", "USDC"]);
    expect(clean?.hidden).toBe(1);
    const [all] = await carol.client.action(api.wallets.app.view, { showDust: true });
    expect(all?.balances.map(({ token }) => token)).toEqual(["ETH", "USDC", "DAI"]);
    const shown = clean?.balances.reduce((sum, { valueUsd }) => sum + (valueUsd ?? 0), 0) ?? 0;
    expect((clean?.totalValueUsd ?? 0) - shown).toBeCloseTo(0.1, 1);

    const order = {
      userId: carol.userId,
      token: "USDC",
      toAddress: `0x${"5".repeat(40)}`,
      amount: "1000000",
    };
    const statuses = [
      await post("/mcp/defi/send", order),
      await post("/mcp/defi/send", order, "not-a-token"),
      await post("/mcp/defi/send", order, mallory.token),
      await post("/mcp/defi/send", order, carol.token),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 401, 403, 200]);
  });
});
