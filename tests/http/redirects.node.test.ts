import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { askProvider } from "../../convex/providers/call";

/** A server on loopback. @returns Its address. */
async function listen(answer: (headers: NodeJS.Dict<string | string[]>) => { status: number; to?: string }) {
  const server = createServer((request, response) => {
    const { status, to } = answer(request.headers);
    response.writeHead(status, to === undefined ? {} : { Location: to }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

test.each([301, 302, 303, 307, 308])(
  "a provider's %i is not followed: the key stays with the provider",
  async (status) => {
    const received: unknown[] = [];
    const other = await listen((headers) => {
      received.push(headers["0x-api-key"]);
      return { status: 200 };
    });
    const provider = await listen(() => ({ status, to: other.url }));
    try {
      const exchange = await askProvider(
        "swap",
        provider.url,
        { headers: { "0x-api-key": "secret" } },
        5_000,
      );
      expect(exchange).toEqual({ kind: "unreachable" });
      expect(received).toEqual([]);
    } finally {
      provider.close();
      other.close();
    }
  },
);
