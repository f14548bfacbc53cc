import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { test } from "../support/app";
import { browserOf } from "../support/browser";

test("whoever uses up an owner's limit of changes does not keep the owner from freezing", async ({ app }) => {
  const { profile } = api.accounts;
  const browser = browserOf(app, "alice");
  await browser.mutation(profile.signIn, {});
  const limited = { data: { code: "rate_limited" } };
  const changes = Array.from({ length: 61 }, () => browser.mutation(profile.setLimit, { dailyUsd: "1" }));
  await expect(Promise.all(changes)).rejects.toMatchObject(limited);
  await browser.mutation(profile.freeze, {});
  expect(await browser.query(profile.me, {})).toMatchObject({ frozenAt: expect.any(Number), thawsAt: null });
  // Once nothing is left to stop, it is a change as any other.
  await expect(browser.mutation(profile.freeze, {})).rejects.toMatchObject(limited);
});
