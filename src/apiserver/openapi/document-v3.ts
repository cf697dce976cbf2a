/** OpenAPI 3 documents: one for each group and version, so that clients fetch what they need. */

import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type Json, openApiV3, type SchemaObject } from './dialect.ts'
import { type Operation, type Parameter, type PathItem, type Response, responseTexts, sharedParameters } from './operation.ts'

/** What stands around the paths and schemas. */
export const headV3: SchemaObject = { openapi: '3.0.0', info: { title: 'Kubernetes', version: 'unversioned' } }
export const securitySchemes: SchemaObject = {
  BearerToken: { description: 'Bearer Token authentication', in: 'header', name: 'authorization', type: 'apiKey' },
}

export function pathItemV3(item: PathItem): SchemaObject {
  const shared = sharedParameters(item)
  const result: SchemaObject = {}
  for (const operation of item.operations) result[operation.method] = operationObject(operation, shared)
  if (shared.length > 0) result['parameters'] = shared.map(parameterObject)
  return result
}

function operationObject(operation: Operation, shared: readonly Parameter[]): SchemaObject {
  const { id, text, tag, action, kind, body, produces = [] } = operation
  const own = operation.parameters.filter((parameter) => !shared.includes(parameter))
  return {
    tags: [tag],
    ...defined({ description: text }),
    operationId: id,
    ...omitEmpty({ parameters: own.map(parameterObject) }),
    ...defined({
      requestBody:
        body === undefined
          ? undefined
          : {
              content: contents(consumed(operation), openApiV3.refer(body.type, {})),
              ...omitEmpty({ required: body.isRequired }),
            },
    }),
    responses: Object.fromEntries(operation.responses.map((response) => [String(response.code), responseObject(response, produces)])),
    ...defined({ 'x-kubernetes-action': action }),
    ...defined({
      'x-kubernetes-group-version-kind': kind === undefined ? undefined : { group: kind.group, kind: kind.kind, version: kind.version },
    }),
  }
}

function consumed({ consumes = ['*/*'] }: Operation): readonly string[] {
  return consumes
}

function responseObject({ code, type }: Response, produces: readonly string[]): SchemaObject {
  const description = responseTexts[code] ?? ''
  if (type === undefined) return { description }
  return { description, content: contents(produces, type === 'text' ? { type: 'string' } : openApiV3.refer(type, {})) }
}

function contents(media: readonly string[], schema: Json): SchemaObject {
  return Object.fromEntries(media.map((each) => [each, { schema }]))
}

const written = new Map<Parameter, SchemaObject>()

function parameterObject(parameter: Parameter): SchemaObject {
  let object = written.get(parameter)
  if (object === undefined) {
    const { name, type } = parameter
    const description = parameter.text()
    object = {
      name,
      in: parameter.in,
      ...omitEmpty({ description, required: parameter.in === 'path' }),
      schema: { type, uniqueItems: true },
    }
    written.set(parameter, object)
  }
  return object
}
