import rateLimiter from "@convex-dev/rate-limiter/convex.config.js";
import { defineApp } from "convex/server";
import { v } from "convex/values";

/**
 * Every variable is optional here: an absent one fails the endpoint that needs it (500 naming the variable),
 * not the deployment. `lib/env.ts` reads and validates them; `.env.local.example` explains each.
 */
const app = defineApp({
  env: {
    LLM_GATEWAY_API_KEY: v.optional(v.string()),
    LLM_ENDPOINT: v.optional(v.string()),
    LLM_MODEL: v.optional(v.string()),
    LLM_MODEL_SMALL: v.optional(v.string()),
    AGENT_API_URL: v.optional(v.string()),
    SENTIMENT_API_KEY: v.optional(v.string()),
    SENTIMENT_ENDPOINT: v.optional(v.string()),
    SENTIMENT_MODEL: v.optional(v.string()),
    MESSENGER_BOT_TOKEN: v.optional(v.string()),
    MESSENGER_CHAT_ID: v.optional(v.string()),
    MESSENGER_BOT_NAME: v.optional(v.string()),
    WEB_APP_URL: v.optional(v.string()),
    MESSENGER_API_URL: v.optional(v.string()),
    MESSENGER_WEBHOOK_SECRET: v.optional(v.string()),
    MESSENGER_CONNECT_SECRET: v.optional(v.string()),
    SOCIAL_WEBHOOK_SECRET: v.optional(v.string()),
    SOCIAL_TRADE_CONFIDENCE: v.optional(v.string()),
    WALLET_ENCRYPTION_KEY: v.optional(v.string()),
    WALLET_ENCRYPTION_KEY_PREVIOUS: v.optional(v.string()),
    CHAIN_RPC_URL: v.optional(v.string()),
    EVIDENCE_API_URL: v.optional(v.string()),
    COINGECKO_API_KEY: v.optional(v.string()),
    SWAP_API_KEY: v.optional(v.string()),
    SWAP_API_URL: v.optional(v.string()),
    UNOWNED_DAILY_USD: v.optional(v.string()),
    MAX_PRICE_IMPACT_BPS: v.optional(v.string()),
    TRADING_PAUSED: v.optional(v.string()),
    PAPER: v.optional(v.string()),
    PAPER_START: v.optional(v.string()),
    ROUND_TRIP_COST_BPS: v.optional(v.string()),
    ANCHOR_PRIVATE_KEY: v.optional(v.string()),
    TRUSTED_PROXY_HOPS: v.optional(v.string()),
    DAILY_BUDGET_USD: v.optional(v.string()),
    CONVEX_CLASS: v.optional(v.string()),
    PLATFORM_WALLET_ADDRESS: v.optional(v.string()),
    CONFIRMATIONS: v.optional(v.string()),
    DEPOSITS_FROM_BLOCK: v.optional(v.string()),
    CREDITS_PER_USDC: v.optional(v.string()),
    TOKENS_PER_CREDIT: v.optional(v.string()),
    DEPOSIT_WEBHOOK_SECRET: v.optional(v.string()),
    X402_RELAYER_PRIVATE_KEY: v.optional(v.string()),
    X402_FACILITATOR_URL: v.optional(v.string()),
    BARE_HASH_PROOFS: v.optional(v.string()),
  },
});

app.use(rateLimiter);

export default app;
