import { defineOptions, duration, onOff, text, wholeNumber } from '#base/options.ts'
import { checkAmount } from '#cmd/check-values.ts'

const file = { placeholder: 'FILE', default: '' }

/** What becomes of requests on their way: recorded, made to wait; names are the API server's. */
export const requestOptions = defineOptions({
  auditPolicyFile: text('audit requests by this policy (audit.k8s.io/v1)', file),
  auditLogPath: text('where the audit log is written', file),
  auditLogMaxsize: wholeNumber('rotate the audit log when it is larger than this many MiB (0: never)', { placeholder: 'N', default: 0 }),
  auditLogMaxbackup: wholeNumber('keep this many rotated audit logs (0: all)', { placeholder: 'N', default: 0 }),
  auditLogMaxage: wholeNumber('keep rotated audit logs this many days (0: for ever)', { placeholder: 'N', default: 0 }),
  auditWebhookConfigFile: text('send audit events to the webhook of this kubeconfig', file),
  requestTimeout: duration('how long a request may take, watches and their like aside', { default: 60_000, defaultText: '1m' }),
  enablePriorityAndFairness: onOff('API priority and fairness: queue requests of busy clients, so that others get their turn', {
    default: true,
  }),
  memoryLimit: text('refuse new requests (429) when the process has nearly this much memory; 0: near the limit of its heap', {
    ...{ placeholder: 'AMOUNT', default: '0', check: checkAmount },
  }),
  apiWorkers: wholeNumber('serve the API by this many threads, for machines with many cores; each keeps the objects in memory', {
    ...{ placeholder: 'N', default: 1, min: 1, max: 64 },
  }),
  maxRequestsInflight: wholeNumber('concurrency limit: how many requests run at once, together with the next', {
    placeholder: 'N',
    default: 400,
  }),
  maxMutatingRequestsInflight: wholeNumber('concurrency limit: how many requests run at once, together with the last', {
    placeholder: 'N',
    default: 200,
  }),
})
