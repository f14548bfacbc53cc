import { paidCrashes } from "./paidCrashes";

/** A sample of the deaths; `npm run test:long -- payments` has the service die at every call. */
paidCrashes({ first: 2, every: 41 });
