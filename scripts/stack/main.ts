import * as z from "zod";
import { command, OperatorError } from "../command";
import { real } from "../real";
import { getSettingsFile } from "../settings";
import { describeProviders, getStateDirectory } from "./env";
import { MAX_SPEED, startBesideBackend, startStack, type BesideBackend, type StackOptions } from "./stack";

const USAGE = `Usage: npm start -- [--speed N] [--ephemeral] [--backend]

  --speed N     runs the application's clock N times faster, up to ${MAX_SPEED}; keeps nothing
  --ephemeral   keeps nothing: no rows, no keys, no chain
  --backend     runs the platform's own backend, which the Convex CLI fetches, instead of
                Convex's test library; keeps nothing, and nobody can sign in

Environment: PORT (3211), API_PORT (3210), PROVIDERS_PORT (3299), CHAIN_PORT (8545),
LOCAL_STATE_DIR (.local), LOCAL_ENV_FILE (.env.local)`;

const portShape = (standard: number) => z.coerce.number().int().min(0).max(65_535).default(standard);
const environmentShape = z.object({
  PORT: portShape(3211),
  API_PORT: portShape(3210),
  PROVIDERS_PORT: portShape(3299),
  CHAIN_PORT: portShape(8545),
});

const FLAGS = {
  speed: { type: "string", default: "1" },
  ephemeral: { type: "boolean", default: false },
  backend: { type: "boolean", default: false },
} as const;

type Given = Record<Exclude<keyof typeof FLAGS, "speed">, boolean> & { speed: string };

/** Runs the local stack until it is stopped. */
async function main({ speed, ephemeral, backend }: Given): Promise<void> {
  const ports = environmentShape.safeParse(process.env);
  if (!ports.success)
    throw new OperatorError(`${String(ports.error.issues[0]?.path[0])} must be a port number`);
  const dataDir = getStateDirectory(process.env);
  const options: StackOptions = {
    port: ports.data.PORT,
    apiPort: ports.data.API_PORT,
    providersPort: ports.data.PROVIDERS_PORT,
    chainPort: ports.data.CHAIN_PORT,
    speed: Number(speed),
    ephemeral,
    dataDir,
    envFile: getSettingsFile(),
    log: (line) => console.log(line),
  };
  const stack = await (backend ? startBesideBackend(options) : startStack(options));
  let ending: Promise<void> | undefined;
  // Ctrl-C reaches the process both directly and through npm: the second signal must not interrupt saving.
  const end = () => void (ending ??= endStack(stack));
  process.on("SIGINT", end).on("SIGTERM", end);
  if (process.env.npm_lifecycle_event !== undefined) whenParentEnds(end);
  const state = ephemeral || backend || stack.clock.speed > 1 ? null : dataDir;
  const runner = backend
    ? "The platform's own backend runs it"
    : "Convex's test library runs it, for development";
  console.log(banner(stack, state, runner));
}

/** Unfinished functions of the stopped application may fail with unhandled rejections: the rows still have to be saved. */
async function endStack(stack: Pick<BesideBackend, "stop">): Promise<void> {
  process.on("unhandledRejection", (reason: unknown) => console.error(reason));
  try {
    await stack.stop();
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

/** npm passes a signal only to its shell, which ends without passing it on. */
function whenParentEnds(end: () => void): void {
  const parent = process.ppid;
  real.setInterval(() => {
    if (process.ppid !== parent) end();
  }, 250);
}

function banner(stack: BesideBackend, state: string | null, runner: string): string {
  const { siteUrl, apiUrl, providersUrl, chain, realProviders, clock } = stack;
  const beside = (command: string) => commandAt("PROVIDERS_PORT", "3299", providersUrl, command);
  const providers =
    realProviders.length === 0 ? "none: all are simulated" : describeProviders(realProviders).join(", ");
  const chainLines =
    chain === null
      ? "the real one of CHAIN_RPC_URL"
      : `${chain.url}
              account 0 (${chain.accounts[0] ?? "none"}) holds 1,000,000 of each token; ${commandAt("CHAIN_PORT", "8545", chain.url, "npm run fund -- 0x…")}`;
  const isFast = clock.speed > 1;
  return `
The service is up after ${Math.round(process.uptime() * 1_000)} ms. ${runner}: production is a Convex deployment.

  HTTP        ${siteUrl}
  functions   ${apiUrl}  (${beside("npm run --silent token -- alice")})
  stand-ins   ${providersUrl}
  chain       ${chainLines}
  real providers: ${providers}
  state: ${state ?? "not kept"}${isFast ? `, clock: ${clock.speed} times faster` : ""}

Try:
  curl -s ${siteUrl}/mcp/market
  curl -s ${siteUrl}/mcp/research/start -d '{"userId":"local-user-4f8Kq2Zt7Xw9","token":"BTC"}'
  curl -s '${siteUrl}/mcp/research/status?userId=local-user-4f8Kq2Zt7Xw9'
  ${beside("npm run bot")}

Times below are UTC${isFast ? " on the accelerated clock" : ""}. Ctrl-C ends it.
`;
}

/** A command that expects the stack at its standard port, unless another is set. */
function commandAt(variable: string, standard: string, url: string, command: string): string {
  const { port } = new URL(url);
  return port === standard ? command : `${variable}=${port} ${command}`;
}

await command({ usage: USAGE, flags: FLAGS }, ({ values }) => main(values));
if (process.exitCode !== undefined) process.exit();
