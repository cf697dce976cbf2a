/** Definitions as large as they come are read whole: every one of them, and no field is unknown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { readYamlDocuments } from '#api/codec/yaml.ts'
import { schemaNameOf } from '#api/schema/schema.ts'
import { definitionsOf, publishedDefinitions } from './read-definitions.ts'

const schema = schemaNameOf({ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' }) ?? ''

for (const [project, count] of Object.entries(publishedDefinitions)) {
  test(`the ${count} definitions of ${project} are decoded without an unknown field`, () => {
    const documents = readYamlDocuments(Buffer.from(definitionsOf(project as keyof typeof publishedDefinitions)))
    const definitions = documents.filter(({ value }) => (value as V1CustomResourceDefinition).kind === 'CustomResourceDefinition')
    assert.equal(definitions.length, count)
    for (const document of definitions) {
      const { object, strictErrors } = document.decode<V1CustomResourceDefinition>(schema)
      assert.deepEqual(strictErrors, [], String(object.metadata?.name))
      assert.equal(object.metadata?.name, `${object.spec.names.plural}.${object.spec.group}`)
    }
  })
}
