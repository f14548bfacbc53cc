import { describe, expect } from "vitest";
import { v } from "convex/values";
import { internalMutation } from "../../convex/_generated/server";
import * as slots from "../../convex/lib/limits/crowd";
import * as calls from "../../convex/lib/outside/providerCalls";
import { test } from "../support/app";

/** Whatever is written down after the work is done: its failure changes no answer. */

const failing = internalMutation({
  args: v.any(),
  returns: v.null(),
  handler: () => Promise.reject(new Error("OptimisticConcurrencyControlFailure")),
});
const { leave: _leave, ...crowd } = slots;
const { record: _record, ...providerCalls } = calls;

describe("bookkeeping after the work that fails", () => {
  test.override({
    settings: {
      replaced: {
        "lib/limits/crowd": () => Promise.resolve({ ...crowd, leave: failing }),
        "lib/outside/providerCalls": () => Promise.resolve({ ...providerCalls, record: failing }),
      },
    },
  });

  test("changes no answer", async ({ app }) => {
    const userId = "somebody-who-asks-many-things";
    const answers = [
      await app.post("/mcp/chat", { question: "What moved the market?", userId }, { ip: "192.0.2.9" }),
      await app.get("/mcp/market", { ip: "192.0.2.9" }),
      await app.get("/mcp/token?token=BTC&question=Why", { ip: "192.0.2.9" }),
      await app.post("/mcp/wallet/create", { userId, kind: "basic" }, { ip: "192.0.2.9" }),
      await app.post("/mcp/research", { userId, token: "BTC" }, { ip: "192.0.2.9" }),
    ];
    expect(answers.map(({ status, text }) => (status === 200 ? 200 : text))).toEqual(answers.map(() => 200));
  });
});
