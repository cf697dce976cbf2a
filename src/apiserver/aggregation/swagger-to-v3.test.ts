import assert from 'node:assert/strict'
import { test } from 'node:test'
import { swaggerToV3 } from '#apiserver/aggregation/swagger-to-v3.ts'
import type { SwaggerParts } from '#apiserver/openapi/remote-documents.ts'

test('bodies, parameters, answers and references are put as version 3 puts them', () => {
  const parts = {
    definitions: { Thing: { type: 'object', properties: { parts: { type: 'array', items: { $ref: '#/definitions/Part' } } } } },
    parameters: { pretty: { name: 'pretty', in: 'query', type: 'string', uniqueItems: true } },
    paths: {
      '/things': {
        parameters: [{ $ref: '#/parameters/pretty' }],
        post: {
          operationId: 'createThing',
          consumes: ['application/json'],
          produces: ['application/json', 'application/yaml'],
          schemes: ['https'],
          parameters: [
            { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/Thing' } },
            { name: 'dryRun', in: 'query', description: 'Try.', type: 'string' },
          ],
          responses: { 201: { description: 'Created', schema: { $ref: '#/definitions/Thing' } }, 401: { description: 'Who?' } },
          'x-kubernetes-action': 'post',
        },
      },
    },
  } as unknown as SwaggerParts
  const schema = { $ref: '#/components/schemas/Thing' }
  assert.deepEqual(swaggerToV3(parts, 'things'), {
    openapi: '3.0.0',
    info: { title: 'things', version: 'unversioned' },
    paths: {
      '/things': {
        parameters: [{ name: 'pretty', in: 'query', schema: { type: 'string', uniqueItems: true } }],
        post: {
          operationId: 'createThing',
          'x-kubernetes-action': 'post',
          parameters: [{ name: 'dryRun', in: 'query', description: 'Try.', schema: { type: 'string' } }],
          requestBody: { required: true, content: { 'application/json': { schema } } },
          responses: {
            201: { description: 'Created', content: { 'application/json': { schema }, 'application/yaml': { schema } } },
            401: { description: 'Who?' },
          },
        },
      },
    },
    components: {
      schemas: { Thing: { type: 'object', properties: { parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } } } } },
    },
  })
})

test('what is no document does no harm', () => {
  const odd = { definitions: { a: null }, parameters: {}, paths: { '/x': null, '/y': { get: { parameters: 7, responses: 'none' } } } }
  assert.deepEqual(swaggerToV3(odd as unknown as SwaggerParts, 't')['paths'], { '/x': null, '/y': { get: { responses: {} } } })
})
