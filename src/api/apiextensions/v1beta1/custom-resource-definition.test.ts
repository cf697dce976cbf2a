import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { customResourceDefinitionResource } from '#api/apiextensions/v1beta1/custom-resource-definition.ts'
import type { V1beta1CustomResourceDefinition, V1beta1CustomResourceDefinitionSpec } from '#api/apiextensions/v1beta1/types.gen.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

const named = { group: 'example.com', names: { plural: 'widgets', kind: 'Widget' }, scope: 'Namespaced' }
const definition = (spec: Partial<V1beta1CustomResourceDefinitionSpec>): V1beta1CustomResourceDefinition => ({
  metadata: { name: 'widgets.example.com' },
  spec: { ...named, ...spec },
})
const create = (spec: Partial<V1beta1CustomResourceDefinitionSpec>) =>
  tryCreateThrough<V1beta1CustomResourceDefinition, V1CustomResourceDefinition>(customResourceDefinitionResource, definition(spec))

test('one version, no schema: everything is kept', () => {
  const { object, shown, errors } = create({ version: 'v1' })
  assert.deepEqual(errors, [])
  assert.deepEqual(object.spec.versions, [{ name: 'v1', served: true, storage: true }])
  assert.equal(object.spec.preserveUnknownFields, true)
  assert.deepEqual([shown.spec.version, shown.spec.preserveUnknownFields, shown.spec.conversion], ['v1', true, { strategy: 'None' }])
  assert.equal(object.metadata.annotations, undefined)
})

test('what stands beside the versions holds for each of them', () => {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object' } } }
  const versions = [
    { name: 'v1', served: true, storage: true },
    { name: 'v2', served: true, storage: false },
  ]
  const { object, shown, errors } = create({
    versions,
    validation: { openAPIV3Schema },
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: 'Size', type: 'integer', JSONPath: '.spec.size' }],
  })
  assert.deepEqual(errors, [])
  for (const { schema, subresources, additionalPrinterColumns } of object.spec.versions) {
    assert.deepEqual([schema, subresources], [{ openAPIV3Schema }, { status: {} }])
    assert.deepEqual(additionalPrinterColumns, [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }])
  }
  assert.deepEqual([shown.spec.versions, shown.spec.validation, shown.spec.version], [versions, { openAPIV3Schema }, 'v1'])
  assert.deepEqual(shown.spec.additionalPrinterColumns, [{ name: 'Size', type: 'integer', JSONPath: '.spec.size' }])
})

test('a webhook for conversions moves', () => {
  const webhookClientConfig = { url: 'https://example.com/convert' }
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const conversion = { strategy: 'Webhook', webhookClientConfig }
  const { object, shown, errors } = create({ version: 'v1', validation: { openAPIV3Schema }, preserveUnknownFields: false, conversion })
  assert.deepEqual(errors, [])
  assert.deepEqual(object.spec.conversion, {
    strategy: 'Webhook',
    webhook: { clientConfig: webhookClientConfig, conversionReviewVersions: ['v1beta1'] },
  })
  assert.deepEqual(shown.spec.conversion, { ...conversion, conversionReviewVersions: ['v1beta1'] })
})

test('schemas may leave out structure where unknown fields are kept, and groups of Kubernetes need nobody’s word', () => {
  const loose = { openAPIV3Schema: { properties: { spec: { properties: { size: { type: 'integer', minimum: 1 } } } } } }
  assert.deepEqual(create({ version: 'v1', validation: loose }).errors, [])
  assert.notDeepEqual(create({ version: 'v1', validation: loose, preserveUnknownFields: false }).errors, [])
  const ofKubernetes = definition({ version: 'v1', group: 'sample.k8s.io' })
  ofKubernetes.metadata.name = 'widgets.sample.k8s.io'
  assert.deepEqual(tryCreateThrough(customResourceDefinitionResource, ofKubernetes).errors, [])
})
