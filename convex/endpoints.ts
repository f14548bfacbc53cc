import { alertEndpoints } from "./alerts/http";
import { botEndpoints } from "./bot/http";
import { linkingEndpoints } from "./bot/linkingHttp";
import { chatEndpoints } from "./chat/http";
import { compatEndpoints } from "./compat/http";
import { compatMessengerEndpoints } from "./compat/messengerHttp";
import type { MountedEndpoint } from "./lib/http/endpoint";
import { marketEndpoints } from "./market/http";
import { webhookEndpoints } from "./messenger/webhooks/http";
import { messengerEndpoints } from "./bot/settingsHttp";
import { opsEndpoints } from "./ops/http";
import { referenceEndpoints } from "./ops/reference/http";
import { pageEndpoints } from "./pages/http";
import { depositEndpoints } from "./payments/deposits/http";
import { paidReportEndpoints } from "./payments/reports/http";
import { priceEndpoints } from "./prices/http";
import { researchEndpoints } from "./research/http";
import { signalEndpoints } from "./signals/http";
import { labEndpoints } from "./signals/lab";
import { ownRecordEndpoints } from "./signals/people/http";
import { socialEndpoints } from "./social/http";
import { walletEndpoints } from "./wallets/http";
import { approvalEndpoints } from "./wallets/orders/approvalHttp";
import { transactionEndpoints } from "./wallets/orders/http";
import { whaleEndpoints } from "./whales/http";

/**
 * Every endpoint with its shapes, for the API document and for what is made from it. A request evaluates one of them alone:
 * `http.ts` has their paths.
 */

/** By domain; the names are the tags of the API document. */
export const domains: Record<string, MountedEndpoint[]> = {
  pages: pageEndpoints,
  market: marketEndpoints,
  prices: priceEndpoints,
  chat: chatEndpoints,
  research: researchEndpoints,
  signals: [...signalEndpoints, ...labEndpoints, ...ownRecordEndpoints],
  whales: whaleEndpoints,
  alerts: [...alertEndpoints, ...webhookEndpoints],

  payments: [...paidReportEndpoints, ...depositEndpoints],
  messenger: [...messengerEndpoints, ...linkingEndpoints, ...botEndpoints],
  wallets: [...walletEndpoints, ...transactionEndpoints, ...approvalEndpoints],
  social: socialEndpoints,
  compat: [...compatEndpoints, ...compatMessengerEndpoints],
  service: [...opsEndpoints, ...referenceEndpoints],
};

export const endpoints = Object.values(domains).flat();
