import { httpRouter } from "convex/server";
import { chatEndpoints } from "./chat/http";
import { mount } from "./lib/http";
import { marketEndpoints } from "./market/http";
import { messengerEndpoints } from "./messenger/http";
import { opsEndpoints } from "./ops/http";
import { depositEndpoints } from "./payments/depositHttp";
import { paidReportEndpoints } from "./payments/http";
import { researchEndpoints } from "./research/http";
import { signalEndpoints } from "./signals/http";
import { walletEndpoints } from "./wallets/http";
import { whaleEndpoints } from "./whales/http";

export const endpoints = [
  ...marketEndpoints,
  ...chatEndpoints,
  ...researchEndpoints,
  ...signalEndpoints,
  ...paidReportEndpoints,
  ...messengerEndpoints,
  ...whaleEndpoints,
  ...walletEndpoints,
  ...depositEndpoints,
  ...opsEndpoints,
];

const http = httpRouter();
mount(http, endpoints);

export default http;
