import { createStandins } from "../standins/index";
import { standinsHandler } from "../standins/server";
import { listen } from "../sockets/listener";
import { startBackend } from "./backend";
import { createClock } from "./time/clock";
import { withInquiries } from "./inquiries";
import { applicationVariables, realProviders, type Variables } from "./env";
import { createIssuer } from "./api/issuer";
import { freshKeys } from "./keys";
import { anchorAccount, paymentAccounts, startLocalChain } from "./localChain";
import { checkedSettings } from "./settings";
import { OptionsError, type Stack, type StackOptions } from "./stack";

/** A stack with the platform's own backend: its functions are not in this process. */
export type BesideBackend = Omit<Stack, "application" | "issuer" | "standins">;

/**
 * Starts the local stack with the platform's own backend in place of Convex's test library. Stand-ins and chain are
 * the same. Nothing is kept, the clock is the machine's, and nobody can sign in, because the backend asks an issuer on
 * the internet.
 * @throws BackendError, OptionsError, PortInUseError, SettingsError, ChainStartError with messages for the operator.
 */
export async function startBesideBackend(options: StackOptions): Promise<BesideBackend> {
  const { port = 0, apiPort = 0, providersPort = 0, chainPort = 0, log = console.log } = options;
  if ((options.speed ?? 1) !== 1)
    throw new OptionsError("The platform's backend has no clock of its own: leave --speed out");
  const settings = await checkedSettings(options.envFile ?? null, console.warn);
  const outside = realProviders(settings);
  if (outside.includes("chain") || outside.includes("swap provider"))
    throw new OptionsError(
      "With --backend the chain and its swaps are simulated: remove CHAIN_RPC_URL and SWAP_*",
    );
  const keys = await freshKeys();
  const secret = settings.MESSENGER_WEBHOOK_SECRET || keys.messengerWebhookSecret;
  const clock = createClock(1);
  const leave: (() => unknown)[] = [clock.stop];
  const stop = async () => {
    for (const step of leave.splice(0).reverse()) await step();
  };
  const known: { rpcUrl: string | null; siteUrl: string; apiUrl: string; variables: Variables } = {
    rpcUrl: null,
    siteUrl: "",
    apiUrl: "",
    variables: {},
  };
  try {
    const standins = createStandins({
      now: clock.now,
      rpcUrl: () => known.rpcUrl,
      deliver: (update) =>
        fetch(`${known.siteUrl}/messenger/webhook`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": secret },
          body: JSON.stringify(update),
        }),
    });
    const chain = await startLocalChain({ port: chainPort, kept: null, clock, market: standins.market });
    known.rpcUrl = chain.url;
    leave.push(() => chain.stop());
    const unknown = () => Promise.resolve({ error: "The platform's backend does not offer this" });
    const sources = { issuer: await createIssuer(keys), usage: unknown };
    const providers = await listen(
      providersPort,
      "PROVIDERS_PORT",
      standinsHandler(withInquiries(standins, sources)),
    );
    leave.push(providers.close);
    const backend = await startBackend({
      ...{ port, apiPort, log },
      variables: (urls) => {
        const local = { ...standins.env(providers.url), CHAIN_RPC_URL: chain.url };
        const payments = { ...paymentAccounts(chain), ...anchorAccount(chain) };
        Object.assign(known, {
          ...urls,
          variables: applicationVariables(settings, { ...urls, keys, local, payments }),
        });
        return known.variables;
      },
    });
    leave.push(backend.stop);
    const { siteUrl, apiUrl } = backend;
    return { siteUrl, apiUrl, providersUrl: providers.url, chain, clock, realProviders: outside, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
