import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRpc } from "../../scripts/chain/rpc";
import { until } from "../support/waiting";
import { addressesOf, startMain, temporaryDirectory } from "./processes";

/** The host is killed in the middle of a research shift, and started again. */

const USER = "killed-user-1";
/** Longer than the application's lease on a collection and the interval of its cron together. */
const LATER_SECONDS = 660;

const startShape = z.object({ jobId: z.string() });
const statusShape = z.object({ activeJob: z.looseObject({ jobId: z.string(), status: z.string() }) });
const rowsShape = z.object({
  components: z.object({
    "": z.array(z.object({ table: z.string(), document: z.record(z.string(), z.unknown()) })),
  }),
});
const messagesShape = z.array(z.looseObject({ method: z.string(), text: z.string() }));

async function read<Shape extends z.ZodType>(
  shape: Shape,
  url: string,
  body?: unknown,
): Promise<z.output<Shape>> {
  const response = await fetch(url, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return shape.parse(await response.json());
}

test("a shift goes on after kill -9 in the middle of a collection, and the chain does not go back", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const start = async () => {
    const process = startMain([], { LOCAL_STATE_DIR });
    const { site, standins, chain } = await addressesOf(process);
    const rpc = createRpc(chain);
    return {
      process,
      site,
      standins,
      rpc,
      height: async () => Number(await rpc.call("eth_blockNumber")),
      status: () => read(statusShape, `${site}/mcp/research/status?userId=${USER}`),
      notices: async () =>
        (await read(messagesShape, `${standins}/_sent/messenger`)).filter(
          ({ method }) => method === "sendMessage",
        ),
      kill: async (signal: NodeJS.Signals) => {
        process.kill(signal);
        return (await process.ended).code;
      },
    };
  };
  const rowsOf = async (table: string) => {
    const text = await readFile(path.join(LOCAL_STATE_DIR, "data.json"), "utf8").catch(() => null);
    if (text === null) return [];
    const rows = rowsShape.parse(JSON.parse(text)).components[""];
    return rows.filter((row) => row.table === table).map(({ document }) => document);
  };

  const first = await start();
  await read(z.unknown(), `${first.standins}/_control`, { provider: "llm", mode: "slow", ms: 60_000 });
  const { jobId } = await read(startShape, `${first.site}/mcp/research/start`, {
    userId: USER,
    token: "SOL",
  });
  await until(async () => (await read(z.array(z.unknown()), `${first.standins}/_sent/llm`)).length >= 2);
  await until(async () => (await first.notices()).length > 0);
  await until(async () => (await rowsOf("dataPoints")).length > 0);
  expect(await rowsOf("observations")).toEqual([expect.objectContaining({ state: "collecting" })]);
  await first.rpc.batch([["evm_mine"], ["evm_mine"], ["evm_mine"], ["evm_mine"], ["evm_mine"]]);
  const heightBefore = await first.height();
  const noticesBefore = await first.notices();
  await first.kill("SIGKILL");

  const second = await start();
  expect(await second.status()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await second.height()).toBeGreaterThanOrEqual(heightBefore);
  // A kept chain that is ahead takes the application's clock along: the next start is some minutes later.
  const later = Math.floor(Date.now() / 1_000) + LATER_SECONDS;
  await second.rpc.call("evm_mine", [{ timestamp: later }]);
  const heightOfSecond = await second.height();
  const noticesOfSecond = await second.notices();
  expect(await second.kill("SIGTERM")).toBe(0);
  expect(await rowsOf("shifts")).toEqual([expect.objectContaining({ _id: jobId, status: "active" })]);
  const dataPoints = await rowsOf("dataPoints");
  expect(dataPoints).toEqual([expect.objectContaining({ shiftId: jobId, sequence: 1 })]);

  const third = await start();
  expect(await third.height()).toBeGreaterThanOrEqual(heightOfSecond);
  await until(async () => {
    const [observation] = await rowsOf("observations");
    return observation?.state === "settled";
  });
  const [observation] = await rowsOf("observations");
  expect(observation).toMatchObject({
    _id: dataPoints[0]?.observationId,
    sources: { market: { state: "ok" }, sentiment: { state: "ok" }, onchain: { state: "ok" } },
  });
  expect(await third.status()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await rowsOf("dataPoints")).toEqual(dataPoints);

  // Later ones are of later work: how much of that there is depends on how long this took.
  const told = [...noticesBefore, ...noticesOfSecond, ...(await third.notices())].map(({ text }) => text);
  expect([1, 2]).toContain(told.filter((text) => text === told[0]).length);
  expect(await third.kill("SIGTERM")).toBe(0);
});
