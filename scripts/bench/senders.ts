import { Agent, request } from "node:http";
import * as z from "zod";
import type { Sent } from "./walletSends";

/**
 * Callers of `POST /mcp/defi/send` in a process of their own, for `walletSends.ts`: each sends its next order when it has
 * the last one's answer. Ends with its parent.
 */

const orderShape = z.object({ siteUrl: z.url(), queues: z.array(z.array(z.record(z.string(), z.string()))) });
const answerShape = z.object({ status: z.string() });

process.once("disconnect", () => process.exit(0));
process.on("message", (message) => {
  const { siteUrl, queues } = orderShape.parse(message);
  // New connections for each load: the server has closed those that nobody used for a while.
  const agent = new Agent({ keepAlive: true });
  const to = { siteUrl, agent };
  const startedAt = performance.now();
  void Promise.all(queues.map((queue, index) => inTurn(to, queue, `10.0.0.${index + 1}`))).then(
    (outcomes) => {
      const sent: Sent = {
        seconds: (performance.now() - startedAt) / 1_000,
        outcomes: outcomes.flat(),
      };
      agent.destroy();
      process.send?.(sent);
    },
  );
});
process.send?.("ready");

type Target = { siteUrl: string; agent: Agent };

/** @param address The caller's network address, as a proxy in front of a deployment tells it. */
async function inTurn(to: Target, queue: readonly object[], address: string): Promise<string[]> {
  const outcomes: string[] = [];
  for (const order of queue) outcomes.push(await send(to, order, address));
  return outcomes;
}

function send({ siteUrl, agent }: Target, order: object, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "X-Forwarded-For": address };
    const sent = request(`${siteUrl}/mcp/defi/send`, { agent, method: "POST", headers }, (got) => {
      const chunks: Buffer[] = [];
      got.on("data", (chunk: Buffer) => void chunks.push(chunk));
      got.once("error", reject);
      got.once("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve(
          got.statusCode === 200 ? answerShape.parse(JSON.parse(text)).status : `${got.statusCode} ${text}`,
        );
      });
    });
    sent.once("error", reject);
    sent.end(JSON.stringify(order));
  });
}
