import { describe, expect } from "vitest";
import { say, test, userWithCode } from "./support";

/** From the bot to the web application, and back with what was asked for. */

describe("where an account is needed", () => {
  test.override({ settings: { env: { WEB_APP_URL: "https://app.example/me?theme=dark" } } });

  test("a button leads to the web application, whose code links", async ({ app }) => {
    const [card = ""] = await say(app, "/follow SOL");
    expect(card).toContain("This needs your account: link it, and send that again.");
    const [{ text: words, url = "" } = {}] = app.cards().at(-1)?.keyboard?.flat() ?? [];
    expect([words, url]).toEqual(["Link my account", "https://app.example/me?theme=dark&link=messenger"]);
    const { code } = await userWithCode(app, "alice");
    const [linked] = await say(app, `/start ${code}`);
    expect(linked).toContain("Linked");
  });

  test("a code with dashes is a code, and one shown in a group is withdrawn", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    await say(app, `/start@simulated_123456_bot ${code}`, { chat: -100_777 });
    const [refused] = await say(app, `/connect ${code}`);
    expect(refused).toContain("This code is unknown");
    const other = await userWithCode(app, "bob");
    const dashed = `${other.code.slice(0, 4)}-${other.code.slice(4)}`;
    const [linked] = await say(app, `/connect ${dashed}`, { from: 77 });
    expect(linked).toContain("Linked");
  });
});

describe("without a web application", () => {
  test("the way is told in words", async ({ app }) => {
    expect(await say(app, "/portfolio")).toEqual([expect.stringContaining("ownerUrl")]);
  });
});
