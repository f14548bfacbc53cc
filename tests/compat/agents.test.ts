import { expect } from "vitest";
import { type App, test } from "../support/app";

/** What the model was told it is. */
async function systemPromptFor(app: App, agentId: string): Promise<string> {
  const { status, body } = await app.post("/mcp/chat", { question: "How is SOL?", agentId });
  expect([agentId, status, body.agentId]).toEqual([agentId, 200, agentId]);
  const asked = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
  const found = /"content":"([^"]*?)\\n\\n/.exec(JSON.stringify(asked.at(-1)?.body));
  if (found?.[1] === undefined) throw new Error("The model was told nothing");
  return found[1];
}

test.for([
  ["noel-default", "primary-default"],
  ["coingecko-default", "marketdata-default"],
] as const)("%s is %s, and is answered by the name it was asked for", async ([earlier, today], { app }) => {
  expect(await systemPromptFor(app, earlier)).toBe(await systemPromptFor(app, today));
});
