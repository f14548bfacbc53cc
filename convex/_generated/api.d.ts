/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type * as account_claims from "../account/claims.js";
import type * as account_deletion from "../account/deletion.js";
import type * as account_export from "../account/export.js";
import type * as account_tables from "../account/tables.js";
import type * as chat_agents from "../chat/agents.js";
import type * as chat_http from "../chat/http.js";
import type * as chat_replies from "../chat/replies.js";
import type * as chat_runs from "../chat/runs.js";
import type * as credits_app from "../credits/app.js";
import type * as credits_games from "../credits/games.js";
import type * as credits_model from "../credits/model.js";
import type * as credits_rates from "../credits/rates.js";
import type * as credits_reconciliation from "../credits/reconciliation.js";
import type * as credits_reservations from "../credits/reservations.js";
import type * as credits_tables from "../credits/tables.js";
import type * as crons from "../crons.js";
import type * as http from "../http.js";
import type * as lib_addresses from "../lib/addresses.js";
import type * as lib_audit from "../lib/audit.js";
import type * as lib_auth from "../lib/auth.js";
import type * as lib_crypto from "../lib/crypto.js";
import type * as lib_deadlines from "../lib/deadlines.js";
import type * as lib_env from "../lib/env.js";
import type * as lib_errors from "../lib/errors.js";
import type * as lib_http from "../lib/http.js";
import type * as lib_input from "../lib/input.js";
import type * as lib_json from "../lib/json.js";
import type * as lib_keyRequests from "../lib/keyRequests.js";
import type * as lib_limits from "../lib/limits.js";
import type * as lib_log from "../lib/log.js";
import type * as lib_money from "../lib/money.js";
import type * as lib_pools from "../lib/pools.js";
import type * as lib_refreshes from "../lib/refreshes.js";
import type * as lib_request from "../lib/request.js";
import type * as lib_sealing from "../lib/sealing.js";
import type * as lib_shapes from "../lib/shapes.js";
import type * as lib_tables from "../lib/tables.js";
import type * as lib_time from "../lib/time.js";
import type * as market_http from "../market/http.js";
import type * as market_model from "../market/model.js";
import type * as market_prompts from "../market/prompts.js";
import type * as market_snapshots from "../market/snapshots.js";
import type * as market_tables from "../market/tables.js";
import type * as market_tokens from "../market/tokens.js";
import type * as messenger_delivery from "../messenger/delivery.js";
import type * as messenger_format from "../messenger/format.js";
import type * as messenger_http from "../messenger/http.js";
import type * as messenger_model from "../messenger/model.js";
import type * as messenger_outbox from "../messenger/outbox.js";
import type * as messenger_seals from "../messenger/seals.js";
import type * as messenger_settings from "../messenger/settings.js";
import type * as messenger_tables from "../messenger/tables.js";
import type * as ops_http from "../ops/http.js";
import type * as payments_authorizations from "../payments/authorizations.js";
import type * as payments_challenge from "../payments/challenge.js";
import type * as payments_claimRows from "../payments/claimRows.js";
import type * as payments_claims from "../payments/claims.js";
import type * as payments_creditedTransfers from "../payments/creditedTransfers.js";
import type * as payments_depositAnswers from "../payments/depositAnswers.js";
import type * as payments_depositHints from "../payments/depositHints.js";
import type * as payments_depositHttp from "../payments/depositHttp.js";
import type * as payments_depositModel from "../payments/depositModel.js";
import type * as payments_depositPayloads from "../payments/depositPayloads.js";
import type * as payments_depositPhases from "../payments/depositPhases.js";
import type * as payments_depositSignatures from "../payments/depositSignatures.js";
import type * as payments_depositTables from "../payments/depositTables.js";
import type * as payments_depositWork from "../payments/depositWork.js";
import type * as payments_deposits from "../payments/deposits.js";
import type * as payments_erasure from "../payments/erasure.js";
import type * as payments_hashProofs from "../payments/hashProofs.js";
import type * as payments_http from "../payments/http.js";
import type * as payments_paidTables from "../payments/paidTables.js";
import type * as payments_proofs from "../payments/proofs.js";
import type * as payments_redemption from "../payments/redemption.js";
import type * as payments_relayer from "../payments/relayer.js";
import type * as payments_reports from "../payments/reports.js";
import type * as payments_repricing from "../payments/repricing.js";
import type * as payments_settlement from "../payments/settlement.js";
import type * as payments_settlements from "../payments/settlements.js";
import type * as payments_terms from "../payments/terms.js";
import type * as payments_transferClaims from "../payments/transferClaims.js";
import type * as payments_transferTables from "../payments/transferTables.js";
import type * as payments_transfers from "../payments/transfers.js";
import type * as prices_feeds from "../prices/feeds.js";
import type * as providers_call from "../providers/call.js";
import type * as providers_chain from "../providers/chain.js";
import type * as providers_chainTransactions from "../providers/chainTransactions.js";
import type * as providers_chainTransfers from "../providers/chainTransfers.js";
import type * as providers_facilitator from "../providers/facilitator.js";
import type * as providers_llm from "../providers/llm.js";
import type * as providers_messenger from "../providers/messenger.js";
import type * as providers_sentiment from "../providers/sentiment.js";
import type * as providers_swap from "../providers/swap.js";
import type * as providers_usdc from "../providers/usdc.js";
import type * as research_app from "../research/app.js";
import type * as research_cards from "../research/cards.js";
import type * as research_checkpoints from "../research/checkpoints.js";
import type * as research_evidence from "../research/evidence.js";
import type * as research_http from "../research/http.js";
import type * as research_model from "../research/model.js";
import type * as research_observations from "../research/observations.js";
import type * as research_onDemand from "../research/onDemand.js";
import type * as research_prompts from "../research/prompts.js";
import type * as research_publishing from "../research/publishing.js";
import type * as research_result from "../research/result.js";
import type * as research_shifts from "../research/shifts.js";
import type * as research_snapshot from "../research/snapshot.js";
import type * as research_sources from "../research/sources.js";
import type * as research_syntheses from "../research/syntheses.js";
import type * as research_tables from "../research/tables.js";
import type * as research_writing from "../research/writing.js";
import type * as runs_app from "../runs/app.js";
import type * as runs_model from "../runs/model.js";
import type * as runs_tables from "../runs/tables.js";
import type * as users_access from "../users/access.js";
import type * as users_addresses from "../users/addresses.js";
import type * as users_linking from "../users/linking.js";
import type * as users_model from "../users/model.js";
import type * as users_profile from "../users/profile.js";
import type * as users_tables from "../users/tables.js";
import type * as wallets_accounts from "../wallets/accounts.js";
import type * as wallets_addresses from "../wallets/addresses.js";
import type * as wallets_app from "../wallets/app.js";
import type * as wallets_custody_keys from "../wallets/custody/keys.js";
import type * as wallets_custody_model from "../wallets/custody/model.js";
import type * as wallets_custody_seals from "../wallets/custody/seals.js";
import type * as wallets_custody_signing from "../wallets/custody/signing.js";
import type * as wallets_custody_tables from "../wallets/custody/tables.js";
import type * as wallets_driver from "../wallets/driver.js";
import type * as wallets_followUp from "../wallets/followUp.js";
import type * as wallets_hints from "../wallets/hints.js";
import type * as wallets_http from "../wallets/http.js";
import type * as wallets_inputs from "../wallets/inputs.js";
import type * as wallets_machine from "../wallets/machine.js";
import type * as wallets_model from "../wallets/model.js";
import type * as wallets_owners from "../wallets/owners.js";
import type * as wallets_plans from "../wallets/plans.js";
import type * as wallets_quoteChecks from "../wallets/quoteChecks.js";
import type * as wallets_rows from "../wallets/rows.js";
import type * as wallets_steps from "../wallets/steps.js";
import type * as wallets_swapping from "../wallets/swapping.js";
import type * as wallets_tables from "../wallets/tables.js";
import type * as wallets_tokens from "../wallets/tokens.js";
import type * as wallets_trades from "../wallets/trades.js";
import type * as wallets_transactions from "../wallets/transactions.js";
import type * as wallets_transferLimits from "../wallets/transferLimits.js";
import type * as wallets_waiting from "../wallets/waiting.js";
import type * as wallets_wallets from "../wallets/wallets.js";

import type {
  ApiFromModules,
  FilterApi,
  FunctionReference,
} from "convex/server";

declare const fullApi: ApiFromModules<{
  "account/claims": typeof account_claims;
  "account/deletion": typeof account_deletion;
  "account/export": typeof account_export;
  "account/tables": typeof account_tables;
  "chat/agents": typeof chat_agents;
  "chat/http": typeof chat_http;
  "chat/replies": typeof chat_replies;
  "chat/runs": typeof chat_runs;
  "credits/app": typeof credits_app;
  "credits/games": typeof credits_games;
  "credits/model": typeof credits_model;
  "credits/rates": typeof credits_rates;
  "credits/reconciliation": typeof credits_reconciliation;
  "credits/reservations": typeof credits_reservations;
  "credits/tables": typeof credits_tables;
  crons: typeof crons;
  http: typeof http;
  "lib/addresses": typeof lib_addresses;
  "lib/audit": typeof lib_audit;
  "lib/auth": typeof lib_auth;
  "lib/crypto": typeof lib_crypto;
  "lib/deadlines": typeof lib_deadlines;
  "lib/env": typeof lib_env;
  "lib/errors": typeof lib_errors;
  "lib/http": typeof lib_http;
  "lib/input": typeof lib_input;
  "lib/json": typeof lib_json;
  "lib/keyRequests": typeof lib_keyRequests;
  "lib/limits": typeof lib_limits;
  "lib/log": typeof lib_log;
  "lib/money": typeof lib_money;
  "lib/pools": typeof lib_pools;
  "lib/refreshes": typeof lib_refreshes;
  "lib/request": typeof lib_request;
  "lib/sealing": typeof lib_sealing;
  "lib/shapes": typeof lib_shapes;
  "lib/tables": typeof lib_tables;
  "lib/time": typeof lib_time;
  "market/http": typeof market_http;
  "market/model": typeof market_model;
  "market/prompts": typeof market_prompts;
  "market/snapshots": typeof market_snapshots;
  "market/tables": typeof market_tables;
  "market/tokens": typeof market_tokens;
  "messenger/delivery": typeof messenger_delivery;
  "messenger/format": typeof messenger_format;
  "messenger/http": typeof messenger_http;
  "messenger/model": typeof messenger_model;
  "messenger/outbox": typeof messenger_outbox;
  "messenger/seals": typeof messenger_seals;
  "messenger/settings": typeof messenger_settings;
  "messenger/tables": typeof messenger_tables;
  "ops/http": typeof ops_http;
  "payments/authorizations": typeof payments_authorizations;
  "payments/challenge": typeof payments_challenge;
  "payments/claimRows": typeof payments_claimRows;
  "payments/claims": typeof payments_claims;
  "payments/creditedTransfers": typeof payments_creditedTransfers;
  "payments/depositAnswers": typeof payments_depositAnswers;
  "payments/depositHints": typeof payments_depositHints;
  "payments/depositHttp": typeof payments_depositHttp;
  "payments/depositModel": typeof payments_depositModel;
  "payments/depositPayloads": typeof payments_depositPayloads;
  "payments/depositPhases": typeof payments_depositPhases;
  "payments/depositSignatures": typeof payments_depositSignatures;
  "payments/depositTables": typeof payments_depositTables;
  "payments/depositWork": typeof payments_depositWork;
  "payments/deposits": typeof payments_deposits;
  "payments/erasure": typeof payments_erasure;
  "payments/hashProofs": typeof payments_hashProofs;
  "payments/http": typeof payments_http;
  "payments/paidTables": typeof payments_paidTables;
  "payments/proofs": typeof payments_proofs;
  "payments/redemption": typeof payments_redemption;
  "payments/relayer": typeof payments_relayer;
  "payments/reports": typeof payments_reports;
  "payments/repricing": typeof payments_repricing;
  "payments/settlement": typeof payments_settlement;
  "payments/settlements": typeof payments_settlements;
  "payments/terms": typeof payments_terms;
  "payments/transferClaims": typeof payments_transferClaims;
  "payments/transferTables": typeof payments_transferTables;
  "payments/transfers": typeof payments_transfers;
  "prices/feeds": typeof prices_feeds;
  "providers/call": typeof providers_call;
  "providers/chain": typeof providers_chain;
  "providers/chainTransactions": typeof providers_chainTransactions;
  "providers/chainTransfers": typeof providers_chainTransfers;
  "providers/facilitator": typeof providers_facilitator;
  "providers/llm": typeof providers_llm;
  "providers/messenger": typeof providers_messenger;
  "providers/sentiment": typeof providers_sentiment;
  "providers/swap": typeof providers_swap;
  "providers/usdc": typeof providers_usdc;
  "research/app": typeof research_app;
  "research/cards": typeof research_cards;
  "research/checkpoints": typeof research_checkpoints;
  "research/evidence": typeof research_evidence;
  "research/http": typeof research_http;
  "research/model": typeof research_model;
  "research/observations": typeof research_observations;
  "research/onDemand": typeof research_onDemand;
  "research/prompts": typeof research_prompts;
  "research/publishing": typeof research_publishing;
  "research/result": typeof research_result;
  "research/shifts": typeof research_shifts;
  "research/snapshot": typeof research_snapshot;
  "research/sources": typeof research_sources;
  "research/syntheses": typeof research_syntheses;
  "research/tables": typeof research_tables;
  "research/writing": typeof research_writing;
  "runs/app": typeof runs_app;
  "runs/model": typeof runs_model;
  "runs/tables": typeof runs_tables;
  "users/access": typeof users_access;
  "users/addresses": typeof users_addresses;
  "users/linking": typeof users_linking;
  "users/model": typeof users_model;
  "users/profile": typeof users_profile;
  "users/tables": typeof users_tables;
  "wallets/accounts": typeof wallets_accounts;
  "wallets/addresses": typeof wallets_addresses;
  "wallets/app": typeof wallets_app;
  "wallets/custody/keys": typeof wallets_custody_keys;
  "wallets/custody/model": typeof wallets_custody_model;
  "wallets/custody/seals": typeof wallets_custody_seals;
  "wallets/custody/signing": typeof wallets_custody_signing;
  "wallets/custody/tables": typeof wallets_custody_tables;
  "wallets/driver": typeof wallets_driver;
  "wallets/followUp": typeof wallets_followUp;
  "wallets/hints": typeof wallets_hints;
  "wallets/http": typeof wallets_http;
  "wallets/inputs": typeof wallets_inputs;
  "wallets/machine": typeof wallets_machine;
  "wallets/model": typeof wallets_model;
  "wallets/owners": typeof wallets_owners;
  "wallets/plans": typeof wallets_plans;
  "wallets/quoteChecks": typeof wallets_quoteChecks;
  "wallets/rows": typeof wallets_rows;
  "wallets/steps": typeof wallets_steps;
  "wallets/swapping": typeof wallets_swapping;
  "wallets/tables": typeof wallets_tables;
  "wallets/tokens": typeof wallets_tokens;
  "wallets/trades": typeof wallets_trades;
  "wallets/transactions": typeof wallets_transactions;
  "wallets/transferLimits": typeof wallets_transferLimits;
  "wallets/waiting": typeof wallets_waiting;
  "wallets/wallets": typeof wallets_wallets;
}>;

/**
 * A utility for referencing Convex functions in your app's public API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = api.myModule.myFunction;
 * ```
 */
export declare const api: FilterApi<
  typeof fullApi,
  FunctionReference<any, "public">
>;

/**
 * A utility for referencing Convex functions in your app's internal API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = internal.myModule.myFunction;
 * ```
 */
export declare const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
>;

export declare const components: {
  researchPool: import("@convex-dev/workpool/_generated/component.js").ComponentApi<"researchPool">;
  deliveryPool: import("@convex-dev/workpool/_generated/component.js").ComponentApi<"deliveryPool">;
  rateLimiter: import("@convex-dev/rate-limiter/_generated/component.js").ComponentApi<"rateLimiter">;
};
