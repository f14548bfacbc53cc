import { INTERNAL_ERROR, RpcError, serve } from "./rpc";
import { handlerOf } from "./server";
import { serviceUrlOf, SettingsError } from "./settings";

/** The stdio proxy: speaks the protocol on stdin and stdout, forwards tool calls to the service, and listens on no port. */

/** How long running calls may still take after the client has closed its end. */
const GRACE_MS = 5_000;
/** How long error answers to the others may take. */
const TELLING_MS = 100;

const words = process.argv.slice(2);
const readOnly = words.includes("--read-only");
try {
  if (words.some((word) => word !== "--read-only")) {
    const { command } = await import("./commands");
    process.exitCode = await command(words, BUILT_IN);
  } else {
    const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, BUILT_IN.serviceUrl);
    process.stdout.once("error", () => process.exit(0));
    const end = serve(process.stdin, process.stdout, handlerOf(BUILT_IN, serviceUrl, readOnly));
    const leave = () => {
      end(new RpcError(INTERNAL_ERROR, "The client closed its end before the answer came"));
      setTimeout(() => process.exit(0), TELLING_MS);
    };
    process.stdin.once("end", () => setTimeout(leave, GRACE_MS).unref());
  }
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  fail(error.message);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
