import { expect, vi } from "vitest";
import type * as prompts from "../../convex/whales/agent/prompts";
import { test } from "../support/app";
import { agentSays, alert, BEGIN, HOUR, polls } from "./support";

/** An answer that was read as something the platform does not store: what no reading should yield, and no test can order. */
vi.mock("../../convex/whales/agent/prompts", async (load) => ({
  ...(await load<typeof prompts>()),
  readAnswer: () => ({ alerts: [{ ...alert(), amount: "4.2 million" }], dropped: 0, note: null }),
}));

test("a watch whose answer cannot be stored ends within minutes, noted", async ({ app }) => {
  agentSays(app, [alert()]);
  await app.t.mutation(BEGIN, {});
  await app.pass(7 * 60_000);
  expect(await app.rows("whaleWatches")).toMatchObject([
    { state: "failed", note: "The agent's job did not end in time. Its answer could not be stored" },
  ]);
  const asked = polls(app).length;
  expect(asked).toBeLessThan(40);
  await app.pass(HOUR / 2);
  expect(polls(app)).toHaveLength(asked);
});
