import { Misuse } from "../command";
import { createApplication, type Application } from "./application";
import type { Chain } from "../chain/index";
import { createClock, type Clock } from "./time/clock";
import { startCrons } from "./time/crons";
import { withInquiries } from "./inquiries";
import { applicationVariables, applyVariables, realProviders, type Provider, type Variables } from "./env";
import { functionApiHandler } from "./api/functionApi";
import { siteHandler } from "./api/http";
import { createIssuer, type Issuer } from "./api/issuer";
import { freshKeys, keptKeys } from "./keys";
import { listen } from "../sockets/listener";
import { anchorAccount, paymentAccounts, startLocalChain } from "./localChain";
import { captureLogs } from "./logs";
import { keepSnapshots, readSnapshot } from "./snapshot";
import { real } from "../real";
import { checkedSettings } from "./settings";
import { createStandins, type Standins } from "../standins/index";
import { standinsHandler } from "../standins/server";

export const MAX_SPEED = 3_000;

export type StackOptions = {
  /** Port of the HTTP actions; 0 (the default) takes a free one, here and below. */
  port?: number;
  apiPort?: number;
  /** Port of the stand-ins for the outside providers. */
  providersPort?: number;
  chainPort?: number;
  /** How many times faster than real time the application's clock runs, 1 to 3000. Above 1, nothing is kept. */
  speed?: number;
  /** Keeps nothing: no rows, no keys, no chain. */
  ephemeral?: boolean;
  /** The seed of the stand-ins' simulated market. */
  seed?: string;
  /** Where rows, keys and the chain are kept. Without it nothing is kept. */
  dataDir?: string;
  /** The operator's settings. Without it only the environment's variables count. */
  envFile?: string;
  /** Receives the application's log, one readable line at a time. */
  log?: (line: string) => void;
};

export type Stack = {
  siteUrl: string;
  apiUrl: string;
  providersUrl: string;
  standins: Standins;
  /** The local chain; `null` if the operator's settings name a real one. */
  chain: Chain | null;
  application: Application;
  clock: Clock;
  issuer: Issuer;
  /** The providers that are called for real. */
  realProviders: Provider[];
  /** Saves and ends everything: running functions have no further effect, and due ones do not start. */
  stop: () => Promise<void>;
};

/** A combination of options that is not possible. */
export class OptionsError extends Error {}

/** Finished jobs are deleted after a minute, not after a week: every query passes all rows of its table. */
const JOBS_KEPT_MS = 60_000;
const HOUSEKEEPING_MS = 5_000;

type Step = () => void | Promise<void>;
/** The steps to end the stack: first stop what starts work, then save that work, then stop the rest. */
type Ending = { quiet: Step[]; save: Step[]; leave: Step[] };

/** The environment and the globals are the process's. */
let running = false;

/**
 * Starts the whole local stack: in this process the application with its crons, both its HTTP interfaces, and stand-ins
 * for the outside providers; in another process the chain. For development and checks; production is a Convex
 * deployment.
 * @throws PortInUseError, OptionsError, SettingsError, KeysError, SnapshotError, ChainStartError with
 * messages for the operator.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  if (running) throw new OptionsError("A process can run one stack at a time");
  running = true;
  const ending: Ending = { quiet: [], save: [], leave: [] };
  const stop = async () => {
    for (const step of [...ending.quiet, ...ending.save, ...ending.leave]) await step();
    Object.assign(ending, { quiet: [], save: [], leave: [] });
    running = false;
  };
  try {
    return { ...(await start(options, ending)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(options: StackOptions, ending: Ending): Promise<Omit<Stack, "stop">> {
  const { speed = 1, seed, log = null } = options;
  const warn = (line: string) => console.warn(line);
  const settings = await checkedSettings(options.envFile ?? null, warn);
  const outside = realProviders(settings);
  checkSpeed(speed, outside);
  checkSwaps(outside);
  const kept = options.ephemeral === true || speed > 1 ? null : (options.dataDir ?? null);
  const keys = kept === null ? await freshKeys() : await keptKeys(kept);
  const issuer = await createIssuer(keys);

  const clock = createClock(speed);
  ending.leave.push(clock.stop, captureLogs(log, clock.now));

  // Requests that arrive before the application is ready wait for it.
  const application = deferred<Application>();
  application.promise.catch(() => {});
  const { port = 0, apiPort = 0, providersPort = 0, chainPort = 0 } = options;
  let chain: Chain | null = null;
  const rpcUrl = () => chain?.url ?? null;
  const secret = settings.MESSENGER_WEBHOOK_SECRET || keys.messengerWebhookSecret;
  const standins = createStandins({
    ...(seed === undefined ? {} : { seed }),
    now: clock.now,
    rpcUrl,
    deliver: async (update) =>
      (await application.promise).fetch("/messenger/webhook", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": secret },
        body: JSON.stringify(update),
      }),
  });
  const usage = async () => (await application.promise).usage();
  const counter = withInquiries(standins, { issuer, usage });
  const providers = await listen(providersPort, "PROVIDERS_PORT", standinsHandler(counter));
  ending.leave.push(providers.close);
  const site = await listen(port, "PORT", siteHandler(application.promise, issuer));
  ending.quiet.push(site.close);
  const api = await listen(apiPort, "API_PORT", functionApiHandler(application.promise, issuer));
  ending.quiet.push(api.close);

  const urls = { siteUrl: site.url, apiUrl: api.url };
  try {
    if (!outside.includes("chain")) {
      const started = await startLocalChain({ port: chainPort, kept, clock, market: standins.market });
      ending.leave.push(() => started.stop());
      chain = started;
    }
    // A person types no faster with a faster clock.
    const codes = { LINK_CODE_MINUTES: String(Math.ceil(10 * clock.speed)) };
    const local = { ...standins.env(providers.url), CHAIN_RPC_URL: chain?.url };
    const payments = { ...paymentAccounts(chain), ...anchorAccount(chain), ...codes, ...safety(settings) };
    const variables = applicationVariables(settings, { ...urls, keys, local, payments });
    ending.leave.push(applyVariables(variables));
    application.resolve(await startApplication(kept, clock, ending));
  } catch (error) {
    application.reject(error);
  }
  return {
    ...urls,
    providersUrl: providers.url,
    standins,
    chain,
    application: await application.promise,
    clock,
    issuer,
    realProviders: outside,
  };
}

async function startApplication(kept: string | null, clock: Clock, ending: Ending): Promise<Application> {
  const snapshot = kept === null ? null : await readSnapshot(kept);
  const application = await createApplication(clock);
  // Loads most of the application before the first request.
  await application.defaultExport("http");
  if (snapshot !== null) await application.restore(snapshot.rows);
  const crons = await startCrons(application, clock, snapshot?.dueTimes ?? {});
  ending.quiet.push(crons.stop);
  if (kept !== null) ending.save.push(keepSnapshots(kept, application, crons.dueTimes).stop);
  const housekeeping = real.setInterval(
    () =>
      void application.forgetJobs(clock.now() - JOBS_KEPT_MS).catch((error: unknown) => console.error(error)),
    HOUSEKEEPING_MS,
  );
  ending.quiet.push(() => real.clearInterval(housekeeping));
  ending.leave.push(application.stop);
  return application;
}

function checkSpeed(speed: number, outside: readonly Provider[]): void {
  if (!(speed >= 1 && speed <= MAX_SPEED)) throw new Misuse(`The speed must be from 1 to ${MAX_SPEED}`);
  if (speed > 1 && outside.length > 0) {
    throw new OptionsError(
      `A speed above 1 is refused if a provider is real (${outside.join(", ")}): it would be called that ` +
        "many times more often. Take its variables out of the environment and of .env.local.",
    );
  }
}

/** With a chain that is not on this machine, wallets can be read and no order is carried out. */
function safety({ CHAIN_RPC_URL }: Variables): Variables {
  const isLocal =
    !CHAIN_RPC_URL || /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::|\/|$)/.test(CHAIN_RPC_URL);
  return isLocal ? {} : { TRADING_PAUSED: "true" };
}

/** A real quote names contracts and balances of the real chain. */
function checkSwaps(outside: readonly Provider[]): void {
  if (outside.includes("swap provider") && !outside.includes("chain")) {
    throw new OptionsError(
      "A real swap provider (SWAP_API_KEY, SWAP_API_URL) needs a real chain: set CHAIN_RPC_URL as well, or take " +
        "its variables out of the environment and of .env.local.",
    );
  }
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}
