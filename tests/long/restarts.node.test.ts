import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { ChainStateError } from "../../scripts/chain";
import { PERMIT2 } from "../../scripts/chain/addresses";
import { startAnvil } from "../../scripts/chain/anvil";
import { createRpc } from "../../scripts/chain/rpc";
import {
  ageOfPrice,
  HEARTBEAT,
  HOLDER,
  start,
  stateFile,
  stop,
  usdcOf,
  useStateFolder,
} from "../chain/keptChains";
import { clientOf, newWallet } from "../chain/support";
import { until } from "../support/waits";

/** What is rarer than what `tests/chain/restarts.node.test.ts` holds. */

useStateFolder();

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

test("a deleted state stays deleted", async () => {
  const first = await start();
  await first.fund(HOLDER, { USDC: 1n });
  await stop(first);
  await stop(await start());
  await rm(stateFile());
  expect(await usdcOf(await start(), HOLDER)).toBe(0n);
});

test("a chain whose set-up was cut short is made anew", async () => {
  const anvil = await startAnvil({ port: 0, stateFile: stateFile(), genesisTime: null });
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
  await expect(refusal).rejects.toThrow(`${stateFile()} holds a chain with other contracts`);
});

test("a chain that another host keeps is refused", async () => {
  await start();
  const refusal = start();
  await expect(refusal).rejects.toThrow(ChainStateError);
  await expect(refusal).rejects.toThrow(`${stateFile()} is in use`);
});
