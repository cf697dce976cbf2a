/** `kubectl get componentstatuses`: what the server finds when it looks at its companions, now. Nothing of it is stored. */
import { ComponentStatus } from '#api/core/v1/kinds.gen.ts'
import type { V1ComponentStatus } from '#api/core/v1/types.gen.ts'
import { parseFieldSelector } from '#api/meta/field-selector.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { badRequest, notAcceptable, notFound } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ComponentCheck } from '#apiserver/component-statuses/component-check.ts'
import { contentTypeOf, encodeValue, type TableOptions } from '#apiserver/http/answers.ts'
import { formOf, tableOptions } from '#apiserver/http/asked-form.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { warnOfDeprecation } from '#apiserver/http/deprecation.ts'
import { addWarnings, type Endpoint } from '#apiserver/http/handler.ts'
import { acceptedMedia, type Form } from '#apiserver/http/negotiation.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { columnDefinitions, partialMetadata, tableRow } from '#apiserver/http/table.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpHeaders } from '#base/http-server.ts'

/** By name: `scheduler`, `etcd-0`. */
export type ComponentChecks = Readonly<Record<string, ComponentCheck>>

export function componentStatuses(checks: ComponentChecks, services: Pick<EndpointServices, 'find' | 'clock'>): Endpoint {
  return async (context) => {
    const { info, query } = context
    const resource = services.find('', 'v1', ComponentStatus.plural)
    if (resource === undefined) return
    warnOfDeprecation(context, resource)
    const form = formOf(context)
    const table = tableOptions(services, context)
    if (info.verb === 'get') {
      const check = Object.hasOwn(checks, info.name) ? checks[info.name] : undefined
      if (check === undefined) throw notFound({ group: '', resource: 'componentstatus' }, info.name)
      return respond(context, form, encoded(resource, [await statusOf(info.name, check)], form, table, true))
    }
    const isAsked = selected(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '')
    const names = Object.keys(checks).filter(isAsked)
    const found = await Promise.all(names.map((name) => statusOf(name, checks[name] as ComponentCheck)))
    respond(context, form, encoded(resource, found, form, table, false))
  }
}

async function statusOf(name: string, check: ComponentCheck): Promise<V1ComponentStatus> {
  const { isHealthy, message } = await check().catch((error: unknown) => ({ isHealthy: false, message: errorMessage(error) }))
  return { metadata: { name }, conditions: [{ type: 'Healthy', status: isHealthy ? 'True' : 'False', message }] }
}

/** They have a name and nothing else to be selected by. */
function selected(labelSelector: string, fieldSelector: string): (name: string) => boolean {
  try {
    const labels = parseLabelSelector(labelSelector)
    const fields = parseFieldSelector(fieldSelector)
    return (name) => labels.matches({}) && fields.matches((field) => (field === 'metadata.name' ? name : ''))
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
}

function encoded(
  { definition }: ServedResource,
  items: readonly V1ComponentStatus[],
  form: Form,
  table: TableOptions,
  isOne: boolean,
): Uint8Array {
  const [first] = items
  const typed = (item: V1ComponentStatus) => ({ kind: 'ComponentStatus', apiVersion: apiVersionOf(ComponentStatus), ...item })
  if (form.as === 'Table') {
    if (form.media === 'protobuf') throw notAcceptable(acceptedMedia)
    const { metaVersion } = form
    const rows = items.map((item) => tableRow(definition, item, () => typed(item), { ...table, metaVersion }))
    const head = { kind: 'Table', apiVersion: `meta.k8s.io/${metaVersion}`, metadata: {} }
    return encodeValue({ ...head, columnDefinitions: columnDefinitions(definition), rows } as KubernetesObject, form, undefined)
  }
  if (form.as !== 'object') {
    const partial = items.map((item) => partialMetadata(definition, item, form.metaVersion))
    const head = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.metaVersion}`, metadata: {} }
    const value = isOne ? partial[0] : { ...head, items: partial }
    return encodeValue(value as KubernetesObject, { ...form, media: 'json' }, undefined)
  }
  if (isOne && first !== undefined) return encodeValue(typed(first), form, definition.schema)
  const list = { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items }
  return encodeValue(list as KubernetesObject, form, `${definition.schema}List`)
}

function respond(context: RequestContext, form: Form, body: Uint8Array): void {
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  context.exchange.respond(200, headers, body)
}
