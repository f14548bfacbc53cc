import path from "node:path";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { DEV_MNEMONIC } from "../chain/addresses";
import { startChain, type Chain, type Prices } from "../chain/index";
import { Misuse, OperatorError } from "../command";
import { real } from "../real";
import { listen } from "../sockets";
import { createStandins, type Standins } from "../standins/index";
import type { Market } from "../standins/market";
import { createIssuer, createFunctionApiHandler, createSiteHandler, answerCommand, type Issuer } from "./api";
import { createApplication, type ActionHost, type Application } from "./application";
import { startBackend } from "./backend";
import { createClock, type Clock } from "./clock";
import { startCrons } from "./crons";
import {
  buildApplicationVariables,
  applyVariables,
  readCheckedSettings,
  isLoopback,
  listRealProviders,
  type Provider,
  type Variables,
} from "./env";
import { createKeys, loadKeys } from "./keys";
import { captureLogs } from "./logs";
import { keepSnapshots, readSnapshot, takeDirectory } from "./snapshot";

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
  /** Runs actions and HTTP actions, in place of the library. */
  host?: ActionHost;
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

/** A stack with the platform's own backend: its functions are not in this process. */
export type BesideBackend = Omit<Stack, "application">;

/** Finished jobs are deleted after a minute, not after a week: every query passes all rows of its table. */
const JOBS_KEPT_MS = 60_000;
const HOUSEKEEPING_MS = 5_000;

/** Steps that end the stack, the last one first: those that end what starts work, then the others. */
type Ending = { quiet: Step[]; leave: Step[] };
type Step = () => unknown;

/** The environment and the globals belong to the process, so it runs one stack at a time. */
let running = false;

/** Starts a stack, which ends with its `stop`, or as soon as a step of its start fails. */
async function beginStack<Begun extends object>(
  begin: (ending: Ending) => Promise<Begun>,
): Promise<Begun & { stop: () => Promise<void> }> {
  if (running) throw new OperatorError("A process can run one stack at a time");
  running = true;
  const ending: Ending = { quiet: [], leave: [] };
  const stop = async () => {
    for (const steps of [ending.quiet, ending.leave])
      for (const step of steps.splice(0).reverse()) await step();
    running = false;
  };
  try {
    return { ...(await begin(ending)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts the whole local stack: in this process the application with its crons, both its HTTP interfaces, and stand-ins
 * for the outside providers; in another process the chain. For development and checks; production is a Convex
 * deployment.
 * @throws OperatorError
 */
export function startStack(options: StackOptions = {}): Promise<Stack> {
  return beginStack(async (ending) => {
    const { port = 0, apiPort = 0, speed = 1, log = null } = options;
    const kept = options.ephemeral === true || speed > 1 ? null : (options.dataDir ?? null);
    if (kept !== null) ending.leave.push(await takeDirectory(kept));
    // Requests that arrive before the application is ready wait for it.
    const application = createDeferred<Application>();
    const deliver: Deliver = async (update) => (await application.promise).fetch(WEBHOOK, update);
    const surroundings = await startSurroundings(
      { ...options, speed, kept },
      ending,
      deliver,
      application.promise,
    );
    const { clock, issuer, variables, ...rest } = surroundings;
    ending.leave.push(captureLogs(log, clock.now));
    const site = await listen(port, "PORT", createSiteHandler(application.promise, issuer));
    ending.quiet.push(site.close);
    const api = await listen(apiPort, "API_PORT", createFunctionApiHandler(application.promise, issuer));
    ending.quiet.push(api.close);
    const urls = { siteUrl: site.url, apiUrl: api.url };
    try {
      ending.leave.push(applyVariables(variables(urls)));
      application.resolve(await startApplication(kept, clock, ending, options.host));
    } catch (error) {
      application.reject(error);
    }
    return { ...urls, ...rest, clock, issuer, application: await application.promise };
  });
}

/**
 * Starts the local stack with the platform's own backend in place of Convex's test library. Stand-ins and chain are the
 * same. Nothing is kept, the clock is the machine's, and sign-in is impossible, because the backend asks an issuer on
 * the internet.
 * @throws OperatorError
 */
export function startBesideBackend(options: StackOptions): Promise<BesideBackend> {
  return beginStack(async (ending) => {
    const { port = 0, apiPort = 0, speed = 1, log = console.log } = options;
    if (speed !== 1)
      throw new OperatorError("The platform's backend has no clock of its own: leave --speed out");
    let siteUrl = "";
    const deliver: Deliver = (update) => fetch(siteUrl + WEBHOOK, update);
    const surroundings = await startSurroundings({ ...options, speed, kept: null }, ending, deliver);
    const { variables, ...rest } = surroundings;
    if (rest.chain === null)
      throw new OperatorError(
        "With --backend the chain and its swaps are simulated: remove CHAIN_RPC_URL and SWAP_*",
      );
    const { stop, ...urls } = await startBackend({ port, apiPort, log, variables });
    ending.quiet.push(stop);
    siteUrl = urls.siteUrl;
    return { ...rest, ...urls };
  });
}

const WEBHOOK = "/messenger/webhook";
/** Sends an update to the bot's webhook. */
type Deliver = (update: RequestInit) => Promise<Response>;

/** The surroundings of the application: settings, keys, clock, stand-ins and chain. */
async function startSurroundings(
  options: StackOptions & { speed: number; kept: string | null },
  ending: Ending,
  deliver: Deliver,
  ready: Promise<Application> | null = null,
) {
  const { speed, kept, seed, providersPort = 0, chainPort = 0 } = options;
  const settings = await readCheckedSettings(options.envFile ?? null, (line) => console.warn(line));
  const outside = listRealProviders(settings);
  checkOptions(speed, outside);
  const keys = kept === null ? await createKeys() : await loadKeys(kept);
  const issuer = await createIssuer(keys);
  const clock = createClock(speed);
  ending.leave.push(clock.stop);

  let chain: Chain | null = null;
  const secret = settings.MESSENGER_WEBHOOK_SECRET || keys.messengerWebhookSecret;
  const headers = { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": secret };
  const standins = createStandins({
    ...(seed === undefined ? {} : { seed }),
    now: clock.now,
    rpcUrl: () => chain?.url ?? null,
    deliver: (update) => deliver({ method: "POST", headers, body: JSON.stringify(update) }),
  });
  const providers = await listen(providersPort, "PROVIDERS_PORT", async (request) => {
    return (await answerCommand(request, issuer, ready)) ?? standins.handle(request);
  });
  ending.leave.push(providers.close);
  if (!outside.includes("chain")) {
    const started = await startChain({
      port: chainPort,
      clock: () => clock.now() / 1_000,
      speed,
      stateFile: kept === null ? null : path.join(kept, "chain.json"),
      prices: () => listPrices(standins.market),
      log: (message) => console.warn(message),
    });
    ending.leave.push(() => started.stop());
    chain = started;
  }
  const variables = (urls: { siteUrl: string; apiUrl: string }): Variables => {
    const local = { ...standins.env(providers.url), CHAIN_RPC_URL: chain?.url };
    const payments = { ...createAccounts(chain), ...safety(settings) };
    return buildApplicationVariables(settings, { ...urls, keys, local, payments });
  };
  return { standins, providersUrl: providers.url, chain, clock, issuer, realProviders: outside, variables };
}

async function startApplication(
  kept: string | null,
  clock: Clock,
  ending: Ending,
  host?: ActionHost,
): Promise<Application> {
  const snapshot = kept === null ? null : await readSnapshot(kept);
  const application = await createApplication(clock, host);
  ending.leave.push(application.stop);
  // Loads most of the application before the first request.
  await application.defaultExport("http");
  if (snapshot !== null) await application.restore(snapshot.rows);
  const crons = await startCrons(application, clock, snapshot?.dueTimes ?? {});
  ending.quiet.push(crons.stop);
  // Saved once nothing starts work any more.
  if (kept !== null) ending.quiet.unshift(keepSnapshots(kept, application, crons.dueTimes).stop);
  const forget = () => application.forgetJobs(clock.now() - JOBS_KEPT_MS);
  const housekeeping = real.setInterval(
    () => void forget().catch((error: unknown) => console.error(error)),
    HOUSEKEEPING_MS,
  );
  ending.quiet.push(() => real.clearInterval(housekeeping));
  return application;
}

function checkOptions(speed: number, outside: readonly Provider[]): void {
  if (!(speed >= 1 && speed <= MAX_SPEED)) throw new Misuse(`The speed must be from 1 to ${MAX_SPEED}`);
  if (speed > 1 && outside.length > 0)
    throw new OperatorError(
      `A speed above 1 is refused if a provider is real (${outside.join(", ")}): it would be called that ` +
        "many times more often. Take its variables out of the environment and of .env.local.",
    );
  // A real quote names contracts and balances of the real chain.
  if (outside.includes("swap provider") && !outside.includes("chain"))
    throw new OperatorError(
      "A real swap provider (SWAP_API_KEY, SWAP_API_URL) needs a real chain: set CHAIN_RPC_URL as well, or take " +
        "its variables out of the environment and of .env.local.",
    );
}

/** With a chain that is not on this machine, wallets are read-only. */
function safety({ CHAIN_RPC_URL }: Variables): Variables {
  return isLoopback(CHAIN_RPC_URL) ? {} : { TRADING_PAUSED: "true" };
}

/**
 * The local chain's platform wallet (account 1), payment relayer (2), and the account that anchors the signal record (4),
 * and how many blocks it confirms with; none for a real chain, where their keys would be public.
 */
function createAccounts(chain: Chain | null): Variables {
  const deriveKey = (addressIndex: number) =>
    toHex(mnemonicToAccount(DEV_MNEMONIC, { addressIndex }).getHdKey().privateKey ?? new Uint8Array());
  return chain === null
    ? {}
    : {
        PLATFORM_WALLET_ADDRESS: chain.accounts[1],
        X402_RELAYER_PRIVATE_KEY: deriveKey(2),
        ANCHOR_PRIVATE_KEY: deriveKey(4),
        // The local chain mines nothing while nothing is sent: ten blocks would take ten minutes.
        CONFIRMATIONS: "1",
      };
}

/** The prices of the simulated market for the chain's price feeds. */
export function listPrices(market: Market): Prices {
  const price = (symbol: string) => market.coin(symbol).price;
  return {
    ETH: price("ETH"),
    BTC: price("BTC"),
    USDC: price("USDC"),
    USDT: price("USDT"),
    DAI: price("DAI"),
  };
}

function createDeferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
