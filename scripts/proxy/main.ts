import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createServer } from "./server";
import { serviceUrlOf, SettingsError } from "./settings";
import { tools } from "./tools";

/** The stdio proxy: speaks the protocol on stdin and stdout, forwards tool calls to the service, and listens nowhere. */

/** What calls under way get to finish in when the client has closed its end. */
const GRACE_MS = 5_000;

try {
  const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, BUILT_IN.serviceUrl);
  const server = createServer(BUILT_IN, serviceUrl, tools);
  process.stdin.once("end", () => setTimeout(() => process.exit(0), GRACE_MS).unref());
  process.stdout.once("error", () => process.exit(0));
  await server.connect(new StdioServerTransport());
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exit(1);
}
