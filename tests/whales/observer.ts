import { beforeAll, expect } from "vitest";
import * as z from "zod";
import { beginFollowing } from "../../convex/whales/alerts";
import { createMoves, type Moves } from "./moves";
import { chain, test as chainTest, useChain } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { answering } from "../support/chain/rpc";

/** Movements on the chain, and the service that looks at them. */

/** What moves on the chain of the test file that is running, which `useMoves` started for it. */
export let moves: Moves;

/** To be called once by a test file. */
export function useMoves(): void {
  useChain();
  beforeAll(async () => {
    moves = await createMoves(chain);
  });
}

export const BINANCE = "0x3304e22ddaa22bcdc5fca2269b418046ae7b566a";
export const BINANCE_COLD = "0xf977814e90da44bfa03b6295a0616a897441acec";
export const OKX = "0xc8802feab2fafb48b7d1ade77e197002c210f391";
/** A million dollars and some more, in the coins' smallest units, at prices of 1 and, for the coins, well below the market's. */
export const USDC = (millions: number) => BigInt(Math.round(millions * 1e12));
export const ETHER = (whole: number) => BigInt(whole) * 10n ** 18n;
/** The local node calls a block safe when so many have come after it. */
export const SETTLING = 32;

/** The cron's visit, and the run it starts, to its end. */
export async function look(app: WalletApp): Promise<void> {
  await app.t.run(beginFollowing);
  await app.settle();
}

/** Everything that is on the chain by now is far enough from its head to be read. */
export async function lookAtAll(app: WalletApp): Promise<void> {
  await moves.mine(SETTLING);
  await look(app);
}

export async function measuring(env: Record<string, string | undefined> = {}): Promise<WalletApp> {
  await chain.feeds.tick();
  await moves.mine(SETTLING);
  const app = createWalletApp(chain, { env });
  await look(app);
  return app;
}

export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ settings }, use) => use(await measuring(settings.env)),
});

const listShape = z.object({
  alerts: z.array(
    z.looseObject({ token: z.string(), alertType: z.string(), amount: z.number(), txHash: z.string() }),
  ),
});

export async function listed(app: WalletApp) {
  const { status, body } = await app.get("/mcp/whale-alerts");
  expect(status).toBe(200);
  return listShape.parse(body).alerts;
}

const rangeShape = z.object({ fromBlock: z.coerce.number(), toBlock: z.coerce.number() });

/** Answers as a provider does that gives logs of so many blocks at most. @returns What was asked. */
export function limited(most: number, words: string, code = -32_602) {
  const asked: { blocks: number; refused: boolean }[] = [];
  answering(({ method, params }) => {
    if (method !== "eth_getLogs") return null;
    const { fromBlock, toBlock } = rangeShape.parse(params[0]);
    const blocks = toBlock - fromBlock + 1;
    asked.push({ blocks, refused: blocks > most });
    return blocks > most ? { error: { code, message: words } } : null;
  });
  return asked;
}
