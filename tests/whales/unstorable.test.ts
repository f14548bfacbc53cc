import { v } from "convex/values";
import { expect } from "vitest";
import { internalMutation } from "../../convex/_generated/server";
import { createApp, test } from "../support/app";
import { agentSays, alert, BEGIN, HOUR, polls } from "./support";

/** What stores an answer takes none: no reading should yield what the platform refuses, and no agent can say it. */
const finish = internalMutation({
  args: { nothing: v.null() },
  returns: v.null(),
  handler: () => null,
});

test("a watch whose answer cannot be stored ends within minutes, noted", async () => {
  const app = createApp({
    replaced: {
      "whales/agent/jobs": async () => ({ ...(await import("../../convex/whales/agent/jobs")), finish }),
    },
  });
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
