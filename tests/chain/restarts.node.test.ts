import { execFile, spawn } from "node:child_process";
import { constants } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { toHex } from "viem";
import { expect, onTestFinished, test, vi } from "vitest";
import { startAnvil } from "../../scripts/chain/anvil";
import { lockOf, prepareStateFile } from "../../scripts/chain/stateFile";
import { ageOfPrice, HEARTBEAT, HOLDER, start, stateFile, stop, usdcOf, useStateFolder } from "./keptChains";
import { clientOf, newWallet, send } from "./support";
import { until } from "../support/waits";

useStateFolder();

test("a chain goes on where it stopped", async () => {
  const before = await start();
  const wallet = await newWallet(before, { USDC: 10n });
  const receipt = await send(before, wallet, { to: HOLDER, value: 5n });
  const addresses = before.accounts;
  await stop(before);

  const after = await start();
  const client = clientOf(after);
  expect(after.accounts).toEqual(addresses);
  expect(await usdcOf(after, wallet.address)).toBe(10n);
  expect(await client.getBalance({ address: HOLDER })).toBe(5n);
  const kept = await client.getTransactionReceipt({ hash: receipt.transactionHash });
  expect(kept.blockHash).toBe(receipt.blockHash);
  expect((await send(after, wallet, { to: HOLDER, value: 5n })).status).toBe("success");
});

test("prices are fresh after a long time off", async () => {
  let now = Date.now() / 1_000;
  await stop(await start({ clock: () => now }));
  now += 7 * 86_400;
  const chain = await start({ clock: () => now });
  expect(await ageOfPrice(chain, now)).toBeLessThan(HEARTBEAT);
});

test("a node that is ending is waited for while it saves, and one that goes on is not", async () => {
  const lock = lockOf(stateFile());
  await mkdir(path.dirname(lock), { recursive: true });
  await promisify(execFile)("mkfifo", [lock]);
  const node = await open(lock, constants.O_RDWR);
  onTestFinished(() => node.close().catch(() => undefined));
  let looks = 0;
  // Each look at the clock is ten seconds later.
  vi.spyOn(performance, "now").mockImplementation(() => 10_000 * looks++);
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(prepareStateFile(stateFile(), () => undefined)).rejects.toThrow("is in use");
  looks = 0;
  await writeFile(`${lock}.ending`, "");
  const ready = prepareStateFile(stateFile(), () => undefined);
  await until(() => looks >= 3);
  await node.close();
  expect(await ready).toBe(false);
});

test("a damaged state is replaced by the last good one, and without one the chain starts afresh", async () => {
  const first = await start();
  await first.fund(HOLDER, { USDC: 1n });
  await stop(first);
  await stop(await start());
  const whole = await readFile(stateFile(), "utf8");
  await writeFile(stateFile(), whole.slice(0, whole.length / 2));

  const messages: string[] = [];
  const log = (message: string) => void messages.push(message);
  const restored = await start({ log });
  expect(await usdcOf(restored, HOLDER)).toBe(1n);
  expect(messages).toEqual([expect.stringContaining("is damaged: the chain goes on")]);
  await stop(restored);

  await writeFile(stateFile(), "{");
  await rm(`${stateFile()}.good`);
  const fresh = await start({ log });
  expect(await usdcOf(fresh, HOLDER)).toBe(0n);
  expect(messages[1]).toContain("starts afresh");
});

test("a host that is killed leaves no node behind, and its state is kept", async () => {
  const script = path.join(import.meta.dirname, "host.ts");
  const host = spawn(process.execPath, ["--import", "tsx", script, stateFile()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve) => {
    host.stdout.once("data", (chunk: Buffer) => {
      resolve(chunk.toString().trim());
    });
  });
  host.kill("SIGKILL");
  // At once, while the node may still be saving.
  const chain = await start();
  await expect(fetch(url)).rejects.toThrow();
  expect(await usdcOf(chain, "0x2222222222222222222222222222222222222222")).toBe(42n);
});

test("the host is told the time of the last block before the clock is asked", async () => {
  const now = Date.now() / 1_000 + 3_600;
  await stop(await start({ clock: () => now }));
  const asked: string[] = [];
  const chain = await start({
    clock: () => {
      asked.push("clock");
      return now - 3_600;
    },
    onHead: (time) => void asked.push(`head ${time}`),
  });
  expect(asked.slice(0, 2)).toEqual([`head ${Math.floor(now)}`, "clock"]);
  expect((await clientOf(chain).getBlock()).timestamp).toBe(BigInt(Math.floor(now)));
});

test("a node that dies is told of", async () => {
  const messages: string[] = [];
  const anvil = await startAnvil({ port: 0, stateFile: null, genesisTime: null });
  void anvil.exited.then((reason) => messages.push(reason));
  process.kill(-anvil.pid, "SIGKILL");
  await until(() => messages.length > 0);
  expect(toHex(messages[0] ?? "")).not.toBe("0x");
});
