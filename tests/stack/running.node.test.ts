import { ConvexHttpClient } from "convex/browser";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { startScript, type Started } from "./processes";

/** The running stack: what its sources tell, and `npm run bot` as a person runs it beside it. */

const ownedShape = z.object({ ownerUrl: z.url() });
const walletShape = z.object({
  linked: z.literal(true),
  walletAddress: z.templateLiteral(["0x", z.string()]),
});

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null" });
});
afterAll(() => stack.stop());

const marketShape = z.object({
  keyPrices: z.record(z.string(), z.object({ usd: z.number() })),
  sources: z.array(z.object({ name: z.string() })),
});
const listShape = z.array(z.object({ id: z.string(), current_price: z.number() }));

test("the sources of prices agree: the chain's feeds, the exchange and the list", async () => {
  const answer = await fetch(`${stack.siteUrl}/mcp/market`);
  const { sources, keyPrices } = marketShape.parse(await answer.json());
  expect(sources.map(({ name }) => name)).toEqual(["chainlink", "coinbase", "coingecko"]);
  const query = "vs_currency=usd&ids=bitcoin,ethereum";
  const list = await fetch(`${stack.providersUrl}/evidence/api/v3/coins/markets?${query}`);
  const listed = listShape.parse(await list.json());
  expect(listed).toHaveLength(2);
  for (const { id, current_price: price } of listed)
    expect(Math.abs((keyPrices[id]?.usd ?? NaN) / price - 1)).toBeLessThan(0.02);
});

/** Types lines into `npm run bot`. */
function bot(lines: string[], ...args: string[]): Started {
  const env = { PROVIDERS_PORT: new URL(stack.providersUrl).port };
  const input = lines.map((line) => `${line}\n`).join("");
  return startScript("scripts/bot.ts", args, { env, input });
}

test("npm run bot shows the bot's answers, links with a web user's code, shows that user's own, and ends with the stack", async () => {
  const client = new ConvexHttpClient(stack.apiUrl);
  client.setAuth(await stack.issuer.issue("alice"));
  await client.mutation(api.accounts.profile.signIn, {});
  const { code } = await client.mutation(api.messenger.linking.createCode, {});

  const first = bot(["/start", "/portfolio", `/connect ${code}`], "--linger", "3600");
  const [, walletAddress] = await first.output(/Its wallet on Base is (0x\w{40})/);
  first.kill("SIGTERM");
  const { stdout, stderr } = await first.ended;
  expect(stderr).toBe("");
  for (const said of [
    "you> /start\n╭──",
    "│ Welcome!",
    "│ A coin's name alone is its price. All I can do: /help",
    "This needs an account, and this chat has none yet.",
  ])
    expect(stdout).toContain(said);
  expect(stdout).not.toMatch(/<\/?b>|&lt;/);
  const linked = await fetch(`${stack.siteUrl}/messenger/wallet?messengerId=1001`);
  const wallet = walletShape.parse(await linked.json());
  expect(wallet.walletAddress).toBe(walletAddress);

  // Somebody else in another chat.
  const connected = await fetch(`${stack.siteUrl}/mcp/defi/connect?userId=kq3vX9tLw2bTz7RfYh5MnP`);
  const { ownerUrl } = ownedShape.parse(await connected.json());
  const elsewhere = await bot([ownerUrl, "/portfolio"], "--chat", "1003", "--linger", "0").ended;
  expect(elsewhere).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Is this your wallet?"),
  });
  expect(elsewhere.stdout).not.toContain(walletAddress);

  await stack.chain?.fund(wallet.walletAddress, { ETH: 10n ** 18n, USDC: 5_250_000n });
  const second = bot(["How is ETH?", "/portfolio"], "--linger", "3600");
  const [told] = await second.output(/[^]*│ Total: \$[1-9]\d*,\d{3}\.\d\d\n/);
  // The second line is said when the first has its answer.
  expect(told).toMatch(/How is ETH\?\n[^]*│[^]*you> \/portfolio\n[^]*📊/);
  expect(told).toMatch(/│ ETH {2}1 {2}\(\$[\d,]+\.\d\d\)\n│ USDC {2}5\.25 {2}\(\$5\.2\d\)\n/);
  expect(told).not.toContain("WETH");
  await stack.stop();
  const ended = await second.ended;
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/^There is no local stack behind \S+: start .*\n$/);
});
