import { parseEther, parseUnits } from "viem";
import * as z from "zod";
import { hexShape } from "../chain/rpc";
import { startStack, type Stack } from "../stack/stack";

/** The processor's time of a send in the local stack, in real time: a stepped clock would spin while the node answers. */

const SENDERS = 20;
/** Rounds of one send of each, side by side: the first ones warm up. */
const [WARM, MEASURED] = [10, 30];
const FUNDS = { ETH: parseEther("1"), USDC: parseUnits("1000", 6) };
const RECIPIENT = `0x${"b0".repeat(20)}`;

const connected = z.object({ address: hexShape });

/** In ms, all that this process does for it; the node is a process of its own. @throws Error unless every send is answered with 200. */
export async function msOfASend(): Promise<number> {
  const stack = await startStack({ ephemeral: true, seed: "bench" });
  try {
    for (let i = 0; i < SENDERS; i++) {
      const { body } = await post(stack, i, "/mcp/defi/connect", {});
      await stack.chain?.fund(connected.parse(body).address, FUNDS);
    }
    for (let round = 0; round < WARM; round++) await sendAll(stack, round);
    const before = process.cpuUsage();
    for (let round = 0; round < MEASURED; round++) await sendAll(stack, WARM + round);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / (MEASURED * SENDERS);
  } finally {
    await stack.stop();
  }
}

async function sendAll(stack: Stack, round: number): Promise<void> {
  const order = { toAddress: RECIPIENT, token: "USDC", amount: "1000" };
  const answers = await Promise.all(
    Array.from({ length: SENDERS }, (_, i) =>
      post(stack, i, "/mcp/defi/send", { ...order, idempotencyKey: `send-${round}-${i}` }),
    ),
  );
  const refused = answers.find(({ status }) => status !== 200);
  if (refused !== undefined) throw new Error(`A send was answered ${JSON.stringify(refused)}`);
}

/** From an address of the sender's own. */
async function post({ application }: Stack, sender: number, path: string, fields: object) {
  const body = JSON.stringify({ userId: `bench-sender-number-${sender}`, ...fields });
  const caller = { ip: `10.0.0.${sender}`, userAgent: "bench" };
  const response = await application.fetch(path, { method: "POST", body }, caller);
  return { status: response.status, body: z.unknown().parse(await response.json()) };
}
