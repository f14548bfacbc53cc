import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { eventually } from "../support/waits";
import { ran } from "./processes";

/** A fresh local stack anchors its record on its own chain, and whoever checks it is told so. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null", ephemeral: true, speed: 60 });
});
afterAll(() => stack.stop());

const anchors = z.object({ anchors: z.array(z.object({ sequence: z.number(), status: z.string() })) });

const verify = (...args: string[]) => ran("scripts/verifySignals.ts", args);

test("the record of a fresh stack is anchored, and verify-signals tells since when it is fixed", async () => {
  const { application, siteUrl, chain } = stack;
  const arm = "claude-haiku-4.5@signal-3";
  // The first event there can be at any time of day.
  await application.runMutation("signals/arms/promotions:promote", { arm, force: "To have an event." });
  await application.runMutation("signals/record/anchors:anchorDue", {});
  const anchored = await eventually(async () => {
    await application.runMutation("wallets/orders/rows:takeUpDue", {});
    const answer = await fetch(`${siteUrl}/signals/anchors`);
    const [first] = anchors.parse(await answer.json()).anchors;
    return first?.status === "confirmed" ? first : undefined;
  });
  expect(anchored.sequence).toBe(1);
  const told = await verify(siteUrl, "--rpc", chain?.url ?? "");
  expect(told.output).toContain("The record holds, as far as it was checked: 1 events, 0 signals.");
  expect(told.output).toMatch(/Events 1 to 1 cannot have been rewritten since \d{4}-\d\d-\d\dT/);
  expect(told.output).toContain("So do the 0 events and the figures of 0 shadow arms");
  expect(told.output).toContain("Not checked:\n  - entries and outcomes against the market");
  expect(told.code).toBe(0);
});
