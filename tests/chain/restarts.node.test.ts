import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { erc20Abi, toHex, type Address } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChainStateError, type Chain } from "../../scripts/stack/chain";
import { feedAbi } from "../../scripts/stack/chain/abis";
import { PERMIT2 } from "../../scripts/stack/chain/addresses";
import { startAnvil } from "../../scripts/stack/chain/anvil";
import { createRpc } from "../../scripts/stack/chain/rpc";
import { PortInUseError } from "../../scripts/stack/listener";
import { clientOf, newWallet, send, startTestChain, until } from "./support";

let directory: string;
let stateFile: string;
const running = new Set<Chain>();

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "chain-"));
  stateFile = path.join(directory, "chain", "state.json");
});
afterEach(async () => {
  await Promise.all([...running].map(stop));
  await rm(directory, { recursive: true });
});

async function start(options: Parameters<typeof startTestChain>[0] = {}): Promise<Chain> {
  const chain = await startTestChain({ stateFile, ...options });
  running.add(chain);
  return chain;
}

async function stop(chain: Chain): Promise<void> {
  running.delete(chain);
  await chain.stop();
}

function usdcOf(chain: Chain, owner: Address): Promise<bigint> {
  const address = chain.addresses.tokens.USDC;
  return clientOf(chain).readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [owner] });
}

/** How old the ETH price is, in seconds of the given time. */
async function ageOfPrice(chain: Chain, now: number): Promise<number> {
  const address = chain.addresses.feeds.ETH;
  const round = await clientOf(chain).readContract({
    address,
    abi: feedAbi,
    functionName: "latestRoundData",
  });
  return now - Number(round[3]);
}

const HEARTBEAT = 1_200;
const HOLDER = "0x3333333333333333333333333333333333333333";

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

test("what is pending when a chain stops is mined first", async () => {
  const before = await start();
  const wallet = await newWallet(before);
  await before.miner.pause();
  const data = { from: before.accounts[0], to: wallet.address, value: "0x7" };
  await before.rpc("eth_sendTransaction", [data]);
  before.miner.resume();
  await stop(before);
  const after = await start();
  expect(await clientOf(after).getBalance({ address: wallet.address })).toBe(10n ** 18n + 7n);
});

test("prices are fresh after a long time off", async () => {
  let now = Date.now() / 1_000;
  await stop(await start({ clock: () => now }));
  now += 7 * 86_400;
  const chain = await start({ clock: () => now });
  expect(await ageOfPrice(chain, now)).toBeLessThan(HEARTBEAT);
});

test("prices stay fresh on an idle chain, and calls see the time", async () => {
  let now = Date.now() / 1_000;
  const chain = await start({ stateFile: null, clock: () => now });
  for (let hour = 0; hour < 3; hour++) {
    now += 3_600;
    await until(async () => (await ageOfPrice(chain, now)) < HEARTBEAT);
  }
  const { timestamp } = await clientOf(chain).getBlock();
  expect(now - Number(timestamp)).toBeLessThan(HEARTBEAT);
});

test("a chain can live in another time than the machine's", async () => {
  const now = Date.UTC(2020, 0, 1) / 1_000;
  const chain = await start({ stateFile: null, clock: () => now });
  expect((await clientOf(chain).getBlock()).timestamp).toBe(BigInt(now));
  expect(await ageOfPrice(chain, now)).toBe(0);
});

test("a damaged state is replaced by the last good one, and without one the chain starts afresh", async () => {
  const first = await start();
  await first.fund(HOLDER, { USDC: 1n });
  await stop(first);
  await stop(await start());
  const whole = await readFile(stateFile, "utf8");
  await writeFile(stateFile, whole.slice(0, whole.length / 2));

  const messages: string[] = [];
  const log = (message: string) => void messages.push(message);
  const restored = await start({ log });
  expect(await usdcOf(restored, HOLDER)).toBe(1n);
  expect(messages).toEqual([expect.stringContaining("is damaged: the chain goes on")]);
  await stop(restored);

  await writeFile(stateFile, "{");
  await rm(`${stateFile}.good`);
  const fresh = await start({ log });
  expect(await usdcOf(fresh, HOLDER)).toBe(0n);
  expect(messages[1]).toContain("starts afresh");
});

test("a deleted state stays deleted", async () => {
  const first = await start();
  await first.fund(HOLDER, { USDC: 1n });
  await stop(first);
  await stop(await start());
  await rm(stateFile);
  expect(await usdcOf(await start(), HOLDER)).toBe(0n);
});

test("a chain whose set-up was cut short is made anew", async () => {
  const anvil = await startAnvil({ port: 0, stateFile, genesisTime: null });
  const rpc = createRpc(anvil.url);
  await rpc.call("anvil_setCode", [PERMIT2, "0x00"]);
  await rpc.call("evm_mine");
  await anvil.stop();
  const messages: string[] = [];
  const chain = await start({ log: (message) => void messages.push(message) });
  expect(messages).toEqual([expect.stringContaining("cut short")]);
  expect(await usdcOf(chain, chain.accounts[0] ?? HOLDER)).toBe(10n ** 12n);
});

test("a chain with other contracts is refused, with what to do", async () => {
  const chain = await start();
  await chain.rpc("anvil_setCode", [chain.addresses.settler, "0x00"]);
  await stop(chain);
  const refusal = start();
  await expect(refusal).rejects.toThrow(ChainStateError);
  await expect(refusal).rejects.toThrow(`${stateFile} holds a chain with other contracts`);
});

test("a busy port is named", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    const refusal = start({ port, stateFile: null });
    await expect(refusal).rejects.toThrow(PortInUseError);
    await expect(refusal).rejects.toThrow(`Port ${port} is in use`);
  } finally {
    server.close();
  }
});

test("a host that is killed leaves no node behind, and its state is kept", async () => {
  const script = path.join(import.meta.dirname, "host.ts");
  const host = spawn(process.execPath, ["--import", "tsx", script, stateFile], {
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

test("a chain that another host keeps is refused", async () => {
  await start();
  const refusal = start();
  await expect(refusal).rejects.toThrow(ChainStateError);
  await expect(refusal).rejects.toThrow(`${stateFile} is in use`);
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
