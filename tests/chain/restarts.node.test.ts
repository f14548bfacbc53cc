import { mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startAnvil } from "../../scripts/chain/node";
import { feedAbi } from "../../scripts/chain/abis";
import { until } from "../support/waits";
import { balanceOf, clientOf, newWallet, send, startTestChain } from "./support";

/** A chain that is kept, and started again. */

let stateFile: string;
beforeEach(async () => {
  stateFile = path.join(await mkdtemp(path.join(tmpdir(), "chain-")), "state.json");
});
afterEach(() => rm(path.dirname(stateFile), { recursive: true }));

const HOLDER = "0x3333333333333333333333333333333333333333";

test("goes on where it stopped, with fresh prices; a damaged one says so", async () => {
  let now = Date.now() / 1_000;
  const start = () => startTestChain({ stateFile, clock: () => now });
  const before = await start();
  const wallet = await newWallet(before, { USDC: 10n });
  const receipt = await send(before, wallet, { to: HOLDER, value: 5n });
  await before.stop();

  now += 7 * 86_400;
  const after = await start();
  const client = clientOf(after);
  const { USDC } = after.addresses.tokens;
  expect(after.accounts).toEqual(before.accounts);
  expect(await balanceOf(after, USDC, wallet.address)).toBe(10n);
  const kept = await client.getTransactionReceipt({ hash: receipt.transactionHash });
  expect(kept.blockHash).toBe(receipt.blockHash);
  const round = await client.readContract({
    ...{ address: after.addresses.feeds.ETH, abi: feedAbi, functionName: "latestRoundData" },
  });
  expect(now - Number(round[3])).toBeLessThan(1_200);
  expect((await send(after, wallet, { to: HOLDER, value: 5n })).status).toBe("success");
  await after.stop();

  await truncate(stateFile, 1_000);
  await expect(start()).rejects.toThrow(/The chain did not start: [^]*is damaged, delete its folder/);
});

test("a node that dies is told of", async () => {
  const messages: string[] = [];
  const anvil = await startAnvil({ port: 0, stateFile: null, genesisTime: null });
  void anvil.exited.then((reason) => messages.push(reason));
  process.kill(-anvil.pid, "SIGKILL");
  await until(() => messages.length > 0);
  expect(messages[0]).not.toBe("");
});
