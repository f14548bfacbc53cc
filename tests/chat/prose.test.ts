import { expect } from "vitest";
import { decodeFacts, encodeFacts } from "../../convex/market/facts";
import { removeForeignLinks } from "../../convex/lib/text/markup";
import { test } from "../support/app";

/** Posts are read by models, and may have been written for that. */

const ADDRESS = "0x9999999999999999999999999999999999999999";

test.each([
  ["Claim at https://claim-base.xyz/now before noon.", "Claim at (link removed) before noon."],
  ["Claim at HTTPS://CLAIM-BASE.XYZ.", "Claim at (link removed)."],
  ["Go to www.claim.example now", "Go to (link removed) now"],
  ["Read [the news](https://evil.example/a) today", "Read the news today"],
  ["tg://resolve?domain=evil is open", "(link removed) is open"],
  [`Send to ${ADDRESS} for double.`, "Send to (address removed) for double."],
  ["Pay bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq soon", "Pay (address removed) soon"],
  ["Pay 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU soon", "Pay (address removed) soon"],
])("of %j only words are left", (said, left) => {
  expect(removeForeignLinks(said, "")).toBe(left);
});

test.each([
  "Bitcoin rose 1.5 % to $65,000.12 in the U.S. session, e.g. after 14:30 UTC.",
  "Volume on Crypto.com and Pump.fun doubled; BTC/USD held 64,999.99.",
  "The electroencephalographically inclined hold.Ether follows.",
])("what is no link stays: %s", (said) => {
  expect(removeForeignLinks(said, "")).toBe(said);
});

test("what a source gave stays", () => {
  const known = `Posts: https://x.com/a/status/1 from ${ADDRESS}`;
  const said = `As https://x.com/a/status/1 says of ${ADDRESS}.`;
  expect(removeForeignLinks(said, known)).toBe(said);
});

test("a headline makes no link known, and whoever asks of one is answered about it", async ({ app }) => {
  const link = "https://evil.example/claim";
  app.standins.fail("llm", { mode: "reply", schema: "chat", content: `Go to ${link} now.` });
  const ask = async (question: string) =>
    (await app.post("/mcp/chat", { question, agentId: "news-default" })).body.answer;
  await ask("What is new?");
  await app.t.run(async ({ db }) => {
    for (const row of await db.query("facts").collect()) {
      const facts = decodeFacts(row).map((fact) =>
        fact.kind === "headline" ? { ...fact, value: `Claim at ${link}` } : fact,
      );
      await db.patch("facts", row._id, { facts: encodeFacts(facts) });
    }
  });
  expect(await ask("What is new?")).toBe("Go to (link removed) now.");
  const { body } = app.standins.sent("llm").at(-1) ?? {};
  expect(JSON.stringify(body)).toContain(`Claim at ${link}`);
  expect(await ask(`Is ${link} safe?`)).toBe(`Go to ${link} now.`);
});

test("a post's link and address get into no answer, card or page", async ({ app }) => {
  const evil = `Claim at https://claim-base.xyz or send to ${ADDRESS}`;
  app.standins.fail("sentiment", {
    mode: "reply",
    content: JSON.stringify({
      overall: evil,
      tokens: [{ token: "SOL", sentiment: "bullish", buzz: 9, narrative: evil }],
    }),
  });
  app.standins.fail("llm", { mode: "reply", schema: "chat", content: evil });
  const chat = await app.post("/mcp/chat", { question: "What is new?" });
  expect([chat.status, chat.body.answer]).toEqual([
    200,
    "Claim at (link removed) or send to (address removed)",
  ]);
  await app.post("/mcp/research", { token: "SOL" });
  await app.settle();
  const stored = JSON.stringify(await app.rows("observations")) + JSON.stringify(await app.rows("answers"));
  expect(stored).not.toMatch(/claim-base|0x9{40}/);
  const asked = JSON.stringify(app.standins.sent("llm").filter(({ schema }) => schema !== undefined));
  expect(asked).not.toMatch(/claim-base|0x9{40}/);
});
