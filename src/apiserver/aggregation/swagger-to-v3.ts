/** OpenAPI 2 in the words of OpenAPI 3, for extension servers that do not speak it. */

import type { SwaggerParts } from '#apiserver/openapi/remote-documents.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const operations = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const anyMedia = ['*/*']
/** What a parameter says of itself; all the rest is its schema. */
const ownOfParameter = ['name', 'in', 'description', 'required', 'allowEmptyValue', 'collectionFormat']

export function swaggerToV3({ paths, definitions, parameters }: SwaggerParts, title: string): Fields {
  return {
    openapi: '3.0.0',
    info: { title, version: 'unversioned' },
    paths: mapped(paths, (item) => pathItem(item, parameters)),
    components: { schemas: mapped(definitions, withReferences) },
  }
}

function pathItem(item: unknown, shared: SwaggerParts['parameters']): unknown {
  if (!isFields(item)) return item
  const common = listOf(item['parameters'])
  return Object.fromEntries(
    Object.entries(item).flatMap(([key, value]): [string, unknown][] => {
      if (operations.includes(key) && isFields(value)) return [[key, operation(value, common, shared)]]
      if (key !== 'parameters') return [[key, value]]
      const plain = common.map((each) => resolved(each, shared)).filter((each) => each['in'] !== 'body')
      return [[key, plain.map(parameter)]]
    }),
  )
}

function operation(given: Fields, common: readonly Fields[], shared: SwaggerParts['parameters']): Fields {
  const { consumes, produces, parameters, responses, schemes: _, ...rest } = given
  const all = listOf(parameters).map((each) => resolved(each, shared))
  const body = [...all, ...common.map((each) => resolved(each, shared))].find((each) => each['in'] === 'body')
  const others = all.filter((each) => each['in'] !== 'body')
  return {
    ...rest,
    ...omitEmpty({ parameters: others.map(parameter) }),
    ...defined({ requestBody: body === undefined ? undefined : { ...described(body), content: content(consumes, body['schema']) } }),
    responses: mapped(isFields(responses) ? responses : {}, (response) => {
      if (!isFields(response)) return response
      const { schema, ...said } = response
      return schema === undefined ? said : { ...said, content: content(produces, schema) }
    }),
  }
}

const described = ({ description, required }: Fields): Fields => ({
  ...defined({ description, required }),
})

function parameter(given: Fields): Fields {
  const own = Object.entries(given).filter(([key]) => ownOfParameter.includes(key) && key !== 'collectionFormat')
  const schema = Object.entries(given).filter(([key]) => !ownOfParameter.includes(key))
  return { ...Object.fromEntries(own), schema: withReferences(Object.fromEntries(schema)) }
}

function content(media: unknown, schema: unknown): Fields {
  const types = Array.isArray(media) && media.length > 0 ? (media as string[]) : anyMedia
  return Object.fromEntries(types.map((type) => [type, { schema: withReferences(schema) }]))
}

function resolved(given: Fields, shared: SwaggerParts['parameters']): Fields {
  const name = String(given['$ref'] ?? '').replace('#/parameters/', '')
  const found: unknown = name === '' ? given : shared[name]
  return isFields(found) ? found : {}
}

function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences)
  if (!isFields(value)) return value
  return mapped(value, (each, key) =>
    key === '$ref' && typeof each === 'string' ? each.replace('#/definitions/', '#/components/schemas/') : withReferences(each),
  )
}

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

function mapped(fields: Fields, map: (value: unknown, key: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, map(value, key)]))
}
