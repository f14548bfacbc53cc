import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/proxy/bundle";
import { startStack } from "../../scripts/stack/stack";
import { bought, payingClients } from "./purchases";
import { toolClients } from "./tools";
import { webClients } from "./web";

/**
 * `npm run test:clients`: published clients of every kind against a fresh local stack, as a table. Outside the suite,
 * because what they depend on takes half a gigabyte.
 */

type Row = { client: string; did: string; passed: boolean };

async function main(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "clients-"));
  const proxy = join(folder, "proxy.mjs");
  await bundle(proxy);
  const stack = await startStack({ ephemeral: true, envFile: "/dev/null" });
  const rows: Row[] = [];
  const tried = async (client: string, work: () => Promise<string>) => {
    try {
      rows.push({ client, did: await work(), passed: true });
    } catch (error) {
      console.error(client, error);
      const message = error instanceof Error ? error.message : String(error);
      rows.push({ client, did: message.split("\n")[0]?.slice(0, 100) ?? "", passed: false });
    }
  };
  try {
    const { chain, siteUrl } = stack;
    if (chain === null) throw new Error("The environment names a real chain: take CHAIN_RPC_URL out of it");
    for (const [name, run] of Object.entries(toolClients)) await tried(name, () => run(proxy, siteUrl));
    for (const [name, run] of Object.entries(webClients)) await tried(name, () => run(stack));
    for (const [name, buy] of Object.entries(payingClients)) {
      await tried(name, async () => {
        await bought(chain, `${siteUrl}/agent/research/paid`, buy);
        return "a report bought for 1.00 USDC, its receipt found on the chain";
      });
    }
  } finally {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
  const width = (of: (row: Row) => string) => Math.max(6, ...rows.map((row) => of(row).length));
  const [first, second] = [width((row) => row.client), width((row) => row.did)];
  console.log(`| ${"Client".padEnd(first)} | ${"Did".padEnd(second)} | Passed |`);
  console.log(`| ${"-".repeat(first)} | ${"-".repeat(second)} | ------ |`);
  for (const { client, did, passed } of rows) {
    console.log(`| ${client.padEnd(first)} | ${did.padEnd(second)} | ${(passed ? "yes" : "NO").padEnd(6)} |`);
  }
  return rows.every(({ passed }) => passed);
}

await main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
