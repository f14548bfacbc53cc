import { expect } from "vitest";
import { test } from "../support/app";

/** What the status says when something does not go well. */

const ALICE = "alice-3f1b6c0d2a";

test("the same start twice shows as two shifts, the newest first", async ({ app }) => {
  const first = await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
  await app.settle();
  const second = await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
  const { body } = await app.get(`/mcp/research/status?userId=${ALICE}`);
  expect(body.activeJob).toMatchObject({ jobId: second.body.jobId, token: "BTC" });
  expect(body.activeJobs).toMatchObject([
    { jobId: second.body.jobId, token: "BTC" },
    { jobId: first.body.jobId, token: "BTC" },
  ]);
});

test("a gateway that refuses its key shows with the sources that failed and why", async ({ app }) => {
  app.standins.fail("llm", { mode: "status", status: 401 });
  await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
  await app.settle(40);
  const { body } = await app.get(`/mcp/research/status?userId=${ALICE}`);
  const error = "The LLM gateway refused this service's key";
  expect(body.activeJob).toMatchObject({
    token: "BTC",
    collectionsCount: 1,
    lastCollection: {
      failed: [
        { source: "market", error },
        { source: "onchain", error },
      ],
    },
  });
});

test("a refused bot token shows as a delivery problem, until a card arrives", async ({ app }) => {
  await app.post("/user/messenger", {
    userId: ALICE,
    messengerBotToken: "999999:AAE-a-token-that-nobody-made-0000000",
    messengerChatId: "4711",
  });
  const problem = async () => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body.deliveryProblem;
  expect(await problem()).toBeNull();
  app.standins.fail("messenger", { mode: "status", status: 401 });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect(await problem()).toMatch(/Unauthorized/);

  app.standins.clear("messenger");
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: "" });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect(await problem()).toBeNull();
});

test("a wallet under an id that could be guessed comes with a warning", async ({ app }) => {
  const short = await app.post("/mcp/wallet/create", { userId: "5" });
  expect(short.body).toMatchObject({ warning: expect.stringContaining("short enough to be guessed") });
  const long = await app.post("/mcp/wallet/create", { userId: "5f2c9a7d1e3b8c4f6a0d27" });
  expect(long.body).toEqual({ address: expect.any(String), existing: false });
});
