import { paidCrashes } from "../payments/troubles/paidCrashes";

/** The service dies at every call to the outside that a paid report takes. */
paidCrashes({ first: 1, every: 1 });
