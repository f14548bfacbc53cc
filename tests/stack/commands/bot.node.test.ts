import path from "node:path";
import { fileURLToPath } from "node:url";
import { ConvexHttpClient } from "convex/browser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { api } from "../../../convex/_generated/api";
import { listen } from "../../../scripts/sockets";
import { startStack, type Stack } from "../../../scripts/stack/stack";
import { createStandins } from "../../../scripts/standins/index";
import { startScript, type Started } from "../processes";

/** `npm run bot`, as a person runs it beside the local stack. */

const scripts = fileURLToPath(new URL("../../../scripts/", import.meta.url));
const ownedShape = z.object({ ownerUrl: z.url() });
const walletShape = z.object({ linked: z.literal(true), walletAddress: z.string().regex(/^0x/) });

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null" });
});
afterAll(() => stack.stop());

/** Types lines into `npm run bot`, and returns all it shows until it shows `last`. */
async function chat(lines: string[], last: RegExp): Promise<string> {
  const run = startBot(lines, ["--linger", "3600"]);
  await run.output(last);
  run.kill("SIGTERM");
  const { stdout, stderr } = await run.ended;
  expect(stderr).toBe("");
  return stdout;
}

function startBot(lines: string[], args: string[]): Started {
  const PROVIDERS_PORT = new URL(stack.providersUrl).port;
  const input = lines.map((line) => `${line}\n`).join("");
  return startScript(path.join(scripts, "bot.ts"), args, { PROVIDERS_PORT }, { input });
}

describe("npm run bot", () => {
  test("shows the bot's answers, links with a web user's code, and then shows that user's own", async () => {
    const client = new ConvexHttpClient(stack.apiUrl);
    client.setAuth(await stack.issuer.issue("alice"));
    await client.mutation(api.accounts.profile.signIn, {});
    const { code } = await client.mutation(api.messenger.linking.createCode, {});

    const first = await chat(["/start", "/portfolio", `/connect ${code}`], /Its wallet on Base is 0x/);
    expect(first).toContain("you> /start\n╭──");
    expect(first).toContain("│ Welcome!");
    expect(first).toContain("│ A coin's name alone is its price. All I can do: /help");
    expect(first).toContain("This needs an account, and this chat has none yet.");
    expect(first).not.toMatch(/<\/?b>|&lt;/);
    const response = await fetch(`${stack.siteUrl}/messenger/wallet?messengerId=1001`);
    const { walletAddress } = walletShape.parse(await response.json());
    expect(first).toContain(`Its wallet on Base is ${walletAddress}`);

    await stack.chain?.fund(`0x${walletAddress.slice(2)}`, { ETH: 10n ** 18n, USDC: 5_250_000n });
    const second = await chat(["/portfolio"], /│ Total: \$/);
    expect(second).toMatch(/│ ETH {2}1 {2}\(\$[\d,]+\.\d\d\)\n│ USDC {2}5\.25 {2}\(\$5\.2\d\)\n/);
    expect(second).toMatch(/│ Total: \$[1-9]\d*,\d{3}\.\d\d\n/);
    expect(second).not.toContain("WETH");

    const told = await startBot(["How is ETH?", "/portfolio"], ["--linger", "0"]).ended;
    // The second line is said when the first has its answer.
    expect(told.stdout).toMatch(/How is ETH\?\n[^]*│[^]*you> \/portfolio\n[^]*📊/);

    const connected = await fetch(`${stack.siteUrl}/mcp/defi/connect?userId=kq3vX9tLw2bTz7RfYh5MnP`);
    const { ownerUrl } = ownedShape.parse(await connected.json());
    const opened = await startBot([ownerUrl], ["--chat", "1003", "--linger", "0"]).ended;
    expect(opened.stdout).toContain("Is this your wallet?");

    const elsewhere = await startBot(["/portfolio"], ["--chat", "1002", "--linger", "0"]).ended;
    expect([elsewhere.code, elsewhere.stderr]).toEqual([0, ""]);
    expect(elsewhere.stdout).not.toContain(walletAddress);
  });

  test("ends with one line when the stack stops", async () => {
    const deliver = () => Promise.resolve(new Response("{}"));
    const standins = createStandins({ deliver });
    const served = await listen(0, "PROVIDERS_PORT", (request) => standins.handle(request));
    const PROVIDERS_PORT = new URL(served.url).port;
    const run = startScript(path.join(scripts, "bot.ts"), [], { PROVIDERS_PORT }, { input: "hello\n" });
    await run.output(/you> hello/);
    await served.close();
    const { code, stderr } = await run.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^There is no local stack behind \S+: start .*\n$/),
    ]);
  });
});
