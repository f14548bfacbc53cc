import { privateKeyToAccount } from "viem/accounts";
import { expect, vi } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { derivePseudonym } from "../../convex/lib/crypto";
import { findUserIdByAddress } from "../../convex/wallets/model";
import { type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import { intercept } from "../support/outside";

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

/** A chain on which no address has code. */
const withoutContracts = () =>
  intercept(async ({ body }, pass) => {
    if (!body.includes('"eth_call"')) return pass();
    const asked = z.array(z.object({ id: z.number() })).parse(JSON.parse(body));
    return Response.json(asked.map(({ id }) => ({ jsonrpc: "2.0", id, result: "0x" })));
  });

const failsWith = (code: string) => ({ data: { code } });

test("a signature by an address links it to one user at a time, whose its deposits are", async ({ app }) => {
  withoutContracts();
  const [alice, bob] = [await signedIn(app, "alice"), await signedIn(app, "bob")];
  const address = wallet.address.toLowerCase();
  const owner = (one: string) => app.t.run((ctx) => findUserIdByAddress(ctx, one));
  const hers = await alice.challenge(address);
  for (const part of [
    ...[wallet.address, "some.convex.site wants you", "Chain ID: 8453"],
    `my account ${derivePseudonym(alice.userId)}`,
    `Expiration Time: ${new Date(hers.issuedAt + 600_000).toISOString()}`,
  ])
    expect(hers.message).toContain(part);
  expect(hers.message).not.toContain(alice.userId);
  expect(await owner(wallet.address)).toBeNull();
  const forHer = await wallet.signMessage({ message: hers.message });
  for (const written of [wallet.address, address])
    expect(await alice.link(hers.issuedAt, forHer, written)).toEqual({ address });
  for (const written of [wallet.address, address]) expect(await owner(written)).toBe(alice.userId);
  expect(await owner("0x12")).toBeNull();

  const unlinkAs = (one: typeof alice) =>
    one.browser.mutation(api.accounts.profile.unlinkAddress, { address });
  await expect(unlinkAs(bob)).rejects.toMatchObject(failsWith("not_found"));
  // Knowing the address, or a signature made for another account, takes it from nobody.
  await expect(bob.link(hers.issuedAt, forHer)).rejects.toMatchObject(failsWith("invalid_request"));
  expect(await app.rows("addresses")).toMatchObject([{ userId: alice.userId }]);
  const his = await bob.challenge();
  await bob.link(his.issuedAt, await wallet.signMessage({ message: his.message }));
  expect(await app.rows("addresses")).toMatchObject([{ userId: bob.userId }]);
  await expect(unlinkAs(alice)).rejects.toMatchObject(failsWith("not_found"));
});

test("another's signature, another message's, garbage, and a late one link nothing", async ({ app }) => {
  withoutContracts();
  const alice = await signedIn(app, "alice");
  const { issuedAt, message } = await alice.challenge();
  const good = await wallet.signMessage({ message });
  const tries: [number, string][] = [
    [issuedAt, await stranger.signMessage({ message })],
    [issuedAt, await wallet.signMessage({ message: (await alice.challenge(stranger.address)).message })],
    ...["0x", "hello", `0x${"00".repeat(65)}`].map((one): [number, string] => [issuedAt, one]),
    ...[issuedAt + 1, issuedAt + 0.5, Number.NaN].map((one): [number, string] => [one, good]),
  ];
  for (const [at, signature] of tries)
    await expect(alice.link(at, signature)).rejects.toMatchObject(failsWith("invalid_request"));
  vi.setSystemTime(issuedAt + 600_001);
  await expect(alice.link(issuedAt, good)).rejects.toMatchObject(failsWith("invalid_request"));
  await expect(alice.challenge("0x12")).rejects.toMatchObject(failsWith("invalid_request"));
  expect(await app.rows("addresses")).toEqual([]);
});
