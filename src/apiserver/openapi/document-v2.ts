/** The OpenAPI 2 document: everything in one. */

import { createHash } from 'node:crypto'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type Json, openApiV2, type SchemaObject } from './dialect.ts'
import { type Operation, type Parameter, type PathItem, responseTexts, sharedParameters } from './operation.ts'

/** What stands around the paths and definitions. */
export const headV2: SchemaObject = { swagger: '2.0', info: { title: 'Kubernetes', version: 'unversioned' } }
export const tailV2: SchemaObject = {
  securityDefinitions: { BearerToken: { description: 'Bearer Token authentication', in: 'header', name: 'authorization', type: 'apiKey' } },
  security: [{ BearerToken: [] }],
}

/** Writes paths, and collects the parameters that many of them share. */
export class PathsV2 {
  readonly parameters = new Map<string, SchemaObject>()
  readonly #names = new Map<Parameter | string, string>()

  item(item: PathItem): SchemaObject {
    const shared = sharedParameters(item)
    const result: SchemaObject = {}
    for (const operation of item.operations) result[operation.method] = this.#operation(operation, shared)
    if (shared.length > 0) result['parameters'] = shared.map((parameter) => this.#parameter(parameter))
    return result
  }

  #operation(operation: Operation, shared: readonly Parameter[]): SchemaObject {
    const { id, text, tag, action, kind, consumes, produces, responses } = operation
    const own = operation.parameters.filter((parameter) => !shared.includes(parameter)).map((parameter) => this.#parameter(parameter))
    const parameters = operation.body === undefined ? own : [this.#body(operation.body), ...own]
    return {
      ...defined({ description: text, consumes, produces }),
      schemes: ['https'],
      tags: [tag],
      operationId: id,
      ...omitEmpty({ parameters }),
      responses: Object.fromEntries(responses.map(({ code, type }) => [String(code), responseObject(code, type)])),
      ...defined({ 'x-kubernetes-action': action }),
      ...defined({
        'x-kubernetes-group-version-kind': kind === undefined ? undefined : { group: kind.group, kind: kind.kind, version: kind.version },
      }),
    }
  }

  #body({ type, isRequired }: NonNullable<Operation['body']>): SchemaObject {
    const body: SchemaObject = { name: 'body', in: 'body', ...omitEmpty({ required: isRequired }), schema: openApiV2.refer(type, {}) }
    return type.startsWith('io.k8s.apimachinery.') ? this.#reference(type, 'body', body) : body
  }

  #parameter(parameter: Parameter): SchemaObject {
    const known = this.#names.get(parameter)
    if (known !== undefined) return { $ref: `#/parameters/${known}` }
    const { name, type } = parameter
    const text = parameter.text()
    const object: SchemaObject = {
      uniqueItems: true,
      type,
      ...omitEmpty({ description: text }),
      name,
      in: parameter.in,
      ...omitEmpty({ required: parameter.in === 'path' }),
    }
    return parameter.isInline ? object : this.#reference(parameter, name, object)
  }

  #reference(key: Parameter | string, name: string, object: SchemaObject): SchemaObject {
    let reference = this.#names.get(key)
    if (reference === undefined) {
      // The name tells it from others of its name, and stays the same as long as it says the same.
      reference = `${name}-${createHash('sha256').update(JSON.stringify(object)).digest('base64url').slice(0, 8)}`
      this.#names.set(key, reference)
      this.parameters.set(reference, object)
    }
    return { $ref: `#/parameters/${reference}` }
  }
}

function responseObject(code: number, type: string | undefined): Json {
  const description = responseTexts[code] ?? ''
  if (type === undefined) return { description }
  return { description, schema: type === 'text' ? { type: 'string' } : openApiV2.refer(type, {}) }
}
