import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { customKinds } from '#api/custom-kinds/custom-kind.ts'
import { atOnce } from '#base/steps.ts'
import { customTypesOf } from './custom-definition.ts'
import { openApiV2, openApiV3, type SchemaObject } from './dialect.ts'

const widgets: V1CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
            },
          },
        },
      },
    ],
  },
}

for (const dialect of [openApiV2, openApiV3])
  test(`the metadata of custom resources is described for \`kubectl explain\` (OpenAPI ${dialect.version})`, () => {
    const kinds = [...customKinds(widgets, { read: () => widgets, live: { isTerminating: false } })]
    const steps = customTypesOf(kinds).get('com.example.v1.Widget')?.(dialect)
    const definition = steps && atOnce(steps)
    const properties = definition?.schema['properties'] as Record<string, SchemaObject>
    const embedded = properties['template']?.['properties'] as Record<string, SchemaObject>
    for (const metadata of [properties['metadata'], embedded['metadata']])
      assert.match(String(metadata?.['description']), /^Standard object's metadata\./)
  })
