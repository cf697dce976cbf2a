import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtobufReader, wireBytes, wireVarint } from '#wire/protobuf-reader.ts'
import { encodeEnds, encodeEntry, encodeSectionHead } from './protobuf-v2.ts'

type Field = [number: number, value: string | number | Buffer]

/** One level of a message. */
function fieldsOf(bytes: Uint8Array): Field[] {
  const reader = new ProtobufReader(bytes)
  const fields: Field[] = []
  while (!reader.isAtEnd) {
    const tag = reader.tag()
    if ((tag & 7) === wireVarint) fields.push([tag >>> 3, reader.uint32()])
    else if ((tag & 7) === wireBytes) fields.push([tag >>> 3, Buffer.from(reader.bytes())])
    else throw new Error(`wire type ${tag & 7}`)
  }
  return fields
}

/** The value at a path of field numbers, each the first of its number. */
function at(bytes: Uint8Array, ...path: number[]): string | number | undefined {
  const [number, ...rest] = path
  const found = fieldsOf(bytes).find((field) => field[0] === number)?.[1]
  if (found === undefined || typeof found === 'number') return found
  if (typeof found === 'string') return found
  return rest.length === 0 ? found.toString() : at(found, ...rest)
}

test('a definition becomes a name and a schema', () => {
  const entry = encodeEntry('definitions', 'a.Thing', {
    description: 'What it is.',
    type: 'object',
    properties: { items: { type: 'array', items: { $ref: '#/definitions/b' } }, labels: { additionalProperties: { type: 'string' } } },
    required: ['items', 'labels'],
    'x-kubernetes-group-version-kind': [{ group: '', kind: 'Thing', version: 'v1' }],
  })
  const named = fieldsOf(entry)[0]?.[1] as Buffer
  assert.equal(at(named, 1), 'a.Thing')
  const schema = fieldsOf(named).find(([number]) => number === 2)?.[1] as Buffer
  assert.equal(at(schema, 4), 'What it is.')
  assert.equal(at(schema, 22, 1), 'object')
  assert.equal(at(schema, 25, 1, 1), 'items')
  assert.equal(at(schema, 25, 1, 2, 23, 1, 1), '#/definitions/b')
  assert.deepEqual(
    fieldsOf(schema)
      .filter(([number]) => number === 19)
      .map(([, value]) => String(value)),
    ['items', 'labels'],
  )
  assert.equal(at(schema, 31, 1), 'x-kubernetes-group-version-kind')
  assert.equal(at(schema, 31, 2, 2), '[{"group":"","kind":"Thing","version":"v1"}]\n')
})

test('an operation keeps its parameters apart: in the query, in the path, in the body, elsewhere', () => {
  const entry = encodeEntry('paths', '/things', {
    patch: {
      operationId: 'patchThing',
      parameters: [
        { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true },
        { name: 'name', in: 'path', type: 'string', required: true },
        { name: 'body', in: 'body', schema: { $ref: '#/definitions/b' } },
        { $ref: '#/parameters/force' },
      ],
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/c' } } },
      'x-kubernetes-action': 'patch',
    },
  })
  const item = fieldsOf(fieldsOf(entry)[0]?.[1] as Buffer).find(([number]) => number === 2)?.[1] as Buffer
  const operation = fieldsOf(item).find(([number]) => number === 8)?.[1] as Buffer
  assert.equal(at(operation, 5), 'patchThing')
  const parameters = fieldsOf(operation)
    .filter(([number]) => number === 8)
    .map(([, value]) => value as Buffer)
  assert.equal(at(parameters[0] as Buffer, 1, 2, 3, 4), 'dryRun')
  assert.equal(at(parameters[0] as Buffer, 1, 2, 3, 20), 1)
  assert.equal(at(parameters[1] as Buffer, 1, 2, 4, 4), 'name')
  assert.equal(at(parameters[2] as Buffer, 1, 1, 5, 1), '#/definitions/b')
  assert.equal(at(parameters[3] as Buffer, 2, 1), '#/parameters/force')
  assert.equal(at(operation, 9, 1, 1), '200')
  assert.equal(at(operation, 9, 1, 2, 1, 2, 1, 1), '#/definitions/c')
})

test('sections and ends make up a document', () => {
  const entry = encodeEntry('parameters', 'force', { name: 'force', in: 'query', type: 'boolean' })
  const document = Buffer.concat([
    encodeEnds({ swagger: '2.0', info: { title: 'T' } }),
    encodeSectionHead('parameters', entry.length),
    entry,
  ])
  assert.equal(at(document, 1), '2.0')
  assert.equal(at(document, 2, 1), 'T')
  assert.equal(at(document, 10, 1, 1), 'force')
})
