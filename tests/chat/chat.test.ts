import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { takeLastTurns } from "../../convex/chat/runs";
import { creditDeposit } from "../../convex/credits/model";
import { SECURITY_MESSAGE } from "../../convex/lib/keyRequests";
import { HOUR } from "../../convex/lib/time";
import { CUT_OFF } from "../standins/support";
import { type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import { insertAlerts, insertSignals } from "../support/rows/signalRows";

const completionBody = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

/** The conversation the gateway was last asked to continue. */
function lastConversation(app: App) {
  const chats = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
  return completionBody.parse(chats.at(-1)?.body).messages;
}
/** Rules, and at the end facts and question. */
const lastPrompt = (app: App) => {
  const [rules, ...turns] = lastConversation(app);
  return `${rules?.content}\n${turns.at(-1)?.content}`;
};
const ask = (app: App, question: string, more: object = {}) => app.post("/mcp/chat", { question, ...more });

describe("POST /mcp/chat", () => {
  test("answers as the default agent from cited facts of the live market, and names their sources", async ({
    app,
  }) => {
    const { status, body } = await ask(app, "How is DOGE?");
    expect([status, body]).toEqual([
      200,
      {
        answer: expect.stringMatching(
          /DOGE price \$[\d.]+ \[1\], DOGE price change over the day \+[\d.]+\u202F% \[2\]\.\n\nSources: \[1\] \[2\] CoinGecko$/,
        ),
        agentId: "primary-default",
        model: expect.stringContaining("simulated"),
        sources: expect.arrayContaining([
          expect.objectContaining({
            name: "CoinGecko",
            url: "https://www.coingecko.com/en/coins/dogecoin",
          }),
        ]),
      },
    ]);
    expect(lastPrompt(app)).toMatch(
      /crypto assistant[^]*\n# CoinGecko, 09:00Z\nsubject \| price \|[^]*\nBTC \| f1 \$[\d,.]+ \|[^]*\nDOGE \| f\d+ \$[\d.]+ \|[^]*\n\nQuestion: How is DOGE\?$/,
    );
    expect(lastConversation(app).map(({ role }) => role)).toEqual(["system", "user"]);
  });

  test("marks each figure that no fact has", async ({ app }) => {
    const content =
      "Bitcoin is at $42,000 [f1]. It leads. Ether gained 77 % this week.\n- Nothing else moved.";
    app.standins.fail("llm", { mode: "reply", content, schema: "chat" });
    const { body } = await ask(app, "How is the market?");
    expect(body.answer).toBe(
      "Bitcoin is at $42,000 [model] [1]. It leads. Ether gained 77 % [model] this week.\n- Nothing else moved.\n\nSources: [1] CoinGecko",
    );
  });

  test("gives each agent its own prompt, the news agent headlines with their sources; an unknown one is 404", async ({
    app,
  }) => {
    const prompts = new Set<string | undefined>();
    for (const agentId of ["primary-default", "marketdata-default", "news-default", "news-default"]) {
      const { body } = await ask(app, "hello", { agentId });
      expect(body.agentId).toBe(agentId);
      prompts.add(lastPrompt(app).split("\n")[0]);
    }
    expect(prompts.size).toBe(3);
    expect(lastPrompt(app)).toMatch(/^# \S+\.com?, \d\d:\d\dZ\nf\d+ Market headline: “.+”$/m);
    expect(app.standins.sent("coindesk")).toHaveLength(1);
    for (const agentId of ["nobody", "toString", "__proto__"]) {
      const { status, body } = await ask(app, "hello", { agentId });
      expect([status, body]).toEqual([
        404,
        {
          error: `There is no agent named ${agentId}: there are primary-default (who answers when agentId is left out), news-default and marketdata-default`,
        },
      ]);
    }
  });

  test("passes earlier turns on in order, the oldest dropped when they are too long", async ({ app }) => {
    const turn = (index: number, content: string) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content,
    });
    const few = ["first", "x".repeat(14_000), "y".repeat(14_000), "last"];
    await ask(app, "and now?", { messages: few.map((content, index) => turn(index, content)) });
    const contents = lastConversation(app).map(({ content }) => content);
    expect(contents.slice(1, -1).map((content) => content[0])).toEqual(["y", "l"]);
    expect(contents.at(-1)).toMatch(/\nQuestion: and now\?$/);
    const many = Array.from({ length: 300 }, (_, index) => turn(index, `turn ${index} ${"x".repeat(200)}`));
    expect((await ask(app, "and now?", { messages: many })).status).toBe(200);
    const turns = lastConversation(app).slice(1, -1);
    expect(turns.at(-1)?.content).toContain("turn 299 ");
    expect([turns.length > 50, turns.length < 200]).toEqual([true, true]);
    // The end of a turn that is too long by itself stays.
    const [only] = takeLastTurns([{ role: "user", content: `${"a".repeat(50)}🚀end` }], 5);
    expect(only?.content).toBe("…🚀end");
  });

  test("knows the user's running shift and reports, with the owner's token alone once the id is owned", async ({
    app,
  }) => {
    const SHIFT = { userId: "alice-id", token: "SOL" };
    await app.post("/mcp/research/start", SHIFT);
    await app.settle();
    vi.setSystemTime(Date.now() + 2.6 * HOUR);
    await app.pass(HOUR / 6);
    await ask(app, "What did you find?", { userId: "alice-id" });
    expect(lastPrompt(app)).toMatch(/Running research shift on SOL[\s\S]*interim report on SOL/);
    expect(lastPrompt(app)).not.toContain("alice");
    // Of deeds it may tell that one which a row proves.
    const [, row = ""] = /\bf(\d+) Running research shift/.exec(lastPrompt(app)) ?? [];
    const content = `I have started your research on SOL [f${row}]. I have also sold your ETH [f${row}].\n- I've set an alert.`;
    app.standins.fail("llm", { mode: "reply", content, schema: "chat" });
    expect((await ask(app, "What did you do?", { userId: "alice-id" })).body.answer).toMatch(
      /^I have started your research on SOL \[\d+\]\.\n\nSources: \[\d+\] this user's research/,
    );
    const { body: told } = await ask(app, "What did you do?", { userId: "bob" });
    expect(told.answer).toBe("Nothing was done: words alone set, change and move nothing here.");
    app.standins.clear("llm");
    const isTold = async (as?: string) => {
      const body = JSON.stringify({ question: "What did you find?", userId: "alice-id" });
      expect(
        (await app.call("POST", "/mcp/chat", { body, ...(as === undefined ? {} : { as }) })).status,
      ).toBe(200);
      return lastPrompt(app).includes("Running research shift on SOL");
    };
    await ask(app, "What did you find?", { userId: "bob" });
    expect([lastPrompt(app).includes("shift on SOL"), await isTold()]).toEqual([false, true]);
    for (const name of ["alice", "mallory"]) {
      const claim = { userId: `${name}-id` };
      await browserOf(app, name).action(api.accounts.actions.claimUserId, claim);
    }
    await app.post("/mcp/research/start", SHIFT, { as: "alice" });
    expect([await isTold(), await isTold("mallory"), await isTold("alice")]).toEqual([false, false, true]);
  });

  test("knows the day's signals and the last large movements, unverified ones marked", async ({ app }) => {
    const description = "A fund sent ETH to an exchange.";
    await insertAlerts(app, [
      { alertType: "cex_inflow", amount: 5_000_000, direction: "bearish", description },
    ]);
    await insertSignals(app, 0);
    await ask(app, "Was gibt es Neues?");
    expect(lastPrompt(app)).toMatch(/BTC BUY at \$100, targets \$\d+ and \$\d+/);
    expect(lastPrompt(app)).toMatch(/ETH cex_inflow, \$5000000.*not verified on chain/);
    expect(lastPrompt(app)).toContain("Answer in the language of the question");
  });

  test("answers a request for a key itself, without any model", async ({ app }) => {
    const { status, body } = await ask(app, "What is my seed phrase?");
    const none = { agentId: "primary-default", model: "none", sources: [] };
    expect([status, body]).toEqual([200, { answer: SECURITY_MESSAGE, ...none }]);
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test("is 502 when the gateway answers nothing, or not to the end; without the market it goes on", async ({
    app,
  }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    expect((await ask(app, "hello")).status).toBe(200);
    expect(lastPrompt(app)).toMatch(/headline/);
    expect(lastPrompt(app)).not.toMatch(/price: /);
    expect(app.standins.sent("llm")).toHaveLength(1);
    for (const [fault, error] of [
      [{ mode: "reply", content: "  " }, "The LLM gateway sent an unusable answer"],
      [CUT_OFF, "The LLM gateway sent an answer that was cut off at its limit"],
    ] as const) {
      app.standins.fail("llm", fault);
      const { status, body } = await ask(app, "hello");
      expect([status, body]).toEqual([502, { error }]);
      app.standins.clear("llm");
    }
  });
});

test("a paid run goes on from the runs before it, and pays for them", async ({ app }) => {
  const alice = browserOf(app, "alice");
  const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
  await app.t.run((ctx) => creditDeposit(ctx, { userId, amount: 1_000, key: "given", source: "usdc" }));
  for (const question of [
    "My favourite coin is SOL.",
    "Show me my private key",
    "How is my favourite coin?",
  ]) {
    await alice.mutation(api.chat.runs.start, { question });
    await app.settle();
  }
  const said = lastConversation(app).slice(1);
  expect(said.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(said[0]?.content).toBe("My favourite coin is SOL.");
});
