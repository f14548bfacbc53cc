import { linkEndpoints } from "./accounts/linkHttp";
import { pageFormEndpoints, pageLinkEndpoints } from "./accounts/pageHttp";
import { paperEndpoints } from "./accounts/paperHttp";
import { alertEndpoints } from "./alerts/http";
import { standingEndpoints } from "./alerts/standingHttp";
import { botEndpoints } from "./bot/http";
import { chatEndpoints } from "./chat/http";
import { compatEndpoints } from "./compat/http";
import { compatMessengerEndpoints } from "./compat/messengerHttp";
import type { MountedEndpoint } from "./platform/http/endpoint";
import { marketEndpoints } from "./market/http";
import { webhookEndpoints } from "./messenger/webhooks/http";
import { messengerEndpoints } from "./messenger/http";
import { opsEndpoints } from "./ops/http";
import { referenceEndpoints } from "./pages/reference/http";
import { pageEndpoints } from "./pages/http";
import { depositEndpoints } from "./payments/depositHttp";
import { paidReportEndpoints } from "./payments/http";
import { researchEndpoints } from "./research/http";
import { signalEndpoints } from "./signals/http";
import { socialEndpoints } from "./social/http";
import { walletEndpoints } from "./wallets/http";
import { orderEndpoints } from "./wallets/orders/http";
import { whaleEndpoints } from "./whales/http";

/**
 * Every endpoint with its shapes, for the API document and for what is made from it. A request evaluates one of them alone:
 * `http.ts` has their paths.
 */

/** What the API document offers, by domain; the names are its tags. */
export const endpointsByDomain: Record<string, MountedEndpoint[]> = {
  market: marketEndpoints,
  chat: chatEndpoints,
  research: researchEndpoints,
  signals: signalEndpoints,
  whales: whaleEndpoints,
  alerts: [...alertEndpoints, ...webhookEndpoints],
  payments: [...paidReportEndpoints, ...depositEndpoints],
  messenger: [...messengerEndpoints, ...linkEndpoints, ...botEndpoints],
  wallets: [...walletEndpoints, ...paperEndpoints, ...pageLinkEndpoints],
  orders: [...orderEndpoints, ...standingEndpoints],
  social: socialEndpoints,
  service: [...opsEndpoints, ...referenceEndpoints],
};

/** With what the reference page alone tells: the pages for people, and the names that earlier clients call. */
export const domains: Record<string, MountedEndpoint[]> = {
  pages: [...pageEndpoints, ...pageFormEndpoints],
  ...endpointsByDomain,
  compat: [...compatEndpoints, ...compatMessengerEndpoints],
};

export const endpoints = Object.values(domains).flat();
