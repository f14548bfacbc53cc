import { command } from "./command";
import { measureCost, STORED } from "./prompts/stored";
import { startStack } from "./stack/stack";

/** `npx tsx scripts/prompts.ts`: what chats and reports take at the LLM gateway, in tokens and USD, beside what they took. */

const USAGE = `Usage: npx tsx scripts/prompts.ts

Makes ten stored requests on the local stack, and prints the tokens and the cost of what each asks the LLM gateway.
Answers count as long as models write them; prices are the default model's, without discounts for cached prompts.`;

await command({ usage: USAGE, flags: {} }, async () => {
  const { siteUrl, standins, stop } = await startStack({ ephemeral: true });
  for (const { name, path, body, before } of STORED) {
    const asked = standins.sent("llm").length;
    const { status } = await fetch(siteUrl + path, { method: "POST", body: JSON.stringify(body) });
    if (status !== 200) throw new Error(`${name}: ${path} answered ${status}`);
    const costs = standins
      .sent("llm")
      .slice(asked)
      .map((one) => measureCost(one.body));
    const sum = (of: "prompt" | "answer" | "micros") => costs.reduce((total, one) => total + one[of], 0);
    const now = sum("micros");
    const usd = `${(now / 1e6).toFixed(4)} USD, ${(before / 1e6).toFixed(4)} before`;
    console.log(
      `${name}: ${costs.length} calls, ${sum("prompt")} + ${sum("answer")} tokens, ${usd} (${Math.round((now / before - 1) * 100)} %)`,
    );
  }
  await stop();
  return 0;
});
process.exit();
