import type { Chain } from "../../../scripts/chain";
import { measure } from "../../../scripts/host/billing/usage";
import { mutationGeneric, queryGeneric } from "convex/server";
import { v } from "convex/values";
import { createHmac } from "node:crypto";
import { createApp, type App } from "../../support/app";
import type { WorldOptions } from "../../support/world";
import type { Attempt } from "./requests";
import { USERS } from "../swaps/values";
import { intercept } from "../../support/outside";

/** The application in hostile hands: without limits, its writes and its calls to the outside watched. */

export const SECRETS = {
  WALLET_ENCRYPTION_KEY: "5e".repeat(32),
  MESSENGER_WEBHOOK_SECRET: "messenger-webhook-secret-of-the-fuzz",
  SOCIAL_WEBHOOK_SECRET: "social-webhook-secret-of-the-fuzz",
  X402_RELAYER_PRIVATE_KEY: `0x${"4c".repeat(32)}`,
  SENTIMENT_API_KEY: "xai-simulated-local-only",
  LLM_GATEWAY_API_KEY: "bk_simulated_local_only",
  SWAP_API_KEY: "0x-simulated-local-only",
  MESSENGER_BOT_TOKEN: "123456:AAE-simulated-local-only-0000000000",
};

export type Outcome = { status: number; text: string; headers: Headers; written: number };

export type FuzzedApp = App & {
  attempt: (one: Attempt) => Promise<Outcome>;
  /** Where the service went, without the queries. */
  asked: Set<string>;
};

/** Takes every request: what the limits refuse would be all that is tested. */
const unlimited = {
  rateLimit: mutationGeneric({ args: v.any(), handler: () => ({ ok: true }) }),
  getValue: queryGeneric({
    args: v.any(),
    handler: (_ctx, { config }: { config: object }) => ({ value: 1, ts: Date.now(), shard: 0, config }),
  }),
  checkRateLimit: queryGeneric({ args: v.any(), handler: () => ({ ok: true }) }),
};

export async function createFuzzedApp(chain: Chain, env: WorldOptions["env"] = {}): Promise<FuzzedApp> {
  const settings = { ...SECRETS, PLATFORM_WALLET_ADDRESS: chain.accounts[1], ...env };
  const app = createApp({ chainUrl: () => chain.url, now: Date.now(), env: settings });
  app.host.core.parts.add({
    path: "rateLimiter",
    tables: [],
    modules: { lib: () => Promise.resolve(unlimited) },
  });
  const asked = new Set<string>();
  intercept(({ url }, pass) => {
    const { origin, pathname } = new URL(url);
    asked.add(origin + pathname);
    return pass();
  });
  await app.post("/mcp/defi/connect", { userId: USERS[1] });
  await app.post("/user/messenger", { userId: USERS[1], messengerChatId: "77" });
  let callers = 0;
  const attempt = async ({ method, path, headers, body }: Attempt): Promise<Outcome> => {
    // Each from an address of its own, which has a share of every common place.
    const ip = `10.0.${callers >> 8}.${callers++ & 255}`;
    const init = { method, ip, headers: signed(headers, body), ...(body === undefined ? {} : { body }) };
    const { value, usage } = await measure(() => app.call(method, path, init));
    return { ...value, written: usage.written };
  };
  return { ...app, attempt, asked };
}

/** Every other webhook call knows the secret: what is behind the signature is to be tried as well. */
function signed(headers: Record<string, string>, body = ""): Record<string, string> {
  if (body.length % 2 === 0) return headers;
  const mac = createHmac("sha256", SECRETS.SOCIAL_WEBHOOK_SECRET).update(body).digest("base64");
  return {
    ...headers,
    "x-twitter-webhooks-signature": `sha256=${mac}`,
    "x-telegram-bot-api-secret-token": SECRETS.MESSENGER_WEBHOOK_SECRET,
  };
}
