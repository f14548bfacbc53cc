import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { pseudonymOf } from "../../convex/lib/security/crypto";
import { userIdByAddress } from "../../convex/wallets/model";
import { type App, test } from "../support/app";
import { browserOf } from "../support/browser";

const wallet = privateKeyToAccount(`0x${"11".repeat(32)}`);
const stranger = privateKeyToAccount(`0x${"22".repeat(32)}`);

async function signedIn(app: App, subject: string) {
  const browser = browserOf(app, subject);
  const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
  const challenge = (address: string = wallet.address) =>
    browser.action(api.accounts.actions.challenge, { address });
  const link = (issuedAt: number, signature: string, address: string = wallet.address) =>
    browser.action(api.accounts.actions.linkAddress, { address, issuedAt, signature });
  return { browser, userId, challenge, link };
}

const failsWith = (code: string) => ({ data: { code } });

describe("linking an address", () => {
  test("takes a signature by that address, and makes its deposits the user's", async ({ app }) => {
    const alice = await signedIn(app, "alice");
    const { message, issuedAt } = await alice.challenge(wallet.address.toLowerCase());
    expect(message).toContain(wallet.address);
    expect(message).not.toContain(alice.userId);
    const account = pseudonymOf(alice.userId);
    for (const part of ["some.convex.site wants you", "Chain ID: 8453", `my account ${account}`]) {
      expect(message).toContain(part);
    }
    expect(message).toContain(`Expiration Time: ${new Date(issuedAt + 600_000).toISOString()}`);
    const owner = (address: string) => app.t.run((ctx) => userIdByAddress(ctx, address));
    expect(await owner(wallet.address)).toBeNull();
    const signature = await wallet.signMessage({ message });
    expect(await alice.link(issuedAt, signature)).toEqual({ address: wallet.address.toLowerCase() });
    expect(await owner(wallet.address)).toBe(alice.userId);
    expect(await owner(wallet.address.toLowerCase())).toBe(alice.userId);
    expect(await owner("0x12")).toBeNull();

    await alice.link(issuedAt, signature, wallet.address.toLowerCase());
    expect(await app.rows("addresses")).toHaveLength(1);
  });

  test("refuses another's signature, another message's, garbage, and a late one", async ({ app }) => {
    const alice = await signedIn(app, "alice");
    const asked = await alice.challenge();
    const tries = [
      await stranger.signMessage({ message: asked.message }),
      await wallet.signMessage({ message: (await alice.challenge(stranger.address)).message }),
      "0x",
      "hello",
      `0x${"00".repeat(65)}`,
    ];
    for (const signature of tries) {
      await expect(alice.link(asked.issuedAt, signature)).rejects.toMatchObject(failsWith("invalid_request"));
    }
    const good = await wallet.signMessage({ message: asked.message });
    for (const wrong of [asked.issuedAt + 1, asked.issuedAt + 0.5, Number.NaN])
      await expect(alice.link(wrong, good)).rejects.toMatchObject(failsWith("invalid_request"));
    vi.setSystemTime(asked.issuedAt + 600_001);
    await expect(alice.link(asked.issuedAt, good)).rejects.toMatchObject(failsWith("invalid_request"));
    await expect(alice.challenge("0x12")).rejects.toMatchObject(failsWith("invalid_request"));
    expect(await app.rows("addresses")).toEqual([]);
  });

  test("links an address to one user at a time: to whoever signed for it last", async ({ app }) => {
    const [alice, bob] = [await signedIn(app, "alice"), await signedIn(app, "bob")];
    const [hers, his] = [await alice.challenge(), await bob.challenge()];
    await alice.link(hers.issuedAt, await wallet.signMessage({ message: hers.message }));
    const { address } = wallet;
    const unlinkAs = (one: typeof alice) =>
      one.browser.mutation(api.accounts.profile.unlinkAddress, { address });
    await expect(unlinkAs(bob)).rejects.toMatchObject(failsWith("not_found"));
    // Knowing the address, or a signature made for another account, takes it from nobody.
    const forHer = await wallet.signMessage({ message: hers.message });
    await expect(bob.link(hers.issuedAt, forHer)).rejects.toMatchObject(failsWith("invalid_request"));
    expect(await app.rows("addresses")).toMatchObject([{ userId: alice.userId }]);
    const signature = await wallet.signMessage({ message: his.message });
    expect(await bob.link(his.issuedAt, signature)).toEqual({ address: address.toLowerCase() });
    expect(await app.rows("addresses")).toMatchObject([{ userId: bob.userId }]);
    await expect(unlinkAs(alice)).rejects.toMatchObject(failsWith("not_found"));
  });
});
