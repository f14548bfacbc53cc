import { afterAll, beforeAll, expect, test } from "vitest";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { buildProxy, connect, textOf, type Built, type Connection } from "./support";

/** A whole research shift as a person in a chat sees it, on a stack whose clock runs fast. */

let stack: Stack;
let built: Built;
let proxy: Connection;

beforeAll(async () => {
  built = await buildProxy();
  stack = await startStack({ envFile: "/dev/null", speed: 1_000 });
  proxy = await connect(built.file, stack.siteUrl);
}, 240_000);

afterAll(async () => {
  await proxy.client.close();
  await stack.stop();
  await built.remove();
}, 60_000);

test("a shift's final report can be read when its 8 hours are over", async () => {
  const userId = crypto.randomUUID();
  await proxy.call("start_research", { userId, token: "SOL" });
  const status = async () => textOf(await proxy.call("get_research_status", { userId }));
  await expect.poll(status, { timeout: 200_000, interval: 500 }).toMatch(/^- .*UTC, final, /m);
  expect(await status()).toMatch(/^No research shift is active\.\nLatest reports:\n- /);

  const report = await proxy.call("get_research_report", { token: "sol" });
  expect(textOf(report)).toMatch(/^Final report on SOL, .*UTC\n[🟢🔴🟡] .*\nOutlook: [🟢🔴🟡] \w+\n\n- /u);
}, 240_000);
