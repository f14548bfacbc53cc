import { afterAll, beforeAll, expect, test } from "vitest";
import { listen, type Listener } from "../../../scripts/sockets/listener";
import { createStandins } from "../../../scripts/standins";
import { standinsHandler } from "../../../scripts/standins/server";
import { ranHere } from "../../support/commands";

/** `npm run register-webhook`, with the messenger's stand-in alone. */

let served: Listener;
beforeAll(async () => {
  served = await listen(0, "PROVIDERS_PORT", standinsHandler(createStandins()));
});
afterAll(() => served.close());

const TOKEN = "4711:AAE-token-that-nobody-may-see";
const SECRET = "a-secret-that-nobody-may-see";
const register = (args: string[], env: Record<string, string> = {}) =>
  ranHere("scripts/botWebhook.ts", args, {
    env: {
      LOCAL_ENV_FILE: "/dev/null",
      MESSENGER_API_URL: `${served.url}/messenger`,
      MESSENGER_BOT_TOKEN: TOKEN,
      MESSENGER_WEBHOOK_SECRET: SECRET,
      CONVEX_SITE_URL: "",
      ...env,
    },
  });

test("registers webhook and commands, and shows them without token and secret", async () => {
  const none = await register(["--show"]);
  expect(none.stdout).toMatch(/^@simulated_4711_bot\n {2}webhook {3}none\n/);
  const { code, stdout, stderr } = await register(["https://some.convex.site/"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("webhook   https://some.convex.site/messenger/webhook\n");
  expect(stdout).toContain("updates   message, callback_query\n");
  expect(stdout).toMatch(/\/connect +Link this account/);
  expect(stdout).not.toMatch(/nobody-may-see/);
  expect((await register(["--show"])).stdout).toBe(stdout);
  expect(JSON.parse((await register(["--show", "--json"])).stdout)).toMatchObject({
    bot: "simulated_4711_bot",
    webhook: { url: "https://some.convex.site/messenger/webhook" },
    commands: expect.arrayContaining([{ command: "signals", description: expect.any(String) }]),
  });
});

test("of two sites is refused in one line", async () => {
  expect(await register(["https://a.site", "https://b.site"])).toMatchObject({
    ...{ code: 2, stdout: "", stderr: "Unexpected argument 'https://b.site'. --help says how it is used.\n" },
  });
});

test.each([
  [["http://some.convex.site"], {}, "which must be https"],
  [[], {}, "Name the deployment's site address"],
  [["https://a.site"], { MESSENGER_WEBHOOK_SECRET: "" }, "MESSENGER_WEBHOOK_SECRET is not set"],
  [
    ["https://a.site"],
    { MESSENGER_WEBHOOK_SECRET: "no spaces please" },
    "MESSENGER_WEBHOOK_SECRET is malformed",
  ],
  [["https://a.site"], { MESSENGER_BOT_TOKEN: "" }, "MESSENGER_BOT_TOKEN is not set"],
  [
    ["https://a.site"],
    { MESSENGER_BOT_TOKEN: `${"9".repeat(20)}:another-bots-secret` },
    "does not know this MESSENGER_BOT_TOKEN",
  ],
  [["https://a.site"], { MESSENGER_API_URL: "http://127.0.0.1:1" }, "The Bot API could not be reached"],
])("%j %j: %s", async (args, env, message) => {
  const { code, stdout, stderr } = await register(args, env);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(message);
  expect(stdout + stderr).not.toMatch(/nobody-may-see/);
});
