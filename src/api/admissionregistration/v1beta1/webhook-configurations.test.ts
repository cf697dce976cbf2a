import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  mutatingWebhookConfigurationResource,
  validatingWebhookConfigurationResource,
} from '#api/admissionregistration/v1beta1/webhook-configurations.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

const webhook = { name: 'a.example.com', clientConfig: { url: 'https://example.com' } }
const configuration = { metadata: { name: 'a' }, webhooks: [webhook] }

test('webhooks that fail are passed over, and may have effects nobody knows of', () => {
  for (const kind of [validatingWebhookConfigurationResource, mutatingWebhookConfigurationResource]) {
    const { shown, errors } = tryCreateThrough(kind, configuration)
    const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, admissionReviewVersions } = shown.webhooks?.[0] ?? {}
    assert.deepEqual(errors, [])
    assert.deepEqual([failurePolicy, matchPolicy, sideEffects, timeoutSeconds], ['Ignore', 'Exact', 'Unknown', 30])
    assert.deepEqual(admissionReviewVersions, ['v1beta1'])
  }
})

test('webhooks may share a name, but are validated otherwise', () => {
  assert.deepEqual(tryCreateThrough(validatingWebhookConfigurationResource, { ...configuration, webhooks: [webhook, webhook] }).errors, [])
  const wrong = { ...webhook, timeoutSeconds: 31, sideEffects: 'Maybe' }
  assert.deepEqual(tryCreateThrough(validatingWebhookConfigurationResource, { ...configuration, webhooks: [wrong] }).errors, [
    'webhooks[0].sideEffects: Unsupported value: "Maybe": supported values: "None", "NoneOnDryRun", "Some", "Unknown"',
    'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
  ])
})
