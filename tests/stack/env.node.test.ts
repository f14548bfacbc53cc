import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { createPatience } from "../../scripts/patience";
import { buildApplicationVariables, listRealProviders, type Variables } from "../../scripts/stack/env";
import { createKeys, loadKeys } from "../../scripts/stack/keys";
import { readSnapshot } from "../../scripts/stack/snapshot";
import { temporaryDirectory } from "./processes";

/** Which variables the application sees, by what the operator has set. */

const local = {
  CHAIN_RPC_URL: "http://chain.local",
  EVIDENCE_API_URL: "http://standins.local/tickers",
  SWAP_API_URL: "http://standins.local/swap-api",
  SWAP_API_KEY: "simulated",
};

async function seen(settings: Variables): Promise<Variables> {
  const urls = { siteUrl: "http://site.local", apiUrl: "http://api.local" };
  return buildApplicationVariables(settings, { local, payments: {}, keys: await createKeys(), ...urls });
}

test("the demo waits as long as there is progress, however slow, and a minute without any", () => {
  let at = 0;
  const isWaiting = createPatience(60_000, () => at);
  for (let step = 0; step < 100; step++, at += 59_000) expect(isWaiting(`step ${step}`)).toBe(true);
  expect(isWaiting("step 99")).toBe(true);
  at += 2_000;
  expect(isWaiting("step 99")).toBe(false);
});

test("the webhooks' secrets are the stack's own where the operator has none", async () => {
  const { SOCIAL_WEBHOOK_SECRET, MESSENGER_WEBHOOK_SECRET } = await seen({ SOCIAL_WEBHOOK_SECRET: "" });
  expect(SOCIAL_WEBHOOK_SECRET).toMatch(/^[\w-]{32}$/);
  expect(MESSENGER_WEBHOOK_SECRET).toMatch(/^[\w-]{32}$/);
  expect(SOCIAL_WEBHOOK_SECRET).not.toBe(MESSENGER_WEBHOOK_SECRET);
  expect(await seen({ SOCIAL_WEBHOOK_SECRET: "mine" })).toMatchObject({ SOCIAL_WEBHOOK_SECRET: "mine" });
});

test("kept keys that are malformed are refused, and rows of other tables, not replaced", async () => {
  const folder = await temporaryDirectory();
  const spoilt = {
    "keys.json": JSON.stringify({ ...(await createKeys()), walletEncryptionKey: "short" }),
    "rows.json": '{"schema":"another","dueTimes":{},"rows":{}}',
  };
  for (const [name, text] of Object.entries(spoilt)) await writeFile(path.join(folder, name), text);
  await expect(loadKeys(folder)).rejects.toThrow(/keys\.json is damaged/);
  await expect(readSnapshot(folder)).rejects.toThrow(/another version.*delete .* to start afresh/);
  for (const [name, text] of Object.entries(spoilt))
    expect(await readFile(path.join(folder, name), "utf8")).toBe(text);
});

test("the sources are the stand-in, the operator's, or beside a real chain the public ones", async () => {
  expect(listRealProviders({})).toEqual([]);
  expect(await seen({})).toMatchObject({ EVIDENCE_API_URL: local.EVIDENCE_API_URL });
  const settings = { EVIDENCE_API_URL: "https://sources.example" };
  expect(listRealProviders(settings)).toEqual(["evidence sources"]);
  expect(await seen(settings)).toMatchObject({ ...settings, CHAIN_RPC_URL: local.CHAIN_RPC_URL });
  // Simulated prices would contradict a real chain's feeds.
  const variables = await seen({ CHAIN_RPC_URL: "https://rpc.example" });
  expect(variables).toMatchObject({ CHAIN_RPC_URL: "https://rpc.example" });
  expect([variables.EVIDENCE_API_URL, variables.SWAP_API_KEY]).toEqual([undefined, undefined]);
});
