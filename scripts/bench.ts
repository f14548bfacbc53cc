import { getAddress } from "viem";
import { command } from "./command";
import { real } from "./real";
import type { Usage } from "./stack/application";
import { startStack, type Stack } from "./stack/stack";

/** `npx tsx scripts/bench.ts`: the service's function calls, and the bytes of their arguments and answers, by use case. */

const USAGE = `Usage: npx tsx scripts/bench.ts

Runs an idle day, a shift of eight hours, a chat and a send on the local stack, and prints the function calls of each.`;

const HOUR = 3_600_000;
const SPEED = 1_500;

await command({ usage: USAGE, flags: {} }, async () => {
  const fast = await startStack({ speed: SPEED, ephemeral: true });
  const day = await measure(fast, () => passes(fast, 24 * HOUR));
  const shift = await measure(fast, async () => {
    await post(fast, "/mcp/research/start", { userId: "alice", token: "BTC" });
    await passes(fast, 8.2 * HOUR);
  });
  await fast.stop();

  const plain = await startStack({ ephemeral: true });
  const chat = await measure(plain, () =>
    post(plain, "/mcp/chat", { question: "How is the market?", userId: "alice" }),
  );
  const wallet = await post(plain, "/mcp/defi/connect", { userId: "alice" });
  await plain.chain?.fund(getAddress(String(wallet["address"])), { ETH: 10n ** 18n });
  const order = { userId: "alice", toAddress: plain.chain?.accounts[5] ?? "", token: "ETH", amount: "1000" };
  const send = await measure(plain, () => post(plain, "/mcp/defi/send", order));
  await plain.stop();

  for (const [name, usage] of Object.entries({ "idle day": day, shift, chat, send })) {
    const all = Object.values(usage);
    const calls = all.reduce((sum, one) => sum + one.calls, 0);
    const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
    console.log(`\n${name}: ${calls} calls, ${bytes} bytes`);
    const most = Object.entries(usage).toSorted(([, a], [, b]) => b.calls - a.calls);
    for (const [functionName, one] of most.slice(0, 8))
      console.log(`  ${String(one.calls).padStart(6)}  ${functionName}`);
    const transactions = Object.entries(usage).toSorted(([, a], [, b]) => getBytesRead(b) - getBytesRead(a));
    for (const [functionName, one] of transactions.slice(0, 8))
      if (getBytesRead(one) > 0)
        console.log(
          `  ${functionName}: ${one.documentsRead ?? 0} documents and ${getBytesRead(one)} bytes read, ${one.documentsWritten ?? 0} and ${one.bytesWritten ?? 0} written, at most ${Math.round(one.longestMs ?? 0)} ms a call`,
        );
  }
  return 0;
});
process.exit();

function getBytesRead({ bytesRead = 0 }: Usage[string]): number {
  return bytesRead;
}

/** The calls and bytes of functions during `work`. */
async function measure(stack: Stack, work: () => Promise<unknown>): Promise<Usage> {
  const before = structuredClone(stack.application.usage());
  await work();
  return Object.fromEntries(
    Object.entries(stack.application.usage()).flatMap(([name, { longestMs = 0, ...now }]) => {
      const earlier = before[name];
      const grown = (key: keyof typeof now) => (now[key] ?? 0) - (earlier?.[key] ?? 0);
      if (grown("calls") === 0) return [];
      const [calls, bytes] = [grown("calls"), grown("bytes")];
      const read = { documentsRead: grown("documentsRead"), bytesRead: grown("bytesRead") };
      const written = { documentsWritten: grown("documentsWritten"), bytesWritten: grown("bytesWritten") };
      return [[name, { calls, bytes, ...read, ...written, longestMs }]];
    }),
  );
}

/** Waits until the stack's clock has advanced by `ms`. */
async function passes({ clock }: Stack, ms: number): Promise<void> {
  const end = clock.now() + ms;
  while (clock.now() < end) await new Promise((go) => real.setTimeout(go, 50));
}

async function post({ siteUrl }: Stack, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(siteUrl + path, { method: "POST", body: JSON.stringify(body) });
  const answer: unknown = await response.json();
  if (!response.ok || typeof answer !== "object" || answer === null)
    throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  return Object.fromEntries(Object.entries(answer));
}
