import { afterEach, expect, test } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { feedAbi } from "../../scripts/stack/chain/abis";
import { clientOf, newWallet, PRICES, send, signed, startTestChain, until } from "./support";

let chain: Chain;
afterEach(() => chain.stop());

const TO = "0x4444444444444444444444444444444444444444";

test("two hundred sends of one wallet at once are all confirmed, in order", async () => {
  chain = await startTestChain();
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const raw = await Promise.all(
    Array.from({ length: 200 }, (_, nonce) => signed(chain, wallet, { to: TO, value: 1n }, nonce)),
  );
  const hashes = await Promise.all(
    raw.map((serializedTransaction) => client.sendRawTransaction({ serializedTransaction })),
  );
  const receipts = await Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash })));
  expect(receipts.every(({ status }) => status === "success")).toBe(true);
  expect(await client.getTransactionCount({ address: wallet.address })).toBe(200);
  expect(await client.getBalance({ address: TO })).toBe(200n);
});

test("twenty wallets sending at once are all confirmed", async () => {
  chain = await startTestChain();
  const wallets = await Promise.all(Array.from({ length: 20 }, () => newWallet(chain)));
  const receipts = await Promise.all(
    wallets.map(async (wallet) => {
      const statuses: string[] = [];
      for (let count = 0; count < 5; count++) {
        statuses.push((await send(chain, wallet, { to: TO, value: 1n })).status);
      }
      return statuses;
    }),
  );
  expect(receipts.flat()).toEqual(Array.from({ length: 100 }, () => "success"));
});

test("a paused miner leaves what is sent pending", async () => {
  chain = await startTestChain();
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
  chain = await startTestChain();
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const serializedTransaction = await signed(chain, wallet, { to: TO, value: 1n });
  const hash = await client.sendRawTransaction({ serializedTransaction });
  await client.waitForTransactionReceipt({ hash });
  await chain.miner.pause();
  await chain.rpc("anvil_reorg", [1, []]);
  await expect(client.getTransactionReceipt({ hash })).rejects.toThrow();
  await client.sendRawTransaction({ serializedTransaction });
  chain.miner.resume();
  expect((await client.waitForTransactionReceipt({ hash })).status).toBe("success");
  await chain.feeds.tick();
  const address = chain.addresses.feeds.ETH;
  const [, answer] = await client.readContract({ address, abi: feedAbi, functionName: "latestRoundData" });
  expect(answer).toBe(BigInt(Math.round(PRICES.ETH * 1e8)));
});

test("blocks and prices follow a clock that runs 480 times faster, and never go back", async () => {
  const startedAt = performance.now();
  const begin = Date.now() / 1_000;
  const clock = () => begin + ((performance.now() - startedAt) / 1_000) * 480;
  let price = 3_000;
  chain = await startTestChain({ clock, speed: 480, prices: () => ({ ...PRICES, ETH: price++ }) });
  const client = clientOf(chain);
  const first = await client.getBlock();
  await until(async () => Number((await client.getBlock()).timestamp) > begin + 1_200);
  const last = await client.getBlock();
  for (let height = first.number + 1n; height <= last.number; height++) {
    const [parent, block] = await Promise.all([
      client.getBlock({ blockNumber: height - 1n }),
      client.getBlock({ blockNumber: height }),
    ]);
    expect(block.timestamp).toBeGreaterThanOrEqual(parent.timestamp);
  }
  const address = chain.addresses.feeds.ETH;
  await until(async () => {
    const round = await client.readContract({ address, abi: feedAbi, functionName: "latestRoundData" });
    return round[1] > 300_000_000_000n && Number(round[3]) > begin;
  });
});

test("a transaction with a missing nonce before it waits for that nonce", async () => {
  chain = await startTestChain();
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const [first, second] = await Promise.all([
    signed(chain, wallet, { to: TO, value: 1n }, 0),
    signed(chain, wallet, { to: TO, value: 1n }, 1),
  ]);
  const hash = await client.sendRawTransaction({ serializedTransaction: second });
  await chain.miner.mine();
  await expect(client.getTransactionReceipt({ hash })).rejects.toThrow();
  await client.sendRawTransaction({ serializedTransaction: first });
  expect((await client.waitForTransactionReceipt({ hash })).status).toBe("success");
});
