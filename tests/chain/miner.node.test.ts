import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi } from "../../scripts/chain/abis";
import { clientOf, newWallet, PRICES, send, signed, startTestChain } from "./support";
import { until } from "../support/waits";

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const TO = "0x4444444444444444444444444444444444444444";

/** Nothing here has the miner look: it does so by itself. */
const isMined = async (hash: string) => (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null;

test("sixty sends of one wallet at once are all confirmed, in order", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const raw = await Promise.all(
    Array.from({ length: 60 }, (_, nonce) => signed(chain, wallet, { to: TO, value: 1n }, nonce)),
  );
  const hashes = await Promise.all(
    raw.map((serializedTransaction) => client.sendRawTransaction({ serializedTransaction })),
  );
  const last = hashes.at(-1) ?? "0x";
  await until(() => isMined(last));
  for (const hash of hashes) {
    expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  }
  expect(await client.getTransactionCount({ address: wallet.address })).toBe(60);
  expect(await client.getBalance({ address: TO })).toBe(60n);
});

test("a paused miner leaves what is sent pending", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  await chain.miner.pause();
  expect(chain.miner.paused()).toBe(true);
  const height = await client.getBlockNumber();
  const serializedTransaction = await signed(chain, wallet, { to: TO, value: 1n });
  const hash = await client.sendRawTransaction({ serializedTransaction });
  expect(await client.getTransactionCount({ address: wallet.address, blockTag: "pending" })).toBe(1);
  expect(await client.getBlockNumber()).toBe(height);
  await chain.miner.mine();
  expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  chain.miner.resume();
  expect((await send(chain, wallet, { to: TO, value: 1n })).status).toBe("success");
});

test("after a reorganisation a transaction is gone, its bytes can be sent again, and prices are ticked again", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const serializedTransaction = await signed(chain, wallet, { to: TO, value: 1n });
  const hash = await client.sendRawTransaction({ serializedTransaction });
  await until(() => isMined(hash));
  await chain.miner.pause();
  await chain.rpc("anvil_reorg", [1, []]);
  await expect(client.getTransactionReceipt({ hash })).rejects.toThrow();
  await client.sendRawTransaction({ serializedTransaction });
  chain.miner.resume();
  await until(() => isMined(hash));
  expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  await chain.feeds.tick();
  const address = chain.addresses.feeds.ETH;
  const [, answer] = await client.readContract({ address, abi: feedAbi, functionName: "latestRoundData" });
  expect(answer).toBe(BigInt(Math.round(PRICES.ETH * 1e8)));
});
