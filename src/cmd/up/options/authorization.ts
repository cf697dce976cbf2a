import { defineOptions, duration, list, text } from '#base/options.ts'

const file = { placeholder: 'FILE', default: '' }

/** What those who were let in may do; names are the API server's. */
export const authorizationOptions = defineOptions({
  authorizationMode: list('who decides what users may do, in this order', { placeholder: 'LIST', default: ['Node', 'RBAC'] }),
  authorizationConfig: text('an AuthorizationConfiguration, instead of --authorization-mode', file),
  authorizationPolicyFile: text('the policies of the mode ABAC, one a line', file),
  authorizationWebhookConfigFile: text('the kubeconfig that describes the service of the mode Webhook', file),
  authorizationWebhookVersion: text('in which version to ask it', { default: 'v1beta1', choices: ['v1', 'v1beta1'] }),
  authorizationWebhookCacheAuthorizedTtl: duration('how long its yes holds', { default: 300_000, defaultText: '5m' }),
  authorizationWebhookCacheUnauthorizedTtl: duration('how long its no holds', { default: 30_000, defaultText: '30s' }),
})
