import { expect, vi } from "vitest";
import { HOUR } from "../../convex/lib/time";
import { arrived, deliver, linkedUser, say, test, updateOf } from "./support";

/** Questions in the bot and the day's budget: it is asked before a model is, as over HTTP. */

const poor = test.extend({ settings: { env: { DAILY_BUDGET_USD: "0.02" } } });
const USED_UP =
  /^(?:Your share of today's budget, or your network's,|Today's budget for callers without a sign-in) is used up\. Try again in \d+ \w+\.$/;

poor(
  "sixteen questions of eight chats over a used-up budget get one honest sentence each and cost nothing; prices go on, and so does who is linked",
  async ({ app }) => {
    await linkedUser(app, "alice", 99);
    const ask = async (from: number, n: number) =>
      (await say(app, `Why has ether moved so much? (${n})`, { from }))[0] ?? "";
    // Strangers use up what there is for them.
    for (let from = 1; from <= 8; from++) for (let n = 0; n < 9 && !USED_UP.test(await ask(from, n)); n++);
    const asked = app.standins.sent("llm").length;
    const before = app.cards().length;
    for (let n = 0; n < 16; n++) await deliver(app, updateOf(`Why is it so? (${n})`, { from: 1 + (n % 8) }));
    await arrived(app, before + 16);
    const answers = app.cards().slice(before);
    expect(answers).toHaveLength(16);
    for (const { text } of answers) expect(text).toMatch(USED_UP);
    // A wish in one's own words is read by a model, too; one in the service's words is not.
    const [wish] = await say(app, "/alert wake me when ether is at 9000", { from: 11 });
    expect(wish).toMatch(USED_UP);
    // A question by its command asks no model about alerts before.
    expect((await say(app, "/ask Why has ether moved so much?", { from: 15 }))[0]).toMatch(USED_UP);
    expect((await say(app, "/alert ETH above 9000", { from: 12 }))[0]).toContain("ETH above");
    expect((await say(app, "ETH", { from: 13 }))[0]).toContain("ETH");
    expect(app.standins.sent("llm")).toHaveLength(asked);
    expect(await ask(99, 0)).not.toMatch(USED_UP);
    vi.setSystemTime(Date.now() + 6 * HOUR);
    expect(await ask(14, 0)).not.toMatch(USED_UP);
  },
);
