import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { OPERATOR, recordAudit } from "../../convex/lib/records/audit";
import { test } from "../support/app";

test("the audit trail is read page by page, in order, with pseudonyms for users", async ({ app }) => {
  const userId = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
  const created = await app.post("/mcp/wallet/create", { userId });
  expect(created.status).toBe(200);
  await app.t.run(async (ctx) => {
    for (let index = 0; index < 1_100; index++) {
      await recordAudit(ctx, { actor: OPERATOR, action: "key rotated", subject: `wallet-${index}` });
    }
  });

  const lines = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: { lines: { actor: string; action: string; subject: string }[]; cursor: string | null } =
      await app.t.query(internal.ops.audit.page, { cursor });
    expect(page.lines.length).toBeLessThanOrEqual(500);
    lines.push(...page.lines);
    cursor = page.cursor;
    pages++;
  } while (cursor !== null);

  expect(pages).toBeGreaterThanOrEqual(3);
  expect(lines).toHaveLength(1_101);
  expect(lines[0]).toMatchObject({
    actor: expect.stringMatching(/^usr_[0-9a-f]{24}$/),
    action: "key created",
  });
  expect(lines.slice(1).map(({ subject }) => subject)).toEqual(
    Array.from({ length: 1_100 }, (_, index) => `wallet-${index}`),
  );
  expect(JSON.stringify(lines)).not.toContain(userId);
});
