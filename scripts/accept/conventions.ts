import { require, same, type Row } from "./row";
import type { Service } from "./service";

/** The contract's rows on errors and CORS. */

/** Requests without a field that the contract requires. */
const POSTS = [
  "/mcp/chat",
  "/mcp/research/start",
  "/mcp/research/stop",
  "/mcp/wallet/create",
  "/mcp/defi/connect",
  "/mcp/defi/swap",
  "/mcp/defi/send",
  "/user/messenger",
  "/messenger/connect",
];
const GETS = [
  "/mcp/token",
  "/mcp/research/status",
  "/mcp/research/report",
  "/mcp/wallet/balance",
  "/mcp/defi/portfolio",
  "/messenger/wallet",
];

export function conventionRows({ get, post, send }: Service): Row[] {
  return [
    {
      says: "A missing required field is answered with 400 and an error",
      look: async () => {
        for (const path of POSTS) (await post(path, {})).error(400);
        for (const path of GETS) (await get(path)).error(400);
      },
    },
    {
      says: "An unknown path is answered with 404 and an error",
      look: async () => void (await get("/no/such/path")).error(404),
    },
    {
      says: "CORS is open to every origin, for JSON and for X-Payment",
      look: async () => {
        const asked = { Origin: "https://example.com", "Access-Control-Request-Method": "POST" };
        const { status, headers } = await send("OPTIONS", "/agent/research/paid", { headers: asked });
        require(status === 200 || status === 204, `Status ${status}`);
        same("Access-Control-Allow-Origin", headers.get("access-control-allow-origin"), "*");
        const allowed = (headers.get("access-control-allow-headers") ?? "").toLowerCase();
        for (const name of ["content-type", "x-payment"]) {
          require(allowed === "*" || allowed.includes(name), `${name} is not allowed`);
        }
      },
    },
    {
      says: "POST /indexer/deposit credits nothing that the chain does not know",
      look: async () => {
        const answer = await post("/indexer/deposit", { txHash: `0x${"fedcba9876543210".repeat(4)}` });
        require([200, 400, 401].includes(answer.status), `Status ${answer.status}`);
        require(!/"credited":\s*\[\s*\{/.test(answer.text), `It credited: ${answer.text}`);
      },
    },
  ];
}
